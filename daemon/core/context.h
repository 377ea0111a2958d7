/* SPDX-License-Identifier: MIT */
/*
 * A perfmon context (specification 2.3.5): the software state of a PMU. It has no lock: its owner
 * executes one command at a time. Only the message queue has a consumer besides.
 */
#ifndef CORE_CONTEXT_H
#define CORE_CONTEXT_H

#include "daemon/core/event_set.h"
#include "daemon/core/image.h"
#include "daemon/core/message_queue.h"
#include "daemon/core/request.h"
#include "perfmonfs/pmu.h"

/* Why monitoring is to be masked. */
enum mask_reason {
	MASK_NOTIFY = 1 << 0,
	MASK_THROTTLE = 1 << 1,
	MASK_FORMAT = 1 << 2, /* the sampling format says so, or has failed */
};

/* Events since the context was made. */
struct ctx_count {
	uint64_t changes;  /* changes of state or throttled, and of whether a count is lost */
	uint64_t notified; /* notifications, with or without a message */
	uint64_t stolen;   /* counters found stolen or paused */
	uint64_t switches, overflows, messages_lost;
};

/*
 * The registers of a CPU that are reserved, and what they hold. A context on a CPU has its own
 * reservation. Contexts on threads share that of the CPU that their thread runs on: one at a time
 * is in its registers, the others are saved.
 */
struct pmu_reservation {
	struct image hw;                     /* the registers as last written */
	uint64_t reserved_sel[PMU_MAX_PMCS]; /* bits of each selector, by row */
	pmu_rows reserved_pmds;              /* counters: a bit per row */
	uint64_t reserved_global;            /* bits of the global control */
	uint64_t unsure[PMU_MAX_PMCS];       /* bits of @hw.sel that the last failed write may have
						changed */
	bool any_unsure;
};

/* What a context is loaded on. */
struct ctx_target {
	unsigned cpu;       /* valid unless unloaded; of a thread, the CPU it was on last */
	int tid, pid;       /* the thread (0: a CPU) and its process; kept after unloading */
	bool always_active; /* the thread has registers of its own, see backend.thread_open() */
	bool ended;         /* unloaded, because the thread has ended */
	enum ctx_state ended_as; /* the state before that */
};

/* What the event sets need, together: looked up at each switch of a thread, whatever their number.
 */
struct ctx_needs {
	bool known;                  /* @pmds and @mask are up to date */
	bool calibrated;             /* all sets are */
	pmu_rows pmds;               /* counters: a bit per row */
	uint64_t mask[PMU_MAX_PMCS]; /* bits of each selector, by row */
	bool user_only;              /* no counter moves while its CPU is not in user mode */
	bool shared;                 /* registers that other CPUs have, too: see enum pmu_scope */
};

/* Overflow: what reading the counters has found and what remains to be done about it. */
struct ctx_overflow {
	pmu_rows wrapped;     /* PMDs, by row, whose overflows are not accounted yet */
	pmu_rows notify_pmds; /* PMDs, by row, that the next notification names */
	unsigned mask_due;    /* enum mask_reason: the context is to be masked */
	pmu_rows masked; /* PMDs, by row, that are masked since the interrupt: with @mask_due */
	bool notify;     /* a notification is due */
	bool block;      /* the thread is to stay stopped until restart */
	pfm_smpl_where_t where; /* what ran when the overflows to be notified were found */
	uint64_t rate_since;    /* start of the second in which @rate_count counts (ns) */
	uint64_t rate_count;    /* overflows in that second: too many mask the context */
};

/* The overflow status register of the PMU. */
struct ctx_status {
	uint64_t clear_at; /* when no counter in use had overflowed by it (ns) */
	pmu_rows set;      /* PMDs, by row, that have wrapped in hardware since they were cleared */
	bool unreadable;   /* reading or clearing it has failed */
};

