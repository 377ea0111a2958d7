// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/libdw.h"

struct libdw libdw;

bool libdw_open(void)
{
	static const struct library_function functions[] = {LIBDW_FUNCTIONS(LIBRARY_FUNCTION)};
	static int state = -1;

	if (state < 0)
		state = library_open(
			"libdw.so.1", functions, sizeof(functions) / sizeof(functions[0]), &libdw);
	return state;
}

int libdw_find_no_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)userdata, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)found;
	return -1;
}
