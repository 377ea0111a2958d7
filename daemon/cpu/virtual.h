/* SPDX-License-Identifier: MIT */
/* Where virtual PMDs (specification 3.2.2) have their values from. */
#ifndef CPU_VIRTUAL_H
#define CPU_VIRTUAL_H

#include "daemon/core/plan.h"

enum { VIRTUAL_THREADS = 8 };

/*
 * What is kept open between one reading and the next. All zero: nothing. For one thread at a
 * time, as the executor that it is part of.
 */
struct virtuals {
	uint32_t open; /* rows whose files are, in: */
	int fd[PMU_MAX_VIRTUALS];
	struct {
		uint32_t tid; /* 0: none */
		int fd;
	} threads[VIRTUAL_THREADS]; /* by the lowest bits of their numbers */
};

/*
 * Fetches what @out wants and has not been asked for. @now is what clocks show, @where who was
 * running. System calls: free memory and load together 1, each file 2 (fstat, pread), the CPU time
 * 1 (pread), the clock none; besides, 3 when a file is opened anew, and 2 more if there is an old
 * one to be closed.
 */
void virtuals_fetch(struct virtuals *v, const struct pmu *pmu, const pfm_smpl_where_t *where,
	uint64_t now, struct virtual_values *out);
void virtuals_close(struct virtuals *v);

/*
 * The first number in a text: decimal or 0x hex, not in the midst of a word, perhaps with a minus
 * sign, whatever follows its digits. False: there is none, or it has more than 64 bits.
 */
bool virtual_number(const char *text, size_t n, uint64_t *value);

#endif
