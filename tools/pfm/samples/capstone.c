// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/capstone.h"

/* The layout of cs_insn differs between versions. */
#define CAPSTONE_NAME(major)  CAPSTONE_NAME_(major)
#define CAPSTONE_NAME_(major) "libcapstone.so." #major

struct capstone capstone;

bool capstone_open(void)
{
	static const struct library_function functions[] = {CAPSTONE_FUNCTIONS(LIBRARY_FUNCTION)};

	return library_open(CAPSTONE_NAME(CS_API_MAJOR), functions,
		sizeof(functions) / sizeof(functions[0]), &capstone);
}
