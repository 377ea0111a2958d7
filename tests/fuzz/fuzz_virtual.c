// SPDX-License-Identifier: MIT
/* The first number in a file: what follows it does not matter, and what it is can be read again. */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

#include "daemon/cpu/virtual.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of_input(data, size);
	uint64_t value, again;
	char plain[32];

	if (!virtual_number(text.p, text.n, &value))
		return 0;
	snprintf(plain, sizeof(plain), "%" PRIu64 " 1", value);
	CHECK(virtual_number(plain, strlen(plain), &again) && again == value);
	snprintf(plain, sizeof(plain), "0x%" PRIx64 "\n", value);
	CHECK(virtual_number(plain, strlen(plain), &again) && again == value);
	return 0;
}
