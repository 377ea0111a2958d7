/* SPDX-License-Identifier: MIT */
/*
 * How overflows were found, and their instruction pointers: a part of the header of each buffer. It
 * takes words that were reserved, and were 0.
 */
#ifndef PERFMONFS_SMPL_SOURCE_H
#define PERFMONFS_SMPL_SOURCE_H

#include <stdint.h>

enum {
	PFM_SMPL_UNKNOWN,   /* Monitoring has not started yet, or an older daemon wrote it. */
	PFM_SMPL_INTERRUPT, /* The overflow itself was the interrupt that recorded the sample. */
	PFM_SMPL_POLL       /* A clock's interrupt recorded the address, and reading the counters
			     * after it found the overflow. */
};

typedef struct pfm_smpl_source {
	uint32_t precise;   /* PFM_SMPL_* */
	uint32_t skew_ns;   /* The overflow was at most this long before the sample's address. */
	uint64_t dropped;   /* Samples that the kernel dropped for lack of room. The next sample's
			     * number of overflows includes theirs. */
	uint64_t throttled; /* How often the kernel has stopped a counter that overflowed too often.
			     * Its count is lost from then on. */
	uint64_t gaps; /* How often samples may be missing, as the thread ran uncounted (flag gaps),
			* or the context had yielded (background). Where: hdr_gap, part_gap. */
} pfm_smpl_source_t;

#endif
