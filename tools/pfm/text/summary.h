/* SPDX-License-Identifier: MIT */
/* Statistics of repeated measurements. */
#ifndef TOOLS_PFM_TEXT_SUMMARY_H
#define TOOLS_PFM_TEXT_SUMMARY_H

struct summary {
	double mean, deviation; /* of the sample: divided by n - 1; 0 for one value */
	double median, min, max;
	unsigned outliers; /* of SUMMARY_OUTLIERS values or more; see summary_far() */
};

/* Of fewer values, none is far from what is usual. */
enum { SUMMARY_OUTLIERS = 10 };

void summary_sort(double *values, unsigned n);

/* Sorts the @n values, at least one. */
void summary_of(struct summary *s, double *values, unsigned n);

#endif
