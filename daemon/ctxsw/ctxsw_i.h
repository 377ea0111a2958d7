/* SPDX-License-Identifier: MIT */
/*
 * A ctxsw thread's files, from the bottom up: its inbox (ctxsw_inbox.c), the code that runs while
 * counters count (run_window.c), opening the CPU (ctxsw_cpu.c), reserving and calibrating registers
 * (calibrate.c), gaps (ctxsw_gap.c), task slots (task_slot.c), commands (ctxsw_job.c), restoring
 * and saving contexts (ctxsw_switch.c), and its main loop (ctxsw_thread.c). A file calls only those
 * before it. All functions are for the ctxsw thread itself, except those of ctxsw_inbox.c.
 */
#ifndef CTXSW_CTXSW_I_H
#define CTXSW_CTXSW_I_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "daemon/ctxsw/ctxsw.h"

enum { FD_SCHED, FD_WAKEUP, FD_SAMPLER, NFDS };

enum { ORDER_RETIRE = 1 };

/* Fairness among ready threads: see ctxsw_switch_in(). */
struct ctxsw_fairness {
	unsigned pinned_slot;   /* switched out before its thread has run; 0: none */
	unsigned deferred_slot; /* its thread came while another was pinned; 0: none */
	unsigned deferrals;     /* since a switched-in thread last ran */
};

/* The time from restoring a context to saving it. */
struct ctxsw_run {
	unsigned late;           /* sched_cpu.late at its start */
	uint64_t runtime;        /* the thread's CPU time (ns) before it */
	bool start_pending;      /* the plan that starts the counters has yet to run */
	struct timespec timeout; /* until the context needs attention */
};

/* How a ctxsw thread gives its CPU to a taker. */
struct ctxsw_giving {
	/* The entry of takers that the thread last obeyed. Unless it is 0, x.cpu is NULL.
	 * sched_cpu.taker is set before it, and cleared when x.cpu is open again. Written by the
	 * thread itself. */
	_Atomic(sched_u64) taker;
	struct task_event event;
	atomic_bool sent; /* @event was sent, and is not handled yet */
};

/* Whether a ctxsw thread has its CPU. */
struct ctxsw_presence {
	bool offline;      /* the CPU was offline when last checked */
	uint64_t retry_at; /* when to check again (CLOCK_MONOTONIC, ns) */
	bool open;         /* ctxsw_cpu_open() has succeeded */
};

/* The time for which a ctxsw thread charges its users. */
struct ctxsw_charge {
	uint64_t came_at;       /* sched_cpu.ctxsw_at when it last woke */
	uint64_t charged_until; /* time before this is charged, or need not be */
	uint64_t leaving_at;    /* when ctxsw_charge_last() made the last charge; else 0 */
	uint64_t leaving_ns;    /* from leaving_at until it slept, as last measured */
};

struct ctxsw_thread {
	/* For any thread. */
	pthread_t thread;
	unsigned cpu;
	struct ctxsw_shared *shared;
	struct queue inbox;        /* jobs */
	struct queue prepare_reqs; /* struct ctxsw_prepare_req */
	atomic_uint orders;        /* ORDER_ bits */
	struct task_event exit_event;
	struct sched_cpu *sched_cpu;
	struct ctxsw_giving giving;

	/* For the thread itself. Other threads write to fds[FD_WAKEUP]. */
	struct pollfd fds[NFDS];
	unsigned nfds;
	struct ctxsw_presence presence;
	struct executor x;              /* for this CPU; x.cpu is NULL while it has a taker */
	struct context cpu_ctx;         /* holds the CPU's reservation */
	struct sample_tick sample_tick; /* for contexts that sample or notify */
	bool sampler_failed;            /* opening the sampler failed when last tried */
	struct task_ctx *active;        /* the context in the registers; NULL: none */
	struct ctxsw_fairness fair;
	struct ctxsw_run run;
	struct command in, out; /* CMD_SCHED_IN and CMD_SCHED_OUT, made in advance */
	struct ctxsw_charge charge;
	struct err err; /* errors that no client waits for */
};

