/* SPDX-License-Identifier: MIT */
/* What a counter counts, by the values of a set's PMCs: as the manuals say, without the core. */
#ifndef TESTS_UNIT_COUNTED_H
#define TESTS_UNIT_COUNTED_H

#include "tests/unit/world.h"

/* Events from @from to @to, in ns, that counter row @d of w->pmu counts with @pmc, values by row.
 */
uint64_t counted(
	const struct world *w, const uint64_t *pmc, unsigned d, uint64_t from, uint64_t to);

#endif
