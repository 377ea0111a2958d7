/* SPDX-License-Identifier: MIT */
/*
 * A perfmon context (specification 2.3.5): the software state of a PMU. The core only computes
 * on it; whoever owns the context at the moment calls in here, one at a time.
 */
#ifndef CORE_CONTEXT_H
#define CORE_CONTEXT_H

#include "daemon/core/evtset.h"
#include "daemon/core/image.h"
#include "daemon/core/messages.h"
#include "daemon/core/plan.h"
#include "daemon/core/request.h"
#include "perfmonfs/pmu.h"

/* Why monitoring is to be masked. */
enum mask_reason {
	MASK_NOTIFY = 1 << 0,
	MASK_THROTTLE = 1 << 1,
	MASK_FORMAT = 1 << 2, /* the sampling format says so, or has failed */
};

/* How often these have happened; whoever wants to know compares. */
struct ctx_count {
	uint64_t changes;  /* of the state, but for its set */
	uint64_t notified; /* notifications, with or without a message */
	uint64_t thefts;   /* counters found stolen or paused */
	uint64_t switches, overflows, messages_lost;
};

/*
 * What of a CPU's registers is in our hands. A context on a CPU has its own. Those of threads share
 * that of the CPU where they are just now, one at a time: the others are parked.
 */
struct hold {
	struct image hw;                    /* what we put into the hardware, */
	uint64_t claimed_sel[PMU_MAX_PMCS]; /* and what of it is claimed: bits of each selector */
	uint32_t claimed_pmds;
	uint64_t claimed_global;
};

struct context {
	const struct pmu *pmu;
	enum ctx_state state;
	bool throttled;   /* masked because of too many overflows */
	unsigned flags;   /* enum ctx_flag */
	bool ever_loaded; /* flags are settled by the first load */
	unsigned cpu;     /* unless unloaded; of a thread, where it was last */
	int tid, pid;     /* of the thread it is or was loaded on, and of its process; or 0 */
	bool ended;       /* that thread has, and so it was unloaded; */
	enum ctx_state ended_as; /* and what it was until then */
	struct limits limits;    /* of the last load, start or restart */

	struct evtset **sets; /* by rising id; set 0 is always there (3.7.5) */
	unsigned nsets, room;
	struct evtset *active;
	uint64_t since;  /* while running: up to when (ns) the active set's time is accounted */
	uint64_t ticked; /* when the overflow status was last found clear (ns) */
	bool statusless; /* ... but it cannot be read */

	struct hold own;
	struct hold *hold; /* its own, empty while parked or unloaded; or the CPU's */

	/* Overflow: what looks at the counters have found. */
	uint32_t wrapped;     /* not dealt with yet: by the next look */
	uint32_t report;      /* PMDs that the next notification tells of */
	unsigned mask_due;    /* enum mask_reason */
	uint64_t rate_since;  /* throttling: when its second began, */
	uint64_t rate_so_far; /* and the overflows in it */

	bool tell;  /* a notification is due */
	bool block; /* the thread is to stand still until restart */

	struct messages messages;

	unsigned nlive; /* sets that have a page */
	bool rdpmc;     /* its readers may use RDPMC */

	struct sampling smpl;
	bool kernel_ip;  /* who has loaded it may know where the kernel runs */
	uint64_t tstamp; /* of the last samples */

	struct ctx_count count;
};

/* Loaded on a thread that is on no CPU, as far as its registers go: they are all memory. */
static inline bool ctx_parked(const struct context *ctx)
{
	return ctx->tid && ctx->hold == &ctx->own;
}

/* It counts, in some CPU's registers. */
static inline bool ctx_counts_now(const struct context *ctx)
{
	return ctx->state == CTX_RUNNING && !ctx_parked(ctx);
}

/* -ENOMEM. */
int ctx_init(struct context *ctx, const struct pmu *pmu);
void ctx_free(struct context *ctx);

/* The set @id, or NULL. */
struct evtset *ctx_set(const struct context *ctx, unsigned id);