/* Pages of live counts. */
struct ctx_live {
	unsigned npages; /* sets that have one */
	uint8_t rdpmc;   /* PFM_LIVE_RDPMC, PFM_LIVE_MAPPED or 0: readers may use RDPMC */
	bool ticks;      /* counters are read each tick, so that pages are fresh */
	uint64_t time;   /* of the last reading of all counters (CLOCK_MONOTONIC, ns) */
};

/* Holes in the counts of a thread, with CTX_GAPS, or of a background context. */
struct ctx_gap {
	/* Since the last load. */
	uint64_t count;
	/* One is open: what the thread or the CPU executes is not counted, and what the registers
	 * hold is not the thread's alone. Until the context gets registers again, or is stopped. */
	bool open;
};

struct context {
	/* That of the CPUs it is loaded on; otherwise @all_pmu. Rows are the same in both. */
	const struct pmu *pmu;
	const struct pmu *all_pmu; /* with the registers of all types of CPUs */
	enum ctx_state state;
	bool throttled; /* masked because of too many overflows */
	unsigned nlost; /* PMDs of all sets whose counts are lost */
	struct ctx_gap gap;
	unsigned flags;   /* enum ctx_flag */
	bool ever_loaded; /* flags and format cannot change after the first load */
	struct ctx_target target;
	/* Loaded on a CPU that another context has: without registers, until CMD_RESUME. */
	bool yielded;
	struct limits limits; /* of the last load, start or restart */
	/* A PMC has been given kernel-level bits, and may still have them. */
	bool kernel_pmcs;

	struct evtset **sets; /* by rising id; set 0 always exists (3.7.5) */
	unsigned nsets, room;
	struct evtset *active;
	uint64_t since; /* while running: up to when the active set's time is accounted (ns) */
	uint64_t began; /* the last start of stopped counters (ns) */
	uint64_t ended; /* the stop after it (ns); not valid while running or masked */

	struct ctx_needs needs;
	struct pmu_reservation own;
	struct pmu_reservation *res; /* &own, empty while saved or unloaded; or the CPU's */

	struct ctx_status status;
	struct ctx_overflow ovfl;
	struct messages messages;
	struct ctx_live live;

	struct sampling smpl;
	/* Overflows are found by core_interrupt(), and not by reading the counters. */
	bool interrupts;
	pfm_smpl_source_t source; /* what the buffer's header says about that */
	bool notifies;            /* a PMD has been configured with PMD_NOTIFY */
	bool kernel_ip;  /* the right to kernel level at load: samples have its addresses */
	uint64_t tstamp; /* of the last samples (ns) */

	struct ctx_count count;
};

/* Loaded, and not in the registers of any CPU: all its state is memory. */
static inline bool ctx_saved(const struct context *ctx)
{
	return ctx->yielded ||
	       (ctx->target.tid && !ctx->target.always_active && ctx->res == &ctx->own);
}

/* Running, in registers. */
static inline bool ctx_counts_now(const struct context *ctx)
{
	return ctx->state == CTX_RUNNING && !ctx_saved(ctx);
}

/* -ENOMEM. */
int ctx_init(struct context *ctx, const struct pmu *pmu);
void ctx_free(struct context *ctx);

/* From the last start to @now, or to the stop after it (ns); 0 before the first start. */
uint64_t ctx_elapsed(const struct context *ctx, uint64_t now);
/* @now, or the stop after the last start. */
uint64_t ctx_until(const struct context *ctx, uint64_t now);

/* Overflows are attributed to a thread and an instruction: for samples, or for messages. */
static inline bool ctx_attributes(const struct context *ctx)
{
	return ctx->smpl.fmt || ctx->notifies;
}

/* Its samples are to have call chains. */
static inline bool ctx_wants_stacks(const struct context *ctx)
{
	return ctx->smpl.fmt && (ctx->smpl.fmt->fmt_flags & PFM_FMTFL_STACKS);
}

