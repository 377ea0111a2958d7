/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "default" (specification 3.6): the buffer's layout, and the argument of
 * pfm_create_context(2). See perfmonfs/smpl_dfl.h.
 */
#ifndef PERFMON_DFL_SMPL_H
#define PERFMON_DFL_SMPL_H

#include <perfmon/perfmon.h>
#include <perfmonfs/smpl_dfl.h>

#endif
