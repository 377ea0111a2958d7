// SPDX-License-Identifier: MIT
#include "daemon/percpu/where.h"

#include "perfmonfs/smpl_stack.h"

/* The kernel's part comes first. */
void where_hide_kernel(pfm_smpl_where_t *where)
{
	if (where->ip >> 63)
		where->ip = 0;
	while (where->nframes && where->frames[0] != PFM_STACK_USER) {
		where->nframes--;
		where->frames++;
	}
}
