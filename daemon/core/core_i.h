/* SPDX-License-Identifier: MIT */
/* What the files of the core share among themselves. */
#ifndef CORE_CORE_I_H
#define CORE_CORE_I_H

#include <errno.h>

#include "daemon/core/context.h"

enum {
	PHASE_START = 0, /* of every command and every vector element */
	/* transition.c */
	PHASE_LOOK = 100, /* counters going off are quiet: claim, verify, read */
	PHASE_SET,        /* everything is as expected: write */
	PHASE_COMMIT,     /* written: did the selectors keep it? */
	PHASE_ENABLE,     /* the counters count */
	PHASE_UNDO,       /* it failed: everything is being put back */
	/* stop.c */
	PHASE_QUIET = 200, /* the counters stand still */
	PHASE_STOP,        /* selectors are disabled and counters read */
	/* load.c */
	PHASE_VERIFY = 300,
	PHASE_RELEASE,
	/* access.c */
	PHASE_READ = 400, /* counters have been read */
	PHASE_PMD_LOOK,   /* is the counter still ours to write? */
	PHASE_PMD_SET,    /* it has been written */
};

/*
 * Moves the hardware from ctx->hw to st->target, or leaves it (and ctx->hw) as it was. Start it
 * with transition_begin(); afterwards each step goes to transition_step() while
 * transition_active(), until that returns CORE_DONE or an error.
 */
int transition_begin(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int transition_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
bool transition_active(const struct step *st);

/* Stops a running context; the same manner of use. An error means that it may still count. */
int stop_begin(struct context *ctx, struct step *st, struct plan *plan);
int stop_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
bool stop_active(const struct step *st);

/* Our bits of selector row @p that the read @op found changed; 0 without one. */
uint64_t selector_differs(const struct context *ctx, unsigned p, const struct reg_op *op);
/* What of selector row @p is found changed (its bits @differ) is not ours any more. */
void selector_disown(struct context *ctx, unsigned p, uint64_t differ);

/* One step of a command each. */
int step_load(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_unload(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int step_start(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_stop(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int step_read(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_write(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_poll(struct context *ctx, struct step *st, struct plan *plan);

/* counter.c: looking at running counters. */

/* Plans what it takes to read the counters @pmds and to know that they are still ours. */
void counters_plan(const struct context *ctx, uint32_t pmds, struct plan *plan);
/* Takes the results in; those that are not ours any more are marked lost. */
void counters_take(struct context *ctx, struct step *st, uint32_t pmds, const struct plan *plan);
/* Takes in those values of counters that @plan has read. */
void counters_fold(struct context *ctx, uint32_t pmds, const struct plan *plan);
/* Loses those whose bit is not set in what the global control was found to hold. */
void counters_paused(struct context *ctx, uint32_t pmds, uint64_t global);
/* Loses those that depend on the operation that failed; all of them if the CPU is gone. */
void counters_fault(struct context *ctx, uint32_t pmds, const struct plan *plan);
/* Loses @pmds; a count already lost keeps its first reason. */
void counters_lose(struct context *ctx, uint32_t pmds, enum lost why);
/* The sentence for a count that cannot be told: -EIO or -ENXIO. */
int counter_lost(const struct context *ctx, unsigned d, enum lost lost, struct err *e);
/* The selector rows that the counters @pmds depend on. */
uint32_t selectors_of(const struct pmu *pmu, uint32_t pmds);
/* The counters in use that need the bits @bits of selector row @p to be as we set them. */
uint32_t counters_behind(const struct context *ctx, unsigned p, uint64_t bits);

#endif
