/* SPDX-License-Identifier: MIT */
/*
 * The records in ctx/NAME/msg: perfmon2's pfarg_msg_t in Linux 2.6 kernels
 * (specification 3.3.2, 3.4.3). A record has 64 bytes in native byte order. read(2) returns whole
 * records.
 */
#ifndef PERFMONFS_MSG_H
#define PERFMONFS_MSG_H

#include <stdint.h>

#ifndef PFM_MSG_OVFL /* macros of perfmon/perfmon.h */
enum {
	PFM_MSG_OVFL = 1, /* an overflow of PMDs with notification */
	PFM_MSG_END = 2,  /* the monitored thread has ended (3.3.6) */
};
#endif
enum {
	/* Only in perfmonfs, and not read from a clone, which has PFM_MSG_OVFL instead. Readers
	 * skip records of a type that they do not support. */
	PFM_MSG_LOST = 0x100,       /* @count messages were lost here, because the queue was full */
	PFM_MSG_THROTTLE = 0x101,   /* more than config/overflow_rate_max overflows per second;
				     monitoring is masked until restart */
	PFM_MSG_COUNT_LOST = 0x102, /* the counts of PMDs were lost: they fail with EIO or ENXIO,
				       and do not overflow, until they are written */
	PFM_MSG_SMPL_DROPPED = 0x103, /* the kernel dropped samples for lack of room; the buffer's
					 header counts them. Sent once */
	PFM_MSG_GAP = 0x104, /* with the flag gaps: the thread ran uncounted, or others were counted
				for it, and the counts of @pmds go on without that time. Sent once
				per load; state and regs count the gaps */
};

enum { PFM_MSG_BV = 5 }; /* 64-bit words of a bit vector of PMDs */

struct pfm_msg {
	/* pid, tid and ip are those that ran at the overflow; 0 if unknown. */
	uint32_t type; /* PFM_MSG_* */
	uint32_t pid;  /* process */
	uint16_t set;  /* active event set */
	uint16_t cpu;
	uint32_t tid; /* thread */
	union {
		uint64_t ip;
		uint64_t count; /* lost messages, in PFM_MSG_LOST */
	};
	uint64_t pmds[PFM_MSG_BV]; /* bit vector of the PMDs, by logical number */
};

#endif
