// SPDX-License-Identifier: MIT
#include "base/number_list.h"

#include "base/num.h"

int number_list_parse(struct slice list, uint64_t *bits, unsigned limit, struct err *e)
{
	do {
		uint64_t first, last;
		int rc = num_range(&list, limit - 1, &first, &last, e);

		if (rc < 0)
			return rc;
		for (uint64_t n = first; n <= last; n++)
			bits[n / 64] |= 1ULL << n % 64;
	} while (list.n);
	return 0;
}

/* The first number from @n on whose bit equals @in; @limit: there is none. */
static unsigned number_list_find(const uint64_t *bits, unsigned limit, unsigned n, bool in)
{
	while (n < limit && (bits[n / 64] >> n % 64 & 1) != in)
		n++;
	return n;
}

void number_list_print(const uint64_t *bits, unsigned limit, struct text *out)
{
	unsigned first = number_list_find(bits, limit, 0, true), end;
	const char *sep = "";

	if (first == limit)
		text_printf(out, "none");
	for (; first < limit; first = number_list_find(bits, limit, end, true)) {
		end = number_list_find(bits, limit, first, false);
		text_printf(out, "%s%u", sep, first);
		if (end - first > 1)
			text_printf(out, "-%u", end - 1);
		sep = ",";
	}
}
