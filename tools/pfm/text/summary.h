/* SPDX-License-Identifier: MIT */
/* Statistics of repeated measurements. */
#ifndef TOOLS_PFM_TEXT_SUMMARY_H
#define TOOLS_PFM_TEXT_SUMMARY_H

struct summary {
	double mean, deviation; /* of the sample: divided by n - 1; 0 for one value */
	double median, min, max;
	unsigned outliers; /* of SUMMARY_OUTLIERS values or more; see summary_far() */
};

/* With fewer values, none is an outlier. */
enum { SUMMARY_OUTLIERS = 10 };

void summary_sort(double *values, unsigned n);

/* Summarizes the @n values, at least one, and sorts them. */
void summary_of(struct summary *s, double *values, unsigned n);

#endif
