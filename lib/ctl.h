/* SPDX-License-Identifier: MIT */
/* What the two perfmonctl(), of 2.0 and of the specification, have in common. */
#ifndef PERFMONFS_LIB_CTL_H
#define PERFMONFS_LIB_CTL_H

#include "lib/lib_i.h"

/*
 * Makes a context of the format @uuid, whose argument, if it has one, is the caller's memory at
 * @arg. The descriptor, or -1; @buf_size is that of the buffer.
 */
int ctl_create(uint32_t flags, const unsigned char uuid[16], const void *arg, uint64_t *buf_size);
/* @load and @start are the caller's; what counts of them is the same in both. */
int ctl_load(const struct target *t, const void *load);
/* In the set that the one structure @start names; NULL and none: wherever it was. */
int ctl_start(const struct target *t, const void *start, int n);

#endif
