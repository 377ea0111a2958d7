// SPDX-License-Identifier: MIT
#include "tools/pfm/text/summary.h"

#include <math.h>
#include <stdlib.h>

/* The median deviation of normally distributed values, times this, is their standard deviation. */
static const double summary_scale = 1.4826;
/* The factor for the mean deviation. */
static const double summary_mean_scale = 1.2533;

static int summary_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of @n sorted values. */
static double summary_middle(const double *sorted, unsigned n)
{
	return n % 2 ? sorted[n / 2] : sorted[n / 2 - 1] / 2 + sorted[n / 2] / 2;
}

/* The median of the distances from @median, by merging the sorted distances of both sides. */
static double summary_median_deviation(const double *sorted, unsigned n, double median)
{
	unsigned high = 0, low;
	double before = 0, last = 0;

	while (high < n && sorted[high] < median)
		high++;
	low = high;
	for (unsigned i = 0; i <= n / 2; i++) {
		before = last;
		if (low && (high == n || median - sorted[low - 1] < sorted[high] - median))
			last = median - sorted[--low];
		else
			last = sorted[high++] - median;
	}
	return n % 2 ? last : before / 2 + last / 2;
}

/* The least distance of an outlier from the median. If most values are equal, the median deviation
 * is 0 and would make an outlier of each other value, so that the mean deviation is used. */
static double summary_far(const double *sorted, unsigned n, double median)
{
	double deviation = summary_median_deviation(sorted, n, median), sum = 0;

	if (deviation > 0)
		return 3 * summary_scale * deviation;
	for (unsigned i = 0; i < n; i++)
		sum += fabs(sorted[i] - median);
	return 3 * summary_mean_scale * sum / n;
}

void summary_sort(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), summary_compare);
}

void summary_of(struct summary *s, double *values, unsigned n)
{
	double sum = 0, squares = 0, far;

	summary_sort(values, n);
	for (unsigned i = 0; i < n; i++)
		sum += values[i];
	*s = (struct summary){.mean = sum / n, .min = values[0], .max = values[n - 1]};
	s->median = summary_middle(values, n);
	for (unsigned i = 0; i < n; i++)
		squares += (values[i] - s->mean) * (values[i] - s->mean);
	s->deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
	far = n < SUMMARY_OUTLIERS ? HUGE_VAL : summary_far(values, n, s->median);
	for (unsigned i = 0; i < n; i++)
		s->outliers += fabs(values[i] - s->median) > far;
}
