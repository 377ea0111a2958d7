/* SPDX-License-Identifier: MIT */
/*
 * The registry of sampling formats: those linked in and those found in a directory. It is filled
 * when the daemon starts, by one thread, and never changes after; then any thread may look.
 */
#ifndef FORMAT_FORMAT_H
#define FORMAT_FORMAT_H

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"
#include "perfmonfs/format.h"

enum { FORMAT_UUID_TEXT = 37 }; /* "4d72bec0-0664-4143-82b4-d3fd27243c97" and a NUL */

/* -EINVAL: it lacks something, or was made for another API; -EBUSY: name or UUID are taken. */
int format_register(const pfm_buffer_fmt_t *fmt, struct err *e);

/* Those of a list that NULL ends, like builtin_formats; stops at the first that is refused. */
int formats_register(const pfm_buffer_fmt_t *const *list, struct err *e);

/*
 * The shared objects DIR/NAME.so, in the order of their names. @dir is absolute; each component of
 * it and each file must be root's and writable by nobody else, otherwise nothing (or not that file)
 * is loaded: -EPERM. That there is no such directory is fine. A file that cannot be used is
 * reported on stderr in a line, and skipped.
 */
int formats_load(const char *dir, struct err *e);

/* One of them; the directory has been looked at. */
int format_load_file(int dir_fd, const char *dir, const char *name, struct err *e);

/* By name, or by UUID in its usual form; NULL: there is none. */
const pfm_buffer_fmt_t *format_find(struct slice name_or_uuid);

/* In the order of registration, from 0 on; NULL: there are no more. */
const pfm_buffer_fmt_t *format_at(size_t i);
void formats_each(void (*each)(void *arg, const pfm_buffer_fmt_t *fmt), void *arg);

void format_uuid_text(const pfm_uuid_t uuid, char text[FORMAT_UUID_TEXT]);

/*
 * "NAME key=value flagword ...": the format and its argument structure, with defaults where nothing
 * is said; *@arg is NULL if the format has none, to be freed otherwise. "none" is no format: both
 * NULL. -EINVAL (no such format or key, given twice), -ERANGE (a value), -ENOMEM; then both are
 * NULL. What the format thinks of the argument, fmt_validate() says.
 */
int format_parse(struct slice text, const pfm_buffer_fmt_t **fmt, void **arg, struct err *e);

/* The line that format_parse() takes, with all values and the flags that are set. NULL: "none". */
void format_print(const pfm_buffer_fmt_t *fmt, const void *arg, struct text *out);

#endif
