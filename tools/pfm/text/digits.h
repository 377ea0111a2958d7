/* SPDX-License-Identifier: MIT */
/* Numbers for people: digits in groups of three, in the C locale. */
#ifndef TOOLS_PFM_TEXT_DIGITS_H
#define TOOLS_PFM_TEXT_DIGITS_H

#include <stdint.h>

/* Bytes for any number formatted below, with its NUL. */
enum { DIGITS_ROOM = 40 };

/* Formats 1234567 as "1,234,567". Returns @room. */
const char *digits_grouped(char room[DIGITS_ROOM], uint64_t v);

/* Formats @v in the same way, with @decimals places after a point, up to 9, rounded to the nearest;
 * a minus sign comes first. Values of 2^63 and more, and NaN, become "-". */
const char *digits_decimal(char room[DIGITS_ROOM], double v, int decimals);

/* The number of decimals that suits @v: small numbers are ratios. */
int digits_decimals(double v);

#endif
