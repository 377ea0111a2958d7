/* SPDX-License-Identifier: MIT */
#ifndef TOOLS_PFM_TEXT_UTF8_H
#define TOOLS_PFM_TEXT_UTF8_H

/* The length of the valid UTF-8 sequence at @s, which ends with a NUL; 0 if there is none. */
int utf8_sequence(const char *s);

#endif
