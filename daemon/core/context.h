/* SPDX-License-Identifier: MIT */
/*
 * A perfmon context (specification 2.3.5): the software state of a PMU. It has no lock: its owner
 * executes one command at a time. Only the message queue is shared, with its consumer.
 */
#ifndef CORE_CONTEXT_H
#define CORE_CONTEXT_H

#include "daemon/core/event_set.h"
#include "daemon/core/image.h"
#include "daemon/core/message_queue.h"
#include "daemon/core/request.h"
#include "perfmonfs/pmu.h"

/* Reasons for masking monitoring. */
enum mask_reason {
	MASK_NOTIFY = 1 << 0,
	MASK_THROTTLE = 1 << 1,
	MASK_FORMAT = 1 << 2, /* the sampling format has failed */
};

/* Events since the context was made. */
struct ctx_count {
	uint64_t changes;  /* changes of state, of throttled, and of whether any count is lost */
	uint64_t notified; /* notifications, with or without a message */
	uint64_t stolen;   /* counters found stolen or paused */
	uint64_t leapt;    /* counters found advanced by more than time allows */
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

/* The CPU or thread that a context is loaded on. */
struct ctx_target {
	unsigned cpu;       /* valid while loaded; for a thread, the CPU on which it ran last */
	int tid, pid;       /* the thread (0: a CPU) and its process; kept after unloading */
	bool always_active; /* the thread has registers of its own, see backend.thread_open() */
	bool ended;         /* unloaded because the thread has ended */
	enum ctx_state ended_as; /* the state before the thread ended */
};

/* The registers that all event sets together need. Kept, as each switch of a thread looks them up,
 * and there may be many sets. */
struct ctx_needs {
	bool known;                  /* @pmds and @mask are up to date */
	bool calibrated;             /* all sets are calibrated */
	pmu_rows pmds;               /* counters: a bit per row */
	uint64_t mask[PMU_MAX_PMCS]; /* bits of each selector, by row */
	bool user_only;              /* no counter advances while its CPU is not in user mode */
	bool shared; /* some registers are shared with other CPUs: see enum pmu_scope */
};

/* Overflows that reading the counters has found, and what remains to be done about them. */
struct ctx_overflow {
	pmu_rows wrapped;     /* PMDs, by row, whose overflows are not accounted yet */
	pmu_rows notify_pmds; /* PMDs, by row, that the next notification names */
	unsigned mask_due;    /* why the context is to be masked (enum mask_reason); 0: it is not */
	pmu_rows masked; /* PMDs, by row, whose events since the interrupt are left out; valid with
			    @mask_due */
	bool throttled;  /* too many overflows have masked the context */
	bool notify;     /* a notification is due */
	bool block;      /* the thread is to stay stopped until restart */
	pfm_smpl_where_t where; /* what was running when the overflows to be notified were found */
	uint64_t rate_since;    /* start of the second in which @rate_count counts (ns) */
	uint64_t rate_count;    /* overflows in that second: too many mask the context */
};

/* The overflow status register of the PMU. */
struct ctx_status {
	uint64_t clear_at; /* when it last showed no counter in use as overflowed (ns) */
	pmu_rows set;      /* PMDs, by row, that have wrapped in hardware since they were cleared */
	bool unreadable;   /* reading or clearing it has failed */
};

/* Pages of live counts. */
struct ctx_live {
	unsigned npages; /* sets that have a page */
	uint8_t rdpmc;   /* PFM_LIVE_RDPMC, PFM_LIVE_MAPPED or 0: readers may use RDPMC */
	bool ticks;      /* counters are read each tick, so that pages are fresh */
	uint64_t time;   /* when all counters were last read (CLOCK_MONOTONIC, ns) */
};

/* Holes in the counts of a thread, with CTX_GAPS, or of a background context. */
struct ctx_gap {
	/* Gaps since the last load. */
	uint64_t count;
	/* A gap is open until the context gets registers again or is stopped. Meanwhile, what the
	 * thread or the CPU executes is not counted, and the registers' contents are not the
	 * thread's alone. */
	bool open;
};

/* What has happened to the context, and is not undone. */
struct ctx_past {
	bool loaded;      /* flags and format cannot change any more */
	bool kernel_pmcs; /* a PMC was given kernel-level bits, and may still have them */
	bool notify;      /* a PMD was configured with PMD_NOTIFY */
};

struct ctx_clock {
	uint64_t since; /* while running: the active set's time is accounted up to here (ns) */
	uint64_t began; /* the last start of stopped counters (ns) */
	uint64_t ended; /* the stop after it (ns); not valid while running or masked */
};

/* Where samples come from. */
struct ctx_samples {
	/* core_interrupt() finds overflows; reading the counters does not. */
	bool interrupts;
	pfm_smpl_source_t source; /* what the buffer's header says about their origin */
	bool kernel_ip;  /* had the right to kernel level at load: they have kernel addresses */
	uint64_t tstamp; /* time stamp of the last ones (ns) */
	/* The address of the newest polled sample of the thread; 0: none since the load or the last
	 * exec. */
	uint64_t earlier_ip;
};

struct context {
	/* The PMU of the CPUs it is loaded on, or @all_pmu while unloaded. Both have the same
	 * rows. */
	const struct pmu *pmu;
	const struct pmu *all_pmu; /* has the registers of all CPU types */
	enum ctx_state state;
	unsigned nlost; /* PMDs of all sets whose counts are lost */
	struct ctx_gap gap;
	unsigned flags; /* enum ctx_flag */
	struct ctx_target target;
	/* Another context has its CPU: it is loaded, but has no registers until CMD_RESUME. */
	bool yielded;
	struct limits limits; /* as of the last load, start or restart */
	struct ctx_past past;

