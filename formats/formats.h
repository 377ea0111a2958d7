/* SPDX-License-Identifier: MIT */
/* The sampling formats that come with the daemon; NULL at the end. */
#ifndef FORMATS_FORMATS_H
#define FORMATS_FORMATS_H

#include "perfmonfs/format.h"

extern const pfm_buffer_fmt_t *const builtin_formats[];

extern const pfm_buffer_fmt_t format_dfl;
extern const pfm_buffer_fmt_t format_nway;
extern const pfm_buffer_fmt_t format_hist;
extern const pfm_buffer_fmt_t format_correlate;

#endif
