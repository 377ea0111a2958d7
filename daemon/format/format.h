/* SPDX-License-Identifier: MIT */
/*
 * The registry of sampling formats, built-in ones and plug-ins. One thread fills it when the daemon
 * starts. After that it does not change, and any thread may read it without a lock.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"
#include "perfmonfs/format.h"

enum { FORMAT_UUID_TEXT = 37 }; /* "4d72bec0-0664-4143-82b4-d3fd27243c97" and a NUL */

/* Adds a format. -EINVAL if it is incomplete or for another API; -EBUSY if name or UUID are in use.
 */
int format_register(const pfm_buffer_fmt_t *fmt, struct err *e);

/* Adds a list that NULL ends, such as builtin_formats. Stops at the first error. */
int formats_register(const pfm_buffer_fmt_t *const *list, struct err *e);

/*
 * Loads the shared objects DIR/NAME.so, in the order of their names. @dir is an absolute path, and
 * may be missing. Each component of it must belong to root and be writable by root only, otherwise
 * -EPERM. A file that cannot be loaded gets a line on stderr and is skipped.
 */
int formats_load(const char *dir, struct err *e);

/* Loads one file of a directory that was checked. */
int format_load_file(int dir_fd, const char *dir, const char *name, struct err *e);

/* NULL if there is no such format. */
const pfm_buffer_fmt_t *format_find(struct slice name_or_uuid);

/* The @i-th format, from 0, in the order of registration; NULL at the end. */
const pfm_buffer_fmt_t *format_at(size_t i);
void formats_each(void (*each)(void *arg, const pfm_buffer_fmt_t *fmt), void *arg);

void format_uuid_text(const pfm_uuid_t uuid, char text[FORMAT_UUID_TEXT]);

/*
 * Parses "NAME key=value flagword ...". *@arg gets the format's argument structure, which the
 * caller frees, or NULL if the format has none. Missing keys have their defaults. "none" gives NULL
 * for both. Returns 0, -EINVAL (unknown format or key, key given twice), -ERANGE (a value) or
 * -ENOMEM; on error both are NULL. It does not call fmt_validate().
 */
int format_parse(struct slice text, const pfm_buffer_fmt_t **fmt, void **arg, struct err *e);

/*
 * For a refusal by fmt_validate(): the least "size" that it accepts with the other parameters of
 * @arg, if that is more than @arg has; 0: the size is not the reason. Changes @arg.
 */
uint64_t format_least_size(
	const pfm_buffer_fmt_t *fmt, void *arg, uint32_t ctx_flags, uint16_t num_pmds);

/* Prints the line for format_parse(), with all values and the flags that are set; "none" for NULL.
 */
void format_print(const pfm_buffer_fmt_t *fmt, const void *arg, struct text *out);

#endif
