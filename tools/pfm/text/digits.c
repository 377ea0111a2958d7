// SPDX-License-Identifier: MIT
#include "tools/pfm/text/digits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Writes @digits with a comma before each group of three. Returns the end. */
static char *digits_group(char *to, const char *digits)
{
	size_t n = strlen(digits);

	for (size_t i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return to;
}

const char *digits_grouped(char room[DIGITS_ROOM], uint64_t v)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	digits_group(room, digits);
	return room;
}

const char *digits_decimal(char room[DIGITS_ROOM], double v, int decimals)
{
	char digits[DIGITS_ROOM];
	char *to = room, *point;

	if (!(fabs(v) < 0x1p63))
		return strcpy(room, "-");
	snprintf(digits, sizeof(digits), "%.*f", decimals, fabs(v));
	/* No minus sign if the number is rounded to 0. */
	if (v < 0 && strpbrk(digits, "123456789"))
		*to++ = '-';
	point = strchr(digits, '.');
	if (point)
		*point = '\0';
	to = digits_group(to, digits);
	if (point)
		snprintf(to, (size_t)(room + DIGITS_ROOM - to), ".%s", point + 1);
	return room;
}

int digits_decimals(double v)
{
	return fabs(v) < 10 ? 4 : fabs(v) < 1000 ? 2 : 0;
}
