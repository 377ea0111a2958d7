/* SPDX-License-Identifier: MIT */
/* The counts of each thread of a target, one by one. */
#ifndef PERFMONFS_THREAD_TABLE_H
#define PERFMONFS_THREAD_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "perfmonfs/pmu.h"

struct thread_table {
	unsigned n;                  /* Threads. */
	unsigned ncounters;          /* Counters of each thread. */
	uint32_t addr[PMU_MAX_PMDS]; /* Addresses of the counters. */
	struct thread_name {
		int tid;
		bool ended; /* The number may be another thread's by now. */
	} * thread;
	/* @ncounters values of each thread, in the order of @thread. */
	struct thread_value {
		uint64_t count; /* Since the first start. */
		bool lost;      /* The kernel did not keep the event on the PMU. */
	} * value;
};

/* Makes room for @n threads. False: no memory, and nothing to free. */
static inline bool thread_table_init(struct thread_table *t, unsigned n, unsigned ncounters)
{
	*t = (struct thread_table){.ncounters = ncounters};
	t->thread = calloc(n + 1, sizeof(*t->thread));
	t->value = calloc((size_t)n * ncounters + 1, sizeof(*t->value));
	if (t->thread && t->value)
		return true;
	free(t->thread);
	free(t->value);
	*t = (struct thread_table){0};
	return false;
}

/* The memory that it takes. */
static inline size_t thread_table_bytes(const struct thread_table *t)
{
	return t->n * (sizeof(*t->thread) + t->ncounters * sizeof(*t->value));
}

static inline void thread_table_free(struct thread_table *t)
{
	free(t->thread);
	free(t->value);
	*t = (struct thread_table){0};
}

#endif
