/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_PFM_TEXT_UTF8_H
#define TOOLS_PFM_TEXT_UTF8_H

#include <stddef.h>

/* The length of the valid UTF-8 sequence at @s, which ends with a NUL; 0 if there is none. */
int utf8_sequence(const char *s);

/* The length of the longest prefix of @s, at most @room bytes, that ends with a whole character. @s
 * is valid UTF-8. */
size_t utf8_cut(const char *s, size_t room);

#endif