	struct evtset **sets; /* by rising id; set 0 always exists (3.7.5) */
	unsigned nsets, room;
	struct evtset *active;
	struct ctx_clock clock;

	struct ctx_needs needs;
	struct pmu_reservation own;
	struct pmu_reservation *res; /* &own, empty while saved or unloaded; or the CPU's */

	struct ctx_status status;
	struct ctx_overflow ovfl;
	struct messages messages;
	struct ctx_live live;

	struct sampling smpl;
	struct ctx_samples samples;

	struct ctx_count count;
	/* The counts of each thread when the context was unloaded; empty while it is loaded. */
	struct thread_table threads;
};

/* True if the context is loaded and in no CPU's registers: all its state is in memory. */
static inline bool ctx_saved(const struct context *ctx)
{
	return ctx->yielded ||
	       (ctx->target.tid && !ctx->target.always_active && ctx->res == &ctx->own);
}

/* True if the context is running and in registers. */
static inline bool ctx_counts_now(const struct context *ctx)
{
	return ctx->state == CTX_RUNNING && !ctx_saved(ctx);
}

/* Returns 0 or -ENOMEM. */
int ctx_init(struct context *ctx, const struct pmu *pmu);
void ctx_free(struct context *ctx);

/* Time from the last start to @now, or to the stop after it (ns); 0 before the first start. */
uint64_t ctx_elapsed(const struct context *ctx, uint64_t now);
/* @now while started, otherwise the time of the last stop. */
uint64_t ctx_until(const struct context *ctx, uint64_t now);

/* True if overflows are attributed to a thread and an instruction, for samples or messages. */
static inline bool ctx_attributes(const struct context *ctx)
{
	return ctx->smpl.fmt || ctx->past.notify;
}

/* True if its samples are to have call chains. */
static inline bool ctx_wants_stacks(const struct context *ctx)
{
	return ctx->smpl.fmt && (ctx->smpl.fmt->fmt_flags & PFM_FMTFL_STACKS);
}

/* The number of counters that the active set selects. */
unsigned ctx_counters(const struct context *ctx);

/* True if any set has time_switch. */
bool ctx_switches_by_time(const struct context *ctx);

/* True if this unloaded context only counts, and so needs no attention when an overflow happens.
 * Its sets may switch by the run time of the thread. */
bool ctx_only_counts(const struct context *ctx);
/* True if this unloaded context samples or notifies, and needs no attention if its counters
 * interrupt. */
bool ctx_only_interrupts(const struct context *ctx);

/* Frees up to @n sets of an unloaded context, from the last one on, but not set 0. Only ctx_free()
 * may follow. */
void ctx_free_sets(struct context *ctx, unsigned n);

/* The set @id, or NULL. */
struct evtset *ctx_set(const struct context *ctx, unsigned id);

/*
 * True if counters that interrupt can find all overflows of the active set: no counter with a
 * period needs a value that an interrupt does not record. An interrupt records the values of all
 * counters.
 */
bool ctx_can_interrupt(const struct context *ctx);

/* Sets when counter row @d of the active set is to interrupt: after *@left events, and then every
 * *@period events; if periods are random, *@period is about *@left. False: not for years. */
bool ctx_period(const struct context *ctx, unsigned d, uint64_t *left, uint64_t *period);

/* The counts of running counters that only their interrupts advance are lost if they have none
 * (pmu_event.user_samples). @interrupts: the context's counters interrupt. */
void ctx_lose_unsampled(struct context *ctx, bool interrupts);

/* Sets whether interrupts find the overflows, and tells the format. */
void ctx_set_source(struct context *ctx, bool interrupts, uint32_t skew_ns);

/* Records an event of a process. The context must be running and have a format with fmt_event. */
void ctx_event(struct context *ctx, const pfm_smpl_event_t *event);

/* For a context on a thread, which counts only while that thread runs. @where: what the newest tick
 * of the CPU interrupted, without secret addresses. If that was another thread, sets @where to the
 * context's, with the address of its newest sample. */
void ctx_set_where(struct context *ctx, pfm_smpl_where_t *where);

/* For contexts on threads: true if @res has all registers that the sets of @ctx need. */
bool ctx_has_reserved(struct context *ctx, const struct pmu_reservation *res);

/* True if its counters do not advance while its CPU is not in user mode. Valid after
 * ctx_has_reserved(). */
static inline bool ctx_is_user_only(const struct context *ctx)
{
	return ctx->needs.known && ctx->needs.user_only;
}

/* True if other CPUs cannot count with the registers that it has reserved. Valid after
 * ctx_has_reserved(). */
static inline bool ctx_shares_registers(const struct context *ctx)
{
	return ctx->needs.known && ctx->needs.shared;
}

/* To be called when the PMCs of a set or the list of sets have changed. */
static inline void ctx_needs_changed(struct context *ctx)
{
	ctx->needs.known = ctx->needs.calibrated = false;
}

/* The PMDs of @set, by row, that count at user level only: their switch_overhead is constant. */
pmu_rows ctx_calibratable(const struct context *ctx, const struct evtset *set);

/* Loses all counts of the active set. With CTX_GAPS, it opens a gap in them instead if the thread's
 * switches are the reason. */
void ctx_lose(struct context *ctx, enum lost why);
/* ctx_lose() with LOST_TAKEN: a context of user @uid is loaded on @cpu. */
void ctx_lose_taken(struct context *ctx, unsigned cpu, unsigned uid);

/* Adds @ns, for which the thread has run, to the gap that is open. */
void ctx_gap_add(struct context *ctx, uint64_t ns);

/* The next command that a context needs without a request. */
struct wake {
	uint64_t at;      /* ns; 0: never, 1: at once */
	bool switches;    /* the command is CMD_SWITCH, as the active set's time is over then;
			     otherwise CMD_POLL */
	uint64_t live_at; /* when CMD_POLL is needed for a page of live counts (CLOCK_MONOTONIC,
			     ns); 0: never */
};
struct wake ctx_wake(const struct context *ctx);

/* True if executing @cmd now would read files for virtual PMDs. */
bool ctx_reads_files(const struct context *ctx, const struct command *cmd);

/* How long the narrowest counter in @pmds needs to wrap at the highest rate (ns); 0: centuries. */
uint64_t pmu_wrap_ns(const struct pmu *pmu, pmu_rows pmds);

/* The interval of CMD_POLL at which no counter wraps unseen (ns); 0: none is needed. */
uint64_t pmu_poll_ns(const struct pmu *pmu);

#endif
