// SPDX-License-Identifier: MIT
#include "formats/formats.h"

#define FORMATS_ROW(name) &format_##name,

const pfm_buffer_fmt_t *const builtin_formats[] = {BUILTIN_FORMATS(FORMATS_ROW) NULL};
