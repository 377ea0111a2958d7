/* SPDX-License-Identifier: MIT */
/* What the files of the core share among themselves. */
#ifndef CORE_CORE_I_H
#define CORE_CORE_I_H

#include <errno.h>

#include "daemon/core/context.h"

#define SECOND_NS 1000000000
#define YEARS_NS  (1ULL << 60) /* 36 of them */

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
	/* switch.c */
	PHASE_SWITCH_QUIET = 250, /* the counters stand still */
	PHASE_SWITCH_LOOK,        /* they have been read */
	PHASE_SWITCH_SET,         /* the next set's have been written */
	PHASE_SWITCH_ENABLE,      /* they count */
	/* carry.c */
	PHASE_IN_QUIET = 270, /* what may still have counted stands still */
	PHASE_IN_SET,         /* the counters and selectors have been written */
	PHASE_IN_ENABLE,      /* they count */
	PHASE_OUT_LOOK,       /* they stand still, and have been read */
	PHASE_OUT_GIVE,       /* others' bits have been given back */
	/* load.c */
	PHASE_VERIFY = 300,
	PHASE_RELEASE,
	/* access.c */
	PHASE_READ = 400, /* counters have been read */
	PHASE_STATUS,     /* the overflow status has */
	PHASE_CLEARED,    /* it has been cleared */
	PHASE_PMD_LOOK,   /* is the counter still ours to write? */
	PHASE_PMD_SET,    /* it has been written */
};

/*
 * Moves the hardware from ctx->hold->hw to st->target, or leaves it (and ctx->hold->hw) as it was.
 * Start it with transition_begin(); afterwards each step goes to transition_step() while
 * transition_active(), until that returns CORE_DONE or an error.
 */
