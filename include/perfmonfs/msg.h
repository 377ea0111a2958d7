/* SPDX-License-Identifier: MIT */
/*
 * The records that reading ctx/NAME/msg gives: perfmon2's pfarg_msg_t as of Linux 2.6 kernels
 * (specification 3.3.2, 3.4.3). 64 bytes each, native byte order, never part of one.
 */
#ifndef PERFMONFS_MSG_H
#define PERFMONFS_MSG_H

#include <stdint.h>

#ifndef PFM_MSG_OVFL /* perfmon/perfmon.h has these two as macros */
enum {
	PFM_MSG_OVFL = 1, /* counters overflowed whose notification was asked for */
	PFM_MSG_END = 2,  /* the monitored thread has ended (3.3.6) */
};
#endif
enum {
	/* Of perfmonfs alone; who does not know a type ignores the record. */
	PFM_MSG_LOST = 0x100,     /* the queue was full: @count messages were lost at this place */
	PFM_MSG_THROTTLE = 0x101, /* more than config/overflow_rate_max overflows in a second:
				     monitoring is masked until restart */
};

enum { PFM_MSG_BV = 5 }; /* 64-bit elements of a bit vector of PMDs */

struct pfm_msg {
	uint32_t type;
	uint32_t pid; /* process and thread that ran at the overflow; 0: not known, as in all */
	uint16_t set; /* the active event set */
	uint16_t cpu;
	uint32_t tid; /* that are loaded on a CPU without a sampling format */
	union {
		uint64_t ip;    /* where it ran; 0: not known */
		uint64_t count; /* PFM_MSG_LOST */
	};
	uint64_t pmds[PFM_MSG_BV]; /* a bit for each PMD that overflowed, by logical number */
};

#endif
