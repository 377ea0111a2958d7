/* SPDX-License-Identifier: MIT */
/*
 * The program of the simulated Itanium 2: a loop at user level and one at kernel level, of eight
 * bundles of three instructions each. Every instruction of the user-level loop executes 100 times
 * per microsecond, of the kernel-level loop 25 times.
 */
#ifndef BACKEND_SIM_HW_IPF_H
#define BACKEND_SIM_HW_IPF_H

#include "backend/sim/hw_i.h"

/* Number of events of a counter with the PMC @select in the first @ns of time, as restricted by @r;
 * NULL: by the power-up values. */
uint64_t hw_ipf_events(const struct hw_ipf *r, uint64_t select, uint64_t ns);

/* Number of branches that the trace buffer captures with PMC12 = @pmc12 in the first @ns of time.
 */
uint64_t hw_ipf_branches(uint64_t pmc12, uint64_t ns);
/* The two entries of the @k-th captured branch. */
void hw_ipf_branch(uint64_t pmc12, uint64_t k, uint64_t entry[2]);

#endif
