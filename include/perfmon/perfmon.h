/* SPDX-License-Identifier: MIT */
/*
 * The perfmon2 interface in the version that PERFMON_ABI selects. Define it before this header:
 *
 *	281   2.6 to 2.81, the default (perfmon_v2.h)
 *	202   2.2, of 2006 (perfmon_v22.h)
 *	200   2.0, of 2004 (perfmon_compat.h)
 *	6     the specification, v0.6, of 2005 (perfmon_v06.h)
 *	2008  the revision that was proposed in July 2008 (perfmon_r2008.h)
 */
#ifndef PERFMON_PERFMON_H
#define PERFMON_PERFMON_H

#ifndef PERFMON_ABI
#define PERFMON_ABI 281
#endif

#if PERFMON_ABI == 281
#include <perfmon/perfmon_v2.h>
#elif PERFMON_ABI == 202
#include <perfmon/perfmon_v22.h>
#elif PERFMON_ABI == 200
#include <perfmon/perfmon_compat.h>
#elif PERFMON_ABI == 6
#include <perfmon/perfmon_v06.h>
#elif PERFMON_ABI == 2008
#include <perfmon/perfmon_r2008.h>
#else
#error "PERFMON_ABI is none of 281, 202, 200, 6, 2008"
#endif

#endif