/* Progress of one command, kept by whoever executes it; step_begin() it first. */
struct step {
	int phase;
	unsigned element;     /* of the vector */
	bool moves;           /* it changes what the hardware holds: the quiet plan is another */
	bool masking;         /* it is being stopped in order to be masked */
	bool unseen;          /* selectors may have been taken over since they were last seen */
	uint32_t blame;       /* register found in somebody else's hands, and what it holds: the */
	uint64_t blame_value; /* backend may know who it is; 0: none */
	struct err err;       /* the error to report in the end */
	uint64_t give_back;   /* bits of the global control that others need */
	struct image target;  /* the image being moved to */
	struct evtset *to;    /* the set being switched to; NULL: the next in turn */
	struct evtset_undo undo;
};

void step_begin(struct step *st);

enum { CORE_DONE = 0, CORE_RUN = 1 };

/*
 * Takes @cmd one step further. CORE_RUN: run @plan, then call again. Between commands @plan must
 * be left as it is.
 * CORE_DONE: it has succeeded. Negative: it has failed with that errno and @e says why; all that
 * could be undone has been. The context may be used for the next command after either.
 *
 * Errors, besides the specification's: EINVAL wrong state or arguments, EBUSY already loaded, in
 * use, masked or a counter is held by somebody else, ENOENT no such register or set, EEXIST the
 * set exists, EACCES no right to count at kernel level or a write to a virtual PMD, EPERM no right
 * to load on a CPU, EIO a count was lost, a virtual PMD cannot be told or a register faults,
 * ENODATA a virtual PMD that only samples have, ENXIO the CPU is offline, EAGAIN no message.
 */
int core_step(struct context *ctx, struct command *cmd, struct step *st, struct plan *plan,
	struct err *e);

/*
 * The first plan of what command_stops(), for a running context, to be made in advance: running
 * it is the first thing done when such a command is to be executed. Then step_quiet() begins
 * that command, with this plan and its results.
 */
void ctx_quiet_plan(const struct context *ctx, struct plan *plan);
void step_quiet(struct step *st);

/*
 * Around each command of a context that has live pages: in between, who reads them waits. The set
 * that is active when it begins is to be given to the end.
 */
void ctx_live_begin(struct context *ctx);
void ctx_live_end(struct context *ctx, struct evtset *was);

/* Something has happened to a process: records it, for a running context whose format wants it. */
void ctx_event(struct context *ctx, const pfm_smpl_event_t *event);

/* The virtual PMDs whose values @cmd needs from the beginning on. */
uint32_t ctx_virtuals(const struct context *ctx, const struct command *cmd);

/* What follows is of threads' contexts, and for those who carry them. */

/* Whether all that its sets use is claimed in @hold. */
bool ctx_holds(const struct context *ctx, const struct hold *hold);
/* The PMDs of @set that count at user level only: what carrying adds to them can be gauged. */
uint32_t ctx_gaugeable(const struct context *ctx, const struct evtset *set);
/* The counts of the active set cannot be told any more. */
void ctx_lose(struct context *ctx, enum lost why);

/* When a context wants attention by itself. */
struct wake {
	uint64_t at;   /* at that time (ns); 0: never, 1: at once */
	bool switches; /* by CMD_SWITCH, for its set's time is over then; otherwise by CMD_POLL */
};
struct wake ctx_wake(const struct context *ctx);

/* What CMD_LOAD refuses whatever the CPU holds; for those who prepare a CPU for it. */
int core_load_check(const struct context *ctx, const struct command *cmd, struct err *e);

/* How long the narrowest counter in @pmds needs to wrap at the highest rate; 0: centuries. */
uint64_t pmu_wrap_ns(const struct pmu *pmu, uint32_t pmds);

/* How often a running context wants CMD_POLL, in ns, that no counter wraps unseen; 0: never. */
uint64_t pmu_poll_ns(const struct pmu *pmu);

#endif
