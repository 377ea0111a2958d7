/* SPDX-License-Identifier: MIT */
/* The values of virtual PMDs (specification 3.2.2). */
#ifndef PERCPU_VIRTUAL_PMD_H
#define PERCPU_VIRTUAL_PMD_H

#include "daemon/core/core.h"

enum { VIRTUAL_THREADS = 8 };

/* Files kept open from one reading to the next. All zero: none. Used by one thread at a time, like
 * the executor that it is part of. */
struct virtuals {
	/* One bit per row of pmu.virtuals: fd is open. */
	pmu_rows open;
	int fd[PMU_MAX_VIRTUALS];
	/* schedstat files of threads; the index is tid % VIRTUAL_THREADS. */
	struct {
		uint32_t tid; /* 0: none. */
		int fd;
	} threads[VIRTUAL_THREADS];
};

/* The state that values depend on. */
struct virtual_moment {
	uint64_t now;           /* ns */
	uint64_t elapsed;       /* ns that the context has been monitoring */
	pfm_smpl_where_t where; /* the thread that was running */
	struct backend *be;
	bool kernel;             /* the context may count at kernel level */
	struct backend_cpu *cpu; /* the CPU that the context counts; NULL: none, or a thread */
};

/*
 * Reads the values that @out wants and does not have. System calls: 1 for free memory and load
 * together, 2 per file (fstat, pread), 1 for the CPU time (pread), 1 register access for a reading,
 * none for the others; 3 more to open a file, and 2 more if that replaces another one.
 */
void virtual_pmd_fetch(struct virtuals *v, const struct pmu *pmu, const struct virtual_moment *at,
	struct virtual_values *out);
void virtual_pmd_close(struct virtuals *v);

/* Reads the number in the file of @v, which is not kept open. */
bool virtual_pmd_read_file(const struct pmu_virtual *v, uint64_t *value);

/*
 * Parses the first number of a text: decimal or 0x hex, not inside a word, optionally with a minus
 * sign. False: there is none, or it exceeds 64 bits.
 */
bool virtual_pmd_parse(const char *text, size_t n, uint64_t *value);

#endif
