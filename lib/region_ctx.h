/* SPDX-License-Identifier: MIT */
/*
 * What a thread counts itself with while it is in regions: events of its own where the kernel lets
 * it open these, otherwise a context.
 */
#ifndef PERFMONFS_LIB_REGION_CTX_H
#define PERFMONFS_LIB_REGION_CTX_H

#include <stdint.h>

#include "lib/region_events.h"
#include "perfmonfs/live.h"
#include "perfmonfs/region_table.h"

struct region_ctx {
	struct region_events own;       /* if there are any, there is no context */
	int fd;                         /* an open clone; -1: none */
	uint64_t number;                /* the context's name in ctx/ */
	const struct pfm_live *page;    /* NULL: counts are read by system calls */
	uint8_t index[PFM_REGION_PMDS]; /* index in @page of each PMD */
};

/* Makes the calling thread count itself. -1 with errno; @loss has the sentence. */
int region_ctx_open(
	struct region_ctx *c, const struct pfm_region_table *t, struct pfm_region_loss *loss);

/* Reads all counts: own events, or the live page if RDPMC can read it now. -1 with errno; EBADF,
 * EBUSY, EIO, ENXIO: a count is lost. */
int region_ctx_read(
	const struct region_ctx *c, const struct pfm_region_table *t, uint64_t counts[]);

/* Reads the context by a system call, which detects every loss. -1 with errno as above. */
int region_ctx_read_checked(
	const struct region_ctx *c, const struct pfm_region_table *t, uint64_t counts[]);

/* Sets @loss to the reason why the last command failed with errno @no. */
void region_ctx_loss(const struct region_ctx *c, const struct pfm_region_table *t, int no,
	struct pfm_region_loss *loss);

void region_ctx_close(struct region_ctx *c);

#endif
