/* SPDX-License-Identifier: MIT */
/* What a CPU executed, as the kernel has recorded it. */
#ifndef PERCPU_WHERE_H
#define PERCPU_WHERE_H

#include "perfmonfs/format.h"

/* Removes kernel addresses, for users that may not count at kernel level. */
void where_hide_kernel(pfm_smpl_where_t *where);

#endif
