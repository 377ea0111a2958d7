// SPDX-License-Identifier: MIT
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

bool library_open(
	const char *soname, const struct library_function *functions, unsigned n, void *to)
{
	void *library = dlopen(soname, RTLD_LAZY | RTLD_LOCAL), *function;

	for (unsigned i = 0; library && i < n; i++) {
		function = dlsym(library, functions[i].name);
		if (!function)
			return false;
		memcpy((char *)to + functions[i].at, &function, sizeof(function));
	}
	return library;
}
