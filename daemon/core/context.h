/* SPDX-License-Identifier: MIT */
/*
 * A perfmon context (specification 2.3.5): the software state of a PMU. The core only computes
 * on it; whoever owns the context at the moment calls in here, one at a time.
 */
#ifndef CORE_CONTEXT_H
#define CORE_CONTEXT_H

#include "daemon/core/image.h"
#include "daemon/core/plan.h"
#include "daemon/core/request.h"
#include "perfmonfs/pmu.h"

/* Why a count can no longer be told. It stays so until the PMD is written anew. */
enum lost {
	LOST_NOT = 0,
	LOST_STOLEN,  /* its selector holds what somebody else wrote */
	LOST_PAUSED,  /* its bit in the global control was cleared while it ran */
	LOST_OFFLINE, /* its CPU went offline */
	LOST_LATE,    /* nobody looked for so long that it may have wrapped unseen */
	LOST_FAULT,   /* its register could not be read */
};

struct pmd_state {
	uint64_t value;  /* 64 bits wide, as of the last look at the hardware */
	uint64_t hw;     /* what the actual counter held at that look */
	uint64_t looked; /* when that was (ns), while it counts */
	enum lost lost;
};

/* An event set (3.7): everything a PMU is programmed with. */
struct evtset {
	uint16_t id;
	uint64_t pmc[PMU_MAX_PMCS]; /* logical values, by row */
	struct pmd_state pmd[PMU_MAX_PMDS];
};

struct context {
	const struct pmu *pmu;
	enum ctx_state state;
	unsigned flags;     /* enum ctx_flag */
	bool ever_loaded;   /* flags are settled by the first load */
	unsigned cpu;       /* unless unloaded */
	struct evtset set0; /* always there (3.7.5) */
	struct evtset *active;

	/* While loaded: what we put into the hardware, and what of it is claimed. */
	struct image hw;
	uint64_t claimed_sel[PMU_MAX_PMCS]; /* bits of each selector */
	uint32_t claimed_pmds;
	uint64_t claimed_global;
	uint64_t thefts; /* how many counters were ever found stolen or paused */
};

void ctx_init(struct context *ctx, const struct pmu *pmu);

/* The set @id, or NULL. */
struct evtset *ctx_set(struct context *ctx, unsigned id);

/* Progress of one command, kept by whoever executes it; step_begin() it first. */
struct step {
	int phase;
	unsigned element;     /* of the vector */
	uint32_t blame;       /* register found in somebody else's hands, and what it holds: the */
	uint64_t blame_value; /* backend may know who it is; 0: none */
	struct err err;       /* the error to report in the end */
	uint64_t give_back;   /* bits of the global control that others need */
	struct image target;  /* the image being moved to */
};

void step_begin(struct step *st);

enum { CORE_DONE = 0, CORE_RUN = 1 };

/*
 * Takes @cmd one step further. CORE_RUN: run @plan, then call again. Between commands @plan must
 * be left as it is.
 * CORE_DONE: it has succeeded. Negative: it has failed with that errno and @e says why; all that
 * could be undone has been. The context may be used for the next command after either.
 *
 * Errors, besides the specification's: EINVAL wrong state or arguments, EBUSY already loaded or
 * a counter is held by somebody else, ENOENT no such register or set, EACCES no right to count
 * at kernel level, EPERM no right to load on a CPU, EIO a count was lost or a register faults,
 * ENXIO the CPU is offline.
 */
int core_step(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);

/*
 * The first plan of a stop, for a running context, to be made in advance: running it is the
 * first thing done when a stop, unload or destroy is to be executed. Then step_quiet() begins
 * that command, with this plan and its results.
 */
void ctx_quiet_plan(const struct context *ctx, struct plan *plan);
void step_quiet(struct step *st);

/* What CMD_LOAD refuses whatever the CPU holds; for those who prepare a CPU for it. */
int core_load_check(struct context *ctx, const struct command *cmd, struct err *e);

/* How long the narrowest counter in @pmds needs to wrap at the highest rate; 0: centuries. */
uint64_t pmu_wrap_ns(const struct pmu *pmu, uint32_t pmds);

/* How often a running context wants CMD_POLL, in ns; 0: it need not be. */
uint64_t pmu_poll_ns(const struct pmu *pmu);

#endif
