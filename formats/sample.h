/* SPDX-License-Identifier: MIT */
/* What formats that record sample by sample share: entry and body of the format "default". */
#ifndef FORMATS_SAMPLE_H
#define FORMATS_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "perfmonfs/format.h"
#include "perfmonfs/smpl_dfl.h"

enum { SAMPLE_COUNT_MAX = UINT16_MAX }; /* overflows that one entry can stand for */

/* What is to be recorded in a call of fmt_handler, and how much of it still is. */
struct sample {
	const pfm_ovfl_arg_t *arg;
	const pfm_smpl_where_t *where;
	uint64_t tstamp;
	size_t body;   /* bytes */
	size_t size;   /* with the entry */
	uint32_t left; /* overflows */
};

struct sample sample_of(const pfm_ovfl_arg_t *arg, uint64_t tstamp, const void *where);

/* Writes an entry for as many of the overflows that are left as it can stand for, and the body. */
void sample_put(struct sample *s, void *at);

/* The largest there is, on a PMU of so many PMDs. */
size_t sample_largest(uint32_t num_pmds);

/* Does a buffer of @size have room for @overhead and @need bytes? */
int size_check(uint64_t size, size_t overhead, size_t need);

/*
 * What readers may be looking at is changed last, and at once: who sees the new value (acquire)
 * sees everything that was written before.
 */
static inline void publish64(uint64_t *p, uint64_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static inline void publish32(uint32_t *p, uint32_t value)
{
	__atomic_store_n(p, value, __ATOMIC_RELEASE);
}

static inline void *at_offset(void *buf, uint64_t offs)
{
	return (char *)buf + offs;
}

/* The buffer is full: the tool's turn, which ends with restart. */
static inline void ctrl_full(pfm_ovfl_ctrl_t *ctrl)
{
	ctrl->notify_user = 1;
	ctrl->mask_monitoring = 1;
}

#endif
