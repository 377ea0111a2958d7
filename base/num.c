// SPDX-License-Identifier: MIT
#include "base/num.h"

#include <errno.h>
#include <inttypes.h>

int num_digit(char c, unsigned base)
{
	int d = -1;

	if (c >= '0' && c <= '9')
		d = c - '0';
	else if (c >= 'a' && c <= 'f')
		d = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		d = c - 'A' + 10;
	return d < (int)base ? d : -1;
}

static bool num_all(struct slice s, unsigned base)
{
	for (size_t i = 0; i < s.n; i++)
		if (num_digit(s.p[i], base) < 0)
			return false;
	return s.n;
}

/* Explains why @s is not a number: "4300c0" lacks its 0x; "64k", "1e6", "1_000" and words have
 * characters that are not digits. */
static int num_refuse(struct slice s, struct slice whole, struct err *e)
{
	if (!whole.n)
		return err_set(e, EINVAL, "'' is not a number: write one, such as 5 or 0x1f");
	if (num_all(s, 16) && s.n > 3)
		return err_set(e, EINVAL,
			"'%.*s' is not a number: write 0x%.*s if it is hexadecimal, or decimal "
			"digits alone",
			SLICE_ARG(whole), SLICE_ARG(s));
	return err_set(e, EINVAL,
		"'%.*s' is not a number: write digits alone, such as 65536, or 0x and hexadecimal "
		"digits",
		SLICE_ARG(whole));
}

/* Parses @s. Error sentences quote @whole, which may have a sign before @s. */
static int num_parse(struct slice s, struct slice whole, uint64_t *v, struct err *e)
{
	unsigned base = 10;
	bool overflow = false;
	uint64_t n = 0;

	if (slice_starts(s, "0x") || slice_starts(s, "0X")) {
		base = 16;
		s.p += 2;
		s.n -= 2;
	} else if (s.n > 1 && s.p[0] == '0' && num_all(s, 10)) {
		return err_set(e, EINVAL,
			"'%.*s' has leading zeros: write decimal digits without them, or 0x and "
			"hexadecimal digits",
			SLICE_ARG(whole));
	}
	if (!num_all(s, base))
		return num_refuse(s, whole, e);
	for (size_t i = 0; i < s.n; i++) {
		unsigned d = (unsigned)num_digit(s.p[i], base);

		overflow = overflow || n > (UINT64_MAX - d) / base;
		n = n * base + d;
	}
	if (overflow)
		return err_set(e, ERANGE, "'%.*s' does not fit into 64 bits", SLICE_ARG(whole));
	*v = n;
	return 0;
}

int num_u64(struct slice s, uint64_t *v, struct err *e)
{
	return num_parse(s, s, v, e);
}

int num_max(struct slice s, uint64_t max, uint64_t *v, struct err *e)
{
	uint64_t n;
	int rc = num_u64(s, &n, e);

	if (rc < 0)
		return rc;
	if (n > max)
		return err_set(
			e, ERANGE, "'%.*s' is over the limit of %" PRIu64, SLICE_ARG(s), max);
	*v = n;
	return 0;
}

int num_within(struct slice s, uint64_t min, uint64_t max, uint64_t *v, struct err *e)
{
	uint64_t n = 0;

	if (num_max(s, max, &n, e) < 0)
		return -e->no;
	if (n < min)
		return err_set(e, ERANGE, "'%.*s' is too small: give %" PRIu64 " or more",
			SLICE_ARG(s), min);
	*v = n;
	return 0;
}

int num_value(struct slice s, uint64_t *v, struct err *e)
{
	uint64_t n;
	int rc;

	if (!s.n || s.p[0] != '-')
		return num_u64(s, v, e);
	rc = num_parse((struct slice){s.p + 1, s.n - 1}, s, &n, e);
	if (rc < 0)
		return rc;
	if (n > (uint64_t)INT64_MAX + 1)
		return err_set(e, ERANGE, "'%.*s' does not fit into 64 bits", SLICE_ARG(s));
	*v = -n;
	return 0;
}

int num_range(struct slice *list, uint64_t max, uint64_t *first, uint64_t *last, struct err *e)
{
	size_t whole = list->n;
	struct slice range = slice_cut(list, ','), to = range;
	struct slice from = slice_cut(&to, '-');
	bool single = from.n == range.n, more = range.n < whole;
	int rc;

	if (!from.n || (!single && !to.n) || (more && !list->n))
		return err_set(e, EINVAL, "a number is missing: write a list like 5 or 0-3,16");
	rc = num_max(from, max, first, e);
	if (rc == 0)
		rc = num_max(single ? from : to, max, last, e);
	if (rc < 0)
		return rc;
	if (*first > *last)
		return err_set(e, EINVAL, "'%.*s' runs backwards: write the lower number first",
			SLICE_ARG(range));
	return 0;
}
