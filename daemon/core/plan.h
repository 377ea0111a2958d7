/* SPDX-License-Identifier: MIT */
/*
 * A plan: register operations for one CPU, as plain data. The core writes it, struct pmu_io runs
 * it, the core reads the results.
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "perfmonfs/backend.h"

enum {
	/* Each selector and counter at most three times, and the registers that counters share. */
	PLAN_MAX = 3 * (PMU_MAX_PMCS + PMU_MAX_PMDS) + 6,
};

struct plan {
	unsigned n;     /* operations asked for */
	unsigned done;  /* how many of them have succeeded */
	struct err err; /* why the next one has failed; valid if done < n */
	struct reg_op op[PLAN_MAX];
};

static inline void plan_clear(struct plan *p)
{
	p->n = p->done = 0;
	p->err.no = 0;
}

static inline void plan_add(
	struct plan *p, enum reg_verb verb, uint32_t addr, uint64_t value, uint64_t mask)
{
	p->op[p->n++] = (struct reg_op){.addr = addr, .verb = verb, .value = value, .mask = mask};
}

static inline void plan_read(struct plan *p, uint32_t addr)
{
	plan_add(p, REG_READ, addr, 0, 0);
}

static inline void plan_replace(
	struct plan *p, uint32_t addr, uint64_t expect, uint64_t value, uint64_t mask)
{
	p->op[p->n++] = (struct reg_op){
		.addr = addr, .verb = REG_REPLACE, .value = value, .mask = mask, .expect = expect};
}

static inline bool plan_failed(const struct plan *p)
{
	return p->done < p->n;
}

/* The latest operation on @addr that succeeded, or NULL. */
static inline const struct reg_op *plan_result(const struct plan *p, uint32_t addr)
{
	for (unsigned i = p->done; i-- > 0;)
		if (p->op[i].addr == addr)
			return &p->op[i];
	return NULL;
}

/*
 * Drops the operation that failed and all before it. True if operations are left to be run: a
 * plan that restores registers must not stop half-way.
 */
static inline bool plan_rest(struct plan *p)
{
	unsigned gone = p->done + 1;

	if (gone >= p->n) {
		plan_clear(p);
		return false;
	}
	for (unsigned i = gone; i < p->n; i++)
		p->op[i - gone] = p->op[i];
	p->n -= gone;
	p->done = 0;
	p->err.no = 0;
	return true;
}

#endif
