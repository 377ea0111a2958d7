/* SPDX-License-Identifier: MIT */
/*
 * The registry of sampling formats, built-in ones and plug-ins. It belongs to the thread that
 * serves requests, and only that thread may call its functions, except for format_put(),
 * plugin_open() and plugin_close(), which any thread may call.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"
#include "perfmonfs/format.h"

enum { FORMAT_UUID_TEXT = 37 }; /* "4d72bec0-0664-4143-82b4-d3fd27243c97" and a NUL */

/* A shared object that exports a format. */
struct plugin {
	/* For dlclose(); NULL: the format is built in. */
	void *so;
	const pfm_buffer_fmt_t *fmt;
};

/* Adds a format, and takes its shared object. -EINVAL if it is incomplete or for another API;
 * -EBUSY if name or UUID are in use. */
int format_register(const struct plugin *p, struct err *e);
/* Removes a plug-in's format that has no users, and gives it back for plugin_close(). -EINVAL:
 * there is none; -EBUSY: it has users; -EPERM: it is built in. */
int format_unregister(struct slice name_or_uuid, struct plugin *out, struct err *e);

/* Adds a NULL-terminated list, such as builtin_formats. Stops at the first error. */
int formats_register(const pfm_buffer_fmt_t *const *list, struct err *e);

/*
 * Loads the shared objects DIR/NAME.so, in the order of their names. @dir is an absolute path, and
 * may be missing. Each component of it must belong to root and be writable by root only, otherwise
 * -EPERM. A file that cannot be loaded gets a line on stderr and is skipped.
 */
int formats_load(const char *dir, struct err *e);

/* Loads one file of a directory that was checked. */
int format_load_file(int dir_fd, const char *dir, const char *name, struct err *e);

/*
 * Opens the shared object at the absolute @path. Each component of the path must be trusted, as for
 * a directory of formats. Runs the object's constructors, and may wait for a filesystem. The format
 * is not checked yet. Any thread.
 */
int plugin_open(const char *path, struct plugin *out, struct err *e);
/* Closes a shared object. Runs its destructors, and may wait as well. Any thread. */
void plugin_close(const struct plugin *p);

/* NULL if there is no such format. */
const pfm_buffer_fmt_t *format_find(struct slice name_or_uuid);

/* A use of a registered format, which keeps it from being removed. */
struct format_use;
/* Takes a use of @fmt. Returns NULL for NULL, which format_put() accepts. */
struct format_use *format_get(const pfm_buffer_fmt_t *fmt);
/* Releases a use. The format's code and data may be gone afterwards. Any thread. */
void format_put(struct format_use *use);

/* Each registration has its own number, from 1 on. NULL: the format was removed. */
const pfm_buffer_fmt_t *format_by_id(uint64_t id);
/* The first format after number @id, in the order of registration; sets @id. NULL: the end. */
const pfm_buffer_fmt_t *format_after(uint64_t *id);
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
 * After fmt_validate() has refused @arg: the least "size" that it accepts with the other parameters
 * of @arg, if that is more than @arg has; 0: the size is not the reason. Changes @arg.
 */
uint64_t format_least_size(
	const pfm_buffer_fmt_t *fmt, void *arg, uint32_t ctx_flags, uint16_t num_pmds);

/* Prints the line for format_parse(), with all values and the flags that are set; "none" for NULL.
 */
void format_print(const pfm_buffer_fmt_t *fmt, const void *arg, struct text *out);

#endif
