/* SPDX-License-Identifier: MIT */
/* C++ and Rust names as they are in source code, by GCC's libiberty. */
#ifndef TOOLS_PFM_SAMPLES_DEMANGLE_H
#define TOOLS_PFM_SAMPLES_DEMANGLE_H

#include <stdbool.h>

/* Whether pfm was built with libiberty. If not, demangle() fails. */
extern const bool demangle_supported;

/* Whether the name may be a mangled name of C++ or Rust. */
bool demangle_is_mangled(const char *name);
/*
 * The demangled name, from malloc. NULL: it is not from C++ or Rust, it is too long, or no memory.
 */
char *demangle(const char *name);

#endif