int transition_begin(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int transition_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
bool transition_active(const struct step *st);

/* Stops a running context; the same manner of use. An error means that it may still count. */
int stop_begin(struct context *ctx, struct step *st, struct plan *plan);
int stop_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
bool stop_active(const struct step *st);
/* Does what a look has found to be done: masks, tells, switches. */
int look_act(struct context *ctx, struct step *st, struct plan *plan);
/* Goes on with a stop that leads to being masked. */
int mask_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
/* Tells of the overflows that stopping has found. */
void stop_report(struct context *ctx, const struct plan *plan);

/* Adds what gives our bit of the global control to whoever has taken over a selector, too. */
void stop_give_back(struct context *ctx, struct step *st, struct plan *plan);

/* Adds the write of selector row @p as st->target has it. */
void plan_selector(const struct context *ctx, const struct step *st, unsigned p, struct plan *plan);

/* What of stopping is left to do when the counters stand still and have been read. */
int stop_rest(struct context *ctx, struct step *st, struct plan *plan);
/* Takes in what plans of stopping have found out: counts, selectors taken over or disabled. */
void stop_take(struct context *ctx, struct step *st, const struct plan *plan);

/* Switches a running context to @to, NULL: the next set; the same manner of use. */
int switch_begin(struct context *ctx, struct step *st, struct plan *plan, struct evtset *to);
int switch_step(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
bool switch_active(const struct step *st);
/* What of it is no matter of registers. */
void switch_sets(struct context *ctx, struct evtset *to);
/* Its parts: reads what counted, and sees to it that what st->to needs is ours; */
void switch_look(struct context *ctx, struct step *st, struct plan *plan);
/* takes in what that has found (CORE_RUN: the rest of it is to be run); */
int switch_looked(struct context *ctx, struct step *st, struct plan *plan);
/* writes what st->to needs, but for the counters @known, which hold what is in @held; */
void switch_set_up(struct context *ctx, struct step *st, struct plan *plan, uint32_t known,
	const uint64_t held[PMU_MAX_PMDS]);
/* makes that count; */
int switch_enable(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
/* and if it has failed: */
int switch_disabled(struct context *ctx, struct step *st, struct plan *plan, struct err *e);

/* Our bits of selector row @p that the read @op found changed; 0 without one. */
uint64_t selector_differs(const struct context *ctx, unsigned p, const struct reg_op *op);
/* What of selector row @p is found changed (its bits @differ) is not ours any more. */
void selector_disown(struct context *ctx, unsigned p, uint64_t differ);

/* One step of a command each. */
int step_load(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_end(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int step_unload(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int step_start(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_stop(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int step_read(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_write(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_restart(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_poll(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
int step_in(struct context *ctx, struct step *st, struct plan *plan, struct err *e);
int step_out(struct context *ctx, const struct command *cmd, struct step *st, struct plan *plan);
/* carry.c: look_act() of a context that has no registers just now. */
int parked_act(struct context *ctx);

/* EPERM: he may not monitor a CPU, or a thread. */
int rights_check(const struct rights *r, bool system_wide, struct err *e);
/* There is nothing to @verb: -EINVAL. */
int not_loaded(const struct context *ctx, const char *verb, struct err *e);
/* The word and throttled of the state; counted if they change. */
void ctx_set_state(struct context *ctx, enum ctx_state state);
/* Time passes for the active set. */
bool ctx_counts(const struct context *ctx);

/* sets.c */
int set_new(struct context *ctx, struct cmd_evtset *c, const struct limits *limits, struct err *e);
/* All sets of @from, as they have been written, for @to, which has none but set 0. */
int sets_copy(struct context *to, const struct context *from, struct err *e);
int set_delete(struct context *ctx, struct cmd_evtset *c, struct err *e);
int set_write(struct context *ctx, const struct cmd_evtset *c, const struct limits *limits,
	struct err *e);
int set_read(const struct context *ctx, struct cmd_evtset *c, uint64_t now, struct err *e);
/* What has to be true of all sets together once they are loaded. */
int sets_check(const struct context *ctx, struct err *e);
/* Sets who follows whom, and forgets who switched. */
void sets_link(struct context *ctx);

/* conf.c: the configuration of a PMD. EINVAL: it names a PMD that there is not, or that cannot be
 * reset. */
int conf_check(const struct pmu *pmu, const struct pmd_conf *conf, struct err *e);
/* What a write leaves in row @d: all of it new, but for what the write is to keep. */
void conf_write(const struct pmu *pmu, const struct cmd_reg *r, uint64_t now, unsigned d,
	struct pmd_state *s);
/* These parts of @c become those of the PMD (enum pmd_part). */
void conf_store(
	const struct pmu *pmu, const struct pmd_conf *c, unsigned parts, struct pmd_state *s);
void conf_fetch(const struct pmu *pmu, const struct evtset *set, unsigned d, struct cmd_reg *r);

/* virtual.c: those that a sample of the active set may need now. */
uint32_t virtuals_sampled(const struct context *ctx);
/* One that is read by a command: EIO, ENODATA. */
int virtual_read(const struct context *ctx, unsigned row, const struct plan *plan, uint64_t *value,
	struct err *e);
/* Which ones @set has sampled may have changed. */
void virtuals_note(struct evtset *set);

/* live.c */
int live_set(struct context *ctx, const struct command *cmd, struct err *e);
int step_live_read(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);
/* What is true of a set, active or not, is in its page from now on. */
void live_refresh(const struct context *ctx, const struct evtset *set);

/* overflow.c */
/* Counts, samples and resets what has wrapped in the look that @plan was; what else is due is left
 * in mask_due, tell and the set's due. */
void overflow_settle(struct context *ctx, const struct plan *plan);
/* One overflow of @s; true if that has used up its threshold. */
bool overflow_count(struct context *ctx, struct pmd_state *s, uint64_t now);
/* sample.c: the same by the sampling format. @triggers: thresholds used up; returns the PMDs that
 * are to be reset with those that were. */
uint32_t sample_settle(
	struct context *ctx, uint32_t rows, uint32_t *triggers, const struct plan *plan);
/* Tells of what is to be told. */
void overflow_notify(struct context *ctx);

/* status.c: whether a look at the overflow status is enough of one, at @now. */
bool status_suffices(const struct context *ctx, uint64_t now);
int status_begin(struct context *ctx, struct step *st, struct plan *plan);
/* CORE_DONE: nothing has overflowed; or a full look is to follow, and the phase is PHASE_START. */
int status_step(struct context *ctx, struct step *st, struct plan *plan);
bool status_active(const struct step *st);

/* time.c */
/* When counter @d may overflow at the earliest (ns), as of when it was last looked at; 0: not in
 * years. */
uint64_t soonest_overflow(const struct context *ctx, unsigned d);
/* Adds the time since the last call to the active set's. */
void time_account(struct context *ctx, uint64_t now);
bool time_is_over(const struct context *ctx, uint64_t now);

/* counter.c: looking at running counters. */

/* Reads the running counters @live and takes the results in, in as many rounds as
 * registers that fail make necessary. */
int look_at(struct context *ctx, struct step *st, struct plan *plan, uint32_t live);
/* Those of @rows of the active set that count and whose count can be told. */
uint32_t live_rows(const struct context *ctx, uint32_t rows);

uint64_t pmd_width_mask(const struct pmu_pmd *pmd);

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