/* Counters that its active set selects. */
unsigned ctx_counters(const struct context *ctx);

/* A set of it has time_switch. */
bool ctx_switches_by_time(const struct context *ctx);

/* An unloaded context that only counts: it needs no attention when an overflow happens. Its sets
 * may switch by the time that the thread runs. */
bool ctx_only_counts(const struct context *ctx);
/* The same of one that samples or notifies, if its counters interrupt. */
bool ctx_only_interrupts(const struct context *ctx);

/* Frees up to @n sets of an unloaded context, the last ones, but not set 0. Nothing but ctx_free()
 * may follow. */
void ctx_free_sets(struct context *ctx, unsigned n);

/* The set @id, or NULL. */
struct evtset *ctx_set(const struct context *ctx, unsigned id);

/*
 * Whether counters that interrupt can find all overflows of the active set: of the counters that
 * have a period, none needs a value that an interrupt does not record. It records those of all
 * counters.
 */
bool ctx_can_interrupt(const struct context *ctx);

/* When counter row @d of the active set is to interrupt: after *@left events, and then each
 * *@period; if that is random, after about as many as are left. False: not in years. */
bool ctx_period(const struct context *ctx, unsigned d, uint64_t *left, uint64_t *period);

/* Has overflows found by interrupts, or not, and tells the format. */
void ctx_set_source(struct context *ctx, bool interrupts, uint32_t skew_ns);

/* Records an event of a process. The context has a format with fmt_event, and is running. */
void ctx_event(struct context *ctx, const pfm_smpl_event_t *event);

/* Of contexts on threads: whether @res has all registers that the sets of @ctx need. */
bool ctx_has_reserved(struct context *ctx, const struct pmu_reservation *res);

/* After ctx_has_reserved(): its counters stand still while its CPU is not in user mode. */
static inline bool ctx_is_user_only(const struct context *ctx)
{
	return ctx->needs.known && ctx->needs.user_only;
}

/* After ctx_has_reserved(): other CPUs cannot count by what it has reserved. */
static inline bool ctx_shares_registers(const struct context *ctx)
{
	return ctx->needs.known && ctx->needs.shared;
}

/* The PMCs of a set have changed, or there is another set. */
static inline void ctx_needs_changed(struct context *ctx)
{
	ctx->needs.known = ctx->needs.calibrated = false;
}

/* The PMDs of @set, by row, that count at user level only: their switch_overhead is constant. */
pmu_rows ctx_calibratable(const struct context *ctx, const struct evtset *set);

/* All counts of the active set are lost. If the thread's switches are the reason, CTX_GAPS opens a
 * gap in them instead. */
void ctx_lose(struct context *ctx, enum lost why);
/* The same by LOST_TAKEN: a context of @uid is loaded on @cpu. */
void ctx_lose_taken(struct context *ctx, unsigned cpu, unsigned uid);

/* The thread has run for @ns more in the gap that is open. */
void ctx_gap_add(struct context *ctx, uint64_t ns);

/* The next command that a context needs without a request. */
struct wake {
	uint64_t at;      /* ns; 0: never, 1: at once */
	bool switches;    /* CMD_SWITCH: the active set's time is over then; otherwise CMD_POLL */
	uint64_t live_at; /* CMD_POLL then, for a page of live counts (CLOCK_MONOTONIC, ns); 0:
			     never */
};
struct wake ctx_wake(const struct context *ctx);

/* Whether executing @cmd now would read files for virtual PMDs. */
bool ctx_reads_files(const struct context *ctx, const struct command *cmd);

/* How long the narrowest counter in @pmds needs to wrap at the highest rate (ns); 0: centuries. */
uint64_t pmu_wrap_ns(const struct pmu *pmu, pmu_rows pmds);

/* The interval of CMD_POLL at which no counter wraps unseen (ns); 0: none is needed. */
uint64_t pmu_poll_ns(const struct pmu *pmu);

#endif
