// SPDX-License-Identifier: MIT
/* CPU lists of sysfs: the limit is the lowest number greater than all in the list. */
#include "tests/fuzz/fuzz.h"

#include <limits.h>

#include "backend/sysfs/sysfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice list = slice_of_input(data, size);
	unsigned limit = cpulist_limit(list);

	CHECK(limit <= (unsigned)INT_MAX + 1);
	CHECK(!limit || cpulist_has(list, limit - 1));
	CHECK(!cpulist_has(list, limit));
	CHECK(!cpulist_has(list, UINT_MAX));
	for (unsigned cpu = 0; cpu < 64; cpu++)
		CHECK(!cpulist_has(list, cpu) || cpu < limit);
	return 0;
}
