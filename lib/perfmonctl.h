/* SPDX-License-Identifier: MIT */
/*
 * Commands that perfmonctl() of 2.0 and perfmonctl() of the specification share. Functions return
 * 0, or -1 with errno, unless stated otherwise.
 */
#ifndef PERFMONFS_LIB_PERFMONCTL_H
#define PERFMONFS_LIB_PERFMONCTL_H

#include "lib/lib_i.h"

/*
 * Creates a context with the sampling format @uuid, whose argument, if it has one, is at @arg in
 * the caller's memory. Returns the descriptor; @buf_size gets the bytes of the sampling buffer.
 * @v06: for the specification.
 */
int perfmonctl_create(uint32_t flags, const unsigned char uuid[16], const void *arg, bool v06,
	uint64_t *buf_size);
/* Loads the context on the target in @load. @load, like @start below, begins with the same fields
 * in both versions; the rest is not used. */
int perfmonctl_load(const struct ctx_fd *t, const void *load);
/* Starts in the set of the structure @start (@n is 1), or in the active one (NULL and 0). */
int perfmonctl_start(const struct ctx_fd *t, const void *start, int n);

#endif
