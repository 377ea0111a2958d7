// SPDX-License-Identifier: MIT
#include "tools/pfm/text/mann_whitney.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tools/pfm/text/summary.h"

enum {
	EXACT_MAX = 40, /* values of both series together */
	EXACT_RANKS = EXACT_MAX * (EXACT_MAX + 1),
};

/* The ranks of both series together. They are doubled, since equal values share their mean rank. */
struct mann_whitney {
	unsigned ranks[EXACT_MAX]; /* the first EXACT_MAX ranks */
	double sum;                /* of the ranks of the first series */
	double ties;               /* the sum of t^3 - t for each t equal values */
};

/* The number of values from @at on that are equal to @v. */
static unsigned mann_whitney_equal(const double *values, unsigned n, unsigned at, double v)
{
	unsigned end = at;

	while (end < n && !(values[end] > v))
		end++;
	return end - at;
}

static void mann_whitney_rank(
	struct mann_whitney *m, const double *a, unsigned na, const double *b, unsigned nb)
{
	unsigned i = 0, j = 0;

	*m = (struct mann_whitney){.sum = 0};
	while (i < na || j < nb) {
		double v = j == nb || (i < na && a[i] < b[j]) ? a[i] : b[j];
		unsigned in_a = mann_whitney_equal(a, na, i, v);
		unsigned in_b = mann_whitney_equal(b, nb, j, v);
		double t = in_a + in_b;
		unsigned rank = 2 * (i + j) + in_a + in_b + 1;

		for (unsigned k = i + j; k < i + j + in_a + in_b && k < EXACT_MAX; k++)
			m->ranks[k] = rank;
		m->sum += (double)in_a * rank;
		m->ties += t * t * t - t;
		i += in_a;
		j += in_b;
	}
}

/* The share of all ways to choose @na ranks whose sum is at least @far from the mean. */
static double mann_whitney_exact(const struct mann_whitney *m, unsigned na, unsigned n, double far)
{
	/* ways to choose that many ranks with that sum */
	double ways[EXACT_MAX / 2 + 1][EXACT_RANKS + 1];
	double all = 0, as_far = 0;

	memset(ways, 0, sizeof(ways));
	ways[0][0] = 1;
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = na; k > 0; k--)
			for (unsigned sum = m->ranks[i]; sum <= EXACT_RANKS; sum++)
				ways[k][sum] += ways[k - 1][sum - m->ranks[i]];
	for (unsigned sum = 0; sum <= EXACT_RANKS; sum++) {
		all += ways[na][sum];
		if (fabs(sum - (double)na * (n + 1)) >= far)
			as_far += ways[na][sum];
	}
	return as_far / all;
}

static double mann_whitney_normal(
	const struct mann_whitney *m, unsigned na, unsigned nb, double far)
{
	double n = (double)na + nb;
	double variance = (double)na * nb / 12 * (n + 1 - m->ties / (n * (n - 1)));
	double z = far / 2 - 0.5; /* the ranks are doubled */

	return z > 0 && variance > 0 ? erfc(z / sqrt(2 * variance)) : 1;
}

double mann_whitney_p(double *a, unsigned na, double *b, unsigned nb)
{
	struct mann_whitney m;
	double far;

	summary_sort(a, na);
	summary_sort(b, nb);
	/* Either series gives the same result, the shorter one sooner. */
	if (na > nb)
		return mann_whitney_p(b, nb, a, na);
	mann_whitney_rank(&m, a, na, b, nb);
	far = fabs(m.sum - (double)na * (na + nb + 1));
	return na + nb <= EXACT_MAX ? mann_whitney_exact(&m, na, na + nb, far)
				    : mann_whitney_normal(&m, na, nb, far);
}
