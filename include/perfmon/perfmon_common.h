/* SPDX-License-Identifier: MIT */
/*
 * Common to all versions of the perfmon2 interface. The header of each version includes this one;
 * do not include it directly. A source file can use only one version.
 */
#ifndef PERFMON_COMMON_H
#define PERFMON_COMMON_H

#ifndef PERFMON_ABI
#error "include perfmon/perfmon.h, or the header of one version"
#endif

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PFM_ARCH_MAX_PMCS (256 + 64)
#define PFM_ARCH_MAX_PMDS (256 + 64)
#define PFM_MAX_PMCS      PFM_ARCH_MAX_PMCS
#define PFM_MAX_PMDS      PFM_ARCH_MAX_PMDS

/* 64-bit words of a bit vector of x bits */
#define PFM_BVSIZE(x) (((x) + (sizeof(uint64_t) << 3) - 1) / (sizeof(uint64_t) << 3))
#define PFM_PMC_BV    PFM_BVSIZE(PFM_MAX_PMCS)
#define PFM_PMD_BV    PFM_BVSIZE(PFM_MAX_PMDS)

#define PFM_VERSION          ((PFM_VERSION_MAJ << 16) | PFM_VERSION_MIN)
#define PFM_VERSION_MAJOR(x) (((x) >> 16) & 0xffff)
#define PFM_VERSION_MINOR(x) ((x)&0xffff)

/* Flags of contexts */
#define PFM_FL_NOTIFY_BLOCK 0x01 /* a notification stops the monitored thread */
#define PFM_FL_SYSTEM_WIDE  0x02 /* monitors a CPU */

/* After EINVAL, the flags of a vector's wrong element contain its error. */
#define PFM_REG_RETFL_NOTAVAIL (1U << 31) /* no such register */
#define PFM_REG_RETFL_EINVAL   (1U << 30) /* the value or a field is invalid */
#define PFM_REG_RETFL_NOSET    (1U << 29) /* no such event set */

#define PFM_REG_RETFL_MASK (PFM_REG_RETFL_NOTAVAIL | PFM_REG_RETFL_EINVAL | PFM_REG_RETFL_NOSET)

#define PFM_REG_HAS_ERROR(flags) (((flags)&PFM_REG_RETFL_MASK) != 0)
#define PFM_SET_RETFL_EINVAL     PFM_REG_RETFL_EINVAL
#define PFM_SET_RETFL_NOSET      PFM_REG_RETFL_NOSET
#define PFM_SET_HAS_ERROR(flags) PFM_REG_HAS_ERROR(flags)

#if PERFMON_ABI != 200
/* Flags of event sets */
#define PFM_SETFL_OVFL_SWITCH 0x01
#define PFM_SETFL_TIME_SWITCH 0x02
#endif

/* Types of messages. Types from 0x100 on are only in perfmonfs: see perfmonfs/msg.h. */
#define PFM_MSG_OVFL 1 /* an overflow of PMDs with notification */
#define PFM_MSG_END  2 /* the monitored thread has ended */

#endif