static inline unsigned ctxsw_load_word(const sched_u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void ctxsw_set_works(const struct ctxsw_thread *ct, unsigned works)
{
	__atomic_store_n(&ct->sched_cpu->ctxsw_works, works, __ATOMIC_RELAXED);
}

static inline struct task_slot *task_slot_of(const struct ctxsw_thread *ct, unsigned slot)
{
	return &ct->shared->slots[slot];
}

/* Kicks the ctxsw thread of @cpu, unless it is this one or there is none. A thread that was just
 * retired is not freed before all have exited. */
void ctxsw_kick_cpu(struct ctxsw_thread *ct, unsigned cpu);

/* Starts the counters of the context that was switched in, sleeps for at most @timeout, and stops
 * them. Sets @timeout to the time left. */
long ctxsw_run_window(struct ctxsw_thread *ct, struct timespec *timeout);
void ctxsw_sched_in(struct ctxsw_thread *ct, struct context *ctx);
void ctxsw_sched_out(struct ctxsw_thread *ct, struct context *ctx);

/* Executes a command on cpu_ctx. */
int ctxsw_exec_cpu_ctx(struct ctxsw_thread *ct, struct command *cmd, struct err *e);

/* Makes the thread SCHED_OTHER while its CPU is offline. As a SCHED_FIFO thread on another CPU, it
 * would preempt a followed thread there, and its instructions would count for that one. */
void ctxsw_set_normal(void);

/* ENXIO: offline; EPERM: no SCHED_FIFO; ENOMEM; errors of the backend. */
int ctxsw_cpu_open(struct ctxsw_thread *ct, struct err *e);
void ctxsw_cpu_close(struct ctxsw_thread *ct);

/* Open and close the CPU's registers alone, to give them to a taker and get them back. Closing
 * restores them. Errors of the backend. */
int ctxsw_cpu_open_registers(struct ctxsw_thread *ct, struct err *e);
void ctxsw_cpu_close_registers(struct ctxsw_thread *ct);

/* The kernel has moved this thread or disabled the CPU's perf events: the CPU is or was offline,
 * and its registers are lost. */
bool ctxsw_cpu_was_offline(const struct ctxsw_thread *ct);

/* Loads cpu_ctx on the CPU. */
int ctxsw_load_cpu_ctx(struct ctxsw_thread *ct, struct err *e);

/* Opens the ip sampler if @ctx samples or notifies. If that fails, a context that only notifies
 * does without it. The sampler ignores the thread that opens it. */
int ctxsw_open_sampler(struct ctxsw_thread *ct, const struct context *ctx, struct err *e);

/* Reserves all that the sets of @ctx need on this CPU, and calibrates them. Errors: those of
 * ctxsw_prepare_req. */
int ctxsw_reserve(struct ctxsw_thread *ct, struct context *ctx, struct err *e);
/* Gives back registers that are shared with other CPUs: @ctx is saved, and its thread may continue
 * there. */
int ctxsw_release_shared(struct ctxsw_thread *ct, const struct context *ctx, struct err *e);
/* Opens the sampler, and tries ctxsw_reserve(). Registers that are shared with other CPUs do not
 * stay reserved. */
int ctxsw_prepare(struct ctxsw_thread *ct, struct context *ctx, struct err *e);

/* Adds to the open gap the CPU time that the thread has had since, up to the last time the BPF
 * program saw it leave a CPU. */
void ctxsw_gap_account(const struct ctxsw_thread *ct, struct task_ctx *task);
/* Adds to the open gap the CPU time that the thread has had up to now, for commands on saved
 * contexts. Opens a gap if the thread has run unseen. */
void ctxsw_gap_update(struct ctxsw_thread *ct, struct task_ctx *task);
/* A switch of the thread was missed: its counts are lost, or a gap opens, on the CPU where it ran.
 */
void ctxsw_lose_missed(struct context *ctx);
/* Call it when the context gets registers or has been saved. Unless a gap is open, the next one
 * begins after what the thread has run so far. */
void ctxsw_gap_begins_later(const struct ctxsw_thread *ct, struct task_ctx *task);

/* Charges the time since the last call, or since the thread woke, to the user of @task; NULL: to no
 * user. */
void ctxsw_charge(struct ctxsw_thread *ct, const struct task_ctx *task);
/* Like ctxsw_charge(), for what may be the last work before the thread sleeps. As the context may
 * be gone by then, charges in advance what going to sleep took the last time. */
void ctxsw_charge_last(struct ctxsw_thread *ct, const struct task_ctx *task);
/* The thread has woken: charges what it took to start the counters of the active context, and to
 * leave the CPU. */
void ctxsw_charge_wakeup(struct ctxsw_thread *ct);

/* EAGAIN: the user of @task has spent the budget of this CPU, so that nothing may be calibrated. */
int ctxsw_check_budget(const struct ctxsw_thread *ct, const struct task_ctx *task, struct err *e);

/* True: the user of @task, a running context, has spent the budget. Its counts are lost then. */
bool task_slot_overspent(struct ctxsw_thread *ct, struct task_ctx *task);

/* The context must be switched in when its thread runs. */
static inline bool task_slot_wants_registers(const struct task_ctx *task)
{
	return task->ec->ctx.state == CTX_RUNNING && !task->spent_until;
}

/* Locks a saved slot. False: its state is not @word any more, or @word is not SLOT_SAVED. */
bool task_slot_trylock(struct ctxsw_thread *ct, struct task_slot *s, unsigned word);
/* Marks the context as saved: any ctxsw thread may lock it. */
void task_slot_release(struct ctxsw_thread *ct, struct task_ctx *task);

/* Spins, later yields: a thread of the same priority may need this CPU. */
struct backoff {
	unsigned spins;
	uint64_t until; /* CLOCK_MONOTONIC, ns */
};
/* False: the limit is reached. */
bool backoff_wait(struct backoff *p);

/*
 * Locks the context of a thread that is about to run here. If the thread ran elsewhere before, its
 * owner there is saving it, and this function waits. NULL: the thread has moved on, the slot is
 * free, or the owner takes too long.
 */
struct task_ctx *task_slot_acquire(struct ctxsw_thread *ct, unsigned slot);

/* Copies what the scheduler knows to the context: the thread id, and reasons for lost counts. */
void task_slot_sync_task(struct ctxsw_thread *ct, struct task_ctx *task);

/* Marks the counts of @ctx as lost, as its thread runs on the CPU of @taker. */
void task_slot_lose_taken(struct context *ctx, sched_u64 taker);

/* Announces changes of the context. Call it before the slot is released or activated. */
void task_slot_publish(struct ctxsw_thread *ct, struct task_ctx *task);
/* Sends the slot's death_event once if its thread is dead. */
void task_slot_report_death(struct ctxsw_thread *ct, unsigned slot);

/* Executes @job here, or posts it to the thread that owns its context. */
void ctxsw_job_deliver(struct ctxsw_thread *ct, struct job *job);

/* Restores the context of the thread that runs here, if it is followed. If the CPU has a taker, the
 * thread's counts are lost. */
void ctxsw_switch_in(struct ctxsw_thread *ct);

/* Saves the active context. The counters are stopped already. */
void ctxsw_switch_out(struct ctxsw_thread *ct);

#endif
