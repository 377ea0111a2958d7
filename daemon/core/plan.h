/* SPDX-License-Identifier: MIT */
/*
 * A plan: the register operations that one step of a command needs on one CPU, as plain data.
 * The core writes it, the CPU's worker has the backend run it, the core reads the results.
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include "perfmonfs/backend.h"
#include "perfmonfs/format.h"

enum {
	/* Each selector and counter at most three times, the registers that all counters share. */
	PLAN_MAX = 3 * (PMU_MAX_PMCS + PMU_MAX_PMDS) + 6,
};

/* Values of virtual PMDs, a bit for each row. */
struct virtual_values {
	uint32_t want;  /* to be fetched when the plan has been run, unless they already are */
	uint32_t asked; /* have been fetched for this command, or it was tried */
	uint32_t valid; /* those of them that can be told */
	uint64_t value[PMU_MAX_VIRTUALS];
};

struct plan {
	struct reg_op op[PLAN_MAX];
	unsigned n;             /* operations asked for */
	unsigned done;          /* of these, how many succeeded */
	struct err err;         /* why the next one failed, if done < n */
	uint64_t at;            /* when the results were there (ns) */
	pfm_smpl_where_t where; /* who was running then, for those who sample */
	struct virtual_values virt;
	bool last; /* if all of it succeeds, so has the command, and nothing is left to be
		      done: what this plan turns on would count the instructions of it */
};

static inline void plan_clear(struct plan *p)
{
	p->n = p->done = 0;
	p->err.no = 0;
	p->last = false;
	p->virt.want = 0;
}

/* With its results. */
static inline void plan_copy(struct plan *to, const struct plan *from)
{
	for (unsigned i = 0; i < from->n; i++)
		to->op[i] = from->op[i];
	to->n = from->n;
	to->done = from->done;
	to->err = from->err;
	to->last = from->last;
}

static inline void plan_add(
	struct plan *p, enum reg_verb verb, uint32_t addr, uint64_t value, uint64_t mask)
{
	p->op[p->n++] = (struct reg_op){.addr = addr, .verb = verb, .value = value, .mask = mask};
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
 * Drops the operation that failed and all before it. True if some are left to be run: what puts
 * things back must not stop half-way.
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
