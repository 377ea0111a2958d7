/* SPDX-License-Identifier: MIT */
/* Shared by the formats that record samples like "default", with its entry and body. */
#ifndef FORMATS_SAMPLE_H
#define FORMATS_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perfmonfs/format.h"
#include "perfmonfs/smpl_dfl.h"

enum { SAMPLE_COUNT_MAX = UINT16_MAX }; /* overflows per entry */

/* The overflows of one call of fmt_handler. */
struct sample {
	const pfm_ovfl_arg_t *arg;
	const pfm_smpl_where_t *where;
	uint64_t tstamp;
	size_t body;   /* bytes of the PMD values */
	size_t size;   /* bytes of entry and body */
	uint32_t left; /* overflows not recorded yet */
};

struct sample sample_of(const pfm_ovfl_arg_t *arg, uint64_t tstamp, const void *where);

/* The address for an entry that cannot mark it as an earlier one: then, it is 0. */
uint64_t sample_ip(const struct sample *s);

/* Makes an entry for up to @most of the remaining overflows. The caller marks an earlier address.
 */
pfm_dfl_smpl_entry_t sample_entry(struct sample *s, uint16_t most);

/* Writes an entry for up to @most of the remaining overflows, and the body. */
void sample_put(struct sample *s, uint16_t most, void *at);

/* Bytes of the largest sample on a PMU with @num_pmds PMDs. */
size_t sample_largest(uint32_t num_pmds);

/* A fmt_getsize for arguments that begin with the size, in 64 bits. */
int sample_getsize(uint32_t ctx_flags, void *arg, size_t *size);

/* Returns 0 if a buffer of @size bytes has room for @overhead plus @need bytes; otherwise
 * EINVAL. */
int sample_check_size(uint64_t size, size_t overhead, size_t need);

/*
 * Stores a field that concurrent readers use. A reader that loads the new value with acquire
 * semantics sees everything written before it.
 */
static inline void sample_publish64(uint64_t *p, uint64_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static inline void sample_publish32(uint32_t *p, uint32_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static inline void *sample_at(void *buf, uint64_t offs)
{
	return (char *)buf + offs;
}

/* Adds the PMDs in @pmds to the number of lost counts in a header. */
void sample_count_lost(uint64_t *counts_lost, const uint64_t pmds[PFM_FMT_BV]);

/* Stores @source in a header. Returns true if there was a gap, which all later samples follow. */
bool sample_set_source(pfm_smpl_source_t *hdr, const pfm_smpl_source_t *source);

/* The hdr_gap of the buffer after one with this @gap and @count samples: a gap after the last
 * sample of a buffer is before the first sample of the next. */
static inline uint32_t sample_next_gap(uint64_t gap, uint64_t count)
{
	return gap > count;
}

/* The buffer is full: notifies the tool and masks monitoring until its restart. */
static inline void sample_mask_full(pfm_ovfl_ctrl_t *ctrl)
{
	ctrl->notify_user = 1;
	ctrl->mask_monitoring = 1;
}

#endif
