/* SPDX-License-Identifier: MIT */
/* Names from files and programs, which may contain any bytes, and are written to terminals, XML and
 * JSON. */
#ifndef TOOLS_PFM_TEXT_NAMES_H
#define TOOLS_PFM_TEXT_NAMES_H

#include <stdbool.h>

/* Whether @s is valid UTF-8 without control characters. */
bool name_is_clean(const char *s);

/* Replaces by '?' each byte that is not part of a valid character or is a control character. */
void name_clean(char *s);

#endif
