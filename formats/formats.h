/* SPDX-License-Identifier: MIT */
/* The sampling formats that are linked into the daemon. meson.build lists them. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "perfmonfs/format.h"
#include "formats/builtin.h"

#define FORMATS_DECLARE(name) extern const pfm_buffer_fmt_t format_##name;
BUILTIN_FORMATS(FORMATS_DECLARE)

/* All built-in formats, with NULL at the end. */
extern const pfm_buffer_fmt_t *const builtin_formats[];

#endif
