/* SPDX-License-Identifier: MIT */
/*
 * How overflows and their instruction pointers were found: a part of each buffer's header. It takes
 * words that used to be reserved, and 0.
 */
#ifndef PERFMONFS_SMPL_SOURCE_H
#define PERFMONFS_SMPL_SOURCE_H

#include <stdint.h>

/*
 * The format of a buffer: at this offset of its header are the first four letters of the format's
 * name as a number in little-endian order, PFM_*_SMPL_TAG. 0: an older daemon wrote it, or a format
 * without a tag. The tag of "nway" alone is elsewhere, in hdr_tag.
 */
enum { PFM_SMPL_TAG_OFFSET = 120 };

/* Whether the buffer at @buf is of the format with @tag, or has no tag. Not for "nway". */
static __inline int pfm_smpl_has_tag(const void *buf, uint32_t tag)
{
	const uint32_t *found = (const uint32_t *)((const char *)buf + PFM_SMPL_TAG_OFFSET);

	return !*found || *found == tag;
}

enum {
	PFM_SMPL_UNKNOWN,   /* Monitoring has not started yet, or an older daemon wrote it. */
	PFM_SMPL_INTERRUPT, /* The overflow itself was the interrupt that recorded the sample. */
	/* A timer interrupt recorded the address; the overflow was found by reading the counters
	 * after it. */
	PFM_SMPL_POLL,
	/* As PFM_SMPL_POLL, but the timer interrupted another thread: the address is that of the
	 * newest sample of the thread that overflowed, from an earlier time slice. Of samples, not
	 * of headers. */
	PFM_SMPL_EARLIER
};

typedef struct pfm_smpl_source {
	uint32_t precise; /* PFM_SMPL_* */
	uint32_t skew_ns; /* The overflow was at most this long before the sample's address. */
	/* Samples that the kernel dropped for lack of room. The next sample's number of overflows
	 * includes theirs. */
	uint64_t dropped;
	/* How often the kernel stopped a counter because it overflowed too often. The count is lost
	 * from then on. */
	uint64_t throttled;
	/* How often samples may be missing because the thread ran uncounted (flag gaps) or the
	 * context had yielded (background). hdr_gap and part_gap say where. */
	uint64_t gaps;
} pfm_smpl_source_t;

#endif
