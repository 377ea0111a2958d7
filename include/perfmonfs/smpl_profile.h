/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "profile": the records of "correlate", but each sample is a sample of
 * "stack", in a record of type PFM_CORRELATE_STACK. A tool thus has everything it needs to name the
 * functions of a call chain, even for processes that have ended. Header and records are defined in
 * smpl_correlate.h; the argument is a pfm_stack_smpl_arg_t.
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
#define PFM_PROFILE_SMPL_TAG     0x666f7270U /* "prof" */

#endif
