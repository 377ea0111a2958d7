/* SPDX-License-Identifier: MIT */
/* Names from files and programs, which may hold any bytes, and go to terminals, XML and JSON. */
#ifndef TOOLS_PFM_TEXT_NAMES_H
#define TOOLS_PFM_TEXT_NAMES_H

#include <stdbool.h>

/* Whether @s is valid UTF-8 without control characters. */
bool name_is_clean(const char *s);

/* Replaces each byte that is not part of that by '?'. */
void name_clean(char *s);

#endif
