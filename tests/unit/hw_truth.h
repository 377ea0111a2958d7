/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_HW_TRUTH_H
#define TESTS_UNIT_HW_TRUTH_H

#include "backend/sim/hw_i.h"

/*
 * Number of events @select on any CPU of the model in the first @ns of time. The difference of two
 * calls is exactly what an enabled counter counts between these times. Fixed counters 0 to 3 count
 * the events 0x00C0, 0x003C, 0x013C and 0x01A4.
 */
static inline uint64_t hw_truth(const struct hw *hw, uint64_t select, uint64_t ns)
{
	return hw_events(hw, select, ns);
}

#endif
