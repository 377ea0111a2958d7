// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/demangle.h"

#include <stddef.h>

bool demangle_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

#ifdef HAVE_LIBIBERTY

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

const bool demangle_supported = true;

struct demangled {
	jmp_buf full;
	size_t n;
	char text[4096];
};

/* A name may refer to parts of itself, so that its length doubles with each character. libiberty
 * cannot be told to stop, but holds no memory from malloc while it passes text to a callback. */
static void demangle_append(const char *s, size_t n, void *to)
{
	struct demangled *d = to;

	if (n >= sizeof(d->text) - d->n)
		longjmp(d->full, 1);
	memcpy(d->text + d->n, s, n);
	d->n += n;
}

static bool demangle_any(const char *name, struct demangled *d)
{
	static const int options = DMGL_PARAMS | DMGL_ANSI;

	/* Older Rust names are C++ names with a hash, which libiberty removes. */
	if (rust_demangle_callback(name, options, demangle_append, d))
		return true;
	d->n = 0;
	return cplus_demangle_v3_callback(name, options, demangle_append, d);
}

char *demangle(const char *name)
{
	struct demangled d = {.n = 0};

	if (!demangle_is_mangled(name) || strlen(name) >= sizeof(d.text))
		return NULL;
	if (setjmp(d.full) != 0 || !demangle_any(name, &d))
		return NULL;
	return strndup(d.text, d.n);
}

#else

const bool demangle_supported = false;

char *demangle(const char *name)
{
	(void)name;
	return NULL;
}

#endif
