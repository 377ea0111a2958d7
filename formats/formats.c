// SPDX-License-Identifier: MIT
#include "formats/formats.h"

const pfm_buffer_fmt_t *const builtin_formats[] = {
	&format_dfl, &format_nway, &format_hist, &format_correlate, NULL};
