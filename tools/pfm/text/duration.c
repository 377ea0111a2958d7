// SPDX-License-Identifier: MIT
#include "tools/pfm/text/duration.h"

#include <stdlib.h>
#include <string.h>

enum { DURATION_DIGITS = 20 };

static const uint64_t duration_min = 1000000, duration_max = 86400000000000000;

static uint64_t duration_unit(struct slice unit, uint64_t without)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};

	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (slice_is(unit, units[i].name))
			return units[i].ns;
	return unit.n ? 0 : without;
}

bool duration_parse(struct slice s, uint64_t unit, uint64_t *ns)
{
	char number[DURATION_DIGITS] = "", *end;
	size_t n = 0;
	double v;

	while (n < s.n && n < DURATION_DIGITS - 1 && strchr("0123456789.", s.p[n]))
		n++;
	memcpy(number, s.p, n);
	v = strtod(number, &end);
	if (*end || end == number)
		return false;
	v *= (double)duration_unit((struct slice){s.p + n, s.n - n}, unit);
	if (v < (double)duration_min || v > (double)duration_max)
		return false;
	*ns = (uint64_t)v;
	return true;
}
