/* SPDX-License-Identifier: MIT */
/* Strings for JSON. */
#ifndef TOOLS_PFM_TEXT_JSON_H
#define TOOLS_PFM_TEXT_JSON_H

#include "base/text.h"

/* Appends @s in quotes. Bytes of invalid UTF-8 become U+FFFD, so that the result is always valid;
 * NULL becomes null. */
void json_string(struct text *t, const char *s);

#endif
