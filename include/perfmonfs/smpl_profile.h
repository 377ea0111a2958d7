/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "profile": the records of "correlate", in which each sample is one of
 * "stack", a PFM_CORRELATE_STACK. So a tool has all that it needs to name the functions of a call
 * chain, also of processes that have ended. Header and records are those of smpl_correlate.h; the
 * argument is a pfm_stack_smpl_arg_t.
 */
#ifndef PERFMONFS_SMPL_PROFILE_H
#define PERFMONFS_SMPL_PROFILE_H

#include "perfmonfs/smpl_correlate.h"
#include "perfmonfs/smpl_stack.h"

#define PFM_PROFILE_SMPL_NAME "profile"
#define PFM_PROFILE_SMPL_UUID                                                                      \
	{                                                                                          \
		0x3c, 0x51, 0xd7, 0x0a, 0x64, 0x2e, 0x4b, 0x83, 0xa5, 0x90, 0x1d, 0xf8, 0x27,      \
			0xc6, 0x4e, 0x19                                                           \
	}
#define PFM_PROFILE_SMPL_VERSION (1U << 16)

#endif
