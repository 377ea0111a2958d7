/* SPDX-License-Identifier: MIT */
/* Names of C++ and Rust, as their sources have them: by GCC's libiberty. */
#ifndef TOOLS_PFM_SAMPLES_DEMANGLE_H
#define TOOLS_PFM_SAMPLES_DEMANGLE_H

#include <stdbool.h>

/* Whether this pfm was built with libiberty. Without, demangle() fails. */
extern const bool demangle_supported;

/* Whether the name may be one of C++ or Rust. */
bool demangle_is_mangled(const char *name);
/* The name, from malloc. NULL: it is none of C++ or Rust, it is too long, or there is no memory. */
char *demangle(const char *name);

#endif
