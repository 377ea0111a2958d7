// SPDX-License-Identifier: MIT
/* The first number of a file: the text after it is ignored, and its printed value parses again. */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

#include "daemon/percpu/virtual_pmd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice text = slice_of_input(data, size);
	uint64_t value, again;
	char plain[32];

	if (!virtual_pmd_parse(text.p, text.n, &value))
		return 0;
	snprintf(plain, sizeof(plain), "%" PRIu64 " 1", value);
	CHECK(virtual_pmd_parse(plain, strlen(plain), &again) && again == value);
	snprintf(plain, sizeof(plain), "0x%" PRIx64 "\n", value);
	CHECK(virtual_pmd_parse(plain, strlen(plain), &again) && again == value);
	return 0;
}
