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
	/* Only in perfmonfs. A clone does not return these but PFM_MSG_OVFL instead. Readers should
	 * skip records of types that they do not support. */
	PFM_MSG_LOST = 0x100,     /* @count messages were lost here, because the queue was full */
	PFM_MSG_THROTTLE = 0x101, /* more than config/overflow_rate_max overflows per second;
				   monitoring is masked until restart */
	/* the counts of PMDs were lost: reading them fails with EIO or ENXIO, and they do not
	 * overflow, until they are written */
	PFM_MSG_COUNT_LOST = 0x102,
	/* the kernel dropped samples for lack of room; the buffer's header counts them. Sent
	 * once */
	PFM_MSG_SMPL_DROPPED = 0x103,
	/* with the flag gaps: the thread ran uncounted, or other threads were counted for it; the
	 * counts of @pmds go on without that time. Sent once per load; state and regs count the
	 * gaps */
	PFM_MSG_GAP = 0x104,
};

enum { PFM_MSG_BV = 5 }; /* 64-bit words of a bit vector of PMDs */

/* In the last word of @pmds, where no PMD is: @ip is that of the thread's newest sample, from an
 * earlier time slice, because nothing has recorded where the thread was at the overflow. A clone
 * does not return it. */
#define PFM_MSG_EARLIER (1ULL << 63)

struct pfm_msg {
	/* pid, tid and ip are what ran at the overflow; 0 if unknown. */
	uint32_t type; /* PFM_MSG_* */
	uint32_t pid;  /* process */
	uint16_t set;  /* active event set */
	uint16_t cpu;  /* of a context on a thread: where the thread ran last */
	uint32_t tid; /* thread */
	__extension__ union {
		uint64_t ip;
		uint64_t count; /* lost messages, in PFM_MSG_LOST */
	};
	uint64_t pmds[PFM_MSG_BV]; /* bit vector of the PMDs, by logical number */
};

#endif
