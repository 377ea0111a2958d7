/* SPDX-License-Identifier: MIT */
/* Whether two series of measurements differ. */
#ifndef TOOLS_PFM_TEXT_MANN_WHITNEY_H
#define TOOLS_PFM_TEXT_MANN_WHITNEY_H

/*
 * The Mann-Whitney U test, two-sided: the probability that values of one distribution, dealt to the
 * two series at random, are ranked at least as unevenly as these. The kind of distribution does not
 * matter. Sorts both series, each of at least one value. Exact for up to 40 values, even with equal
 * ones; above that, by the normal approximation, corrected for equal values and continuity.
 */
double mann_whitney_p(double *a, unsigned na, double *b, unsigned nb);

#endif
