/* SPDX-License-Identifier: MIT */
/*
 * The ctxsw thread of a CPU: a SCHED_FIFO thread that is woken whenever a followed thread comes to
 * that CPU or leaves it, and restores that thread's context to the CPU's registers, or saves it.
 * Nothing counts while it runs: it stops the counters first when it wakes, and starts them last
 * before it sleeps.
 */
#ifndef CTXSW_CTXSW_H
#define CTXSW_CTXSW_H

#include "daemon/ctxsw/task_ctx.h"
#include "daemon/bpf/sched.h"
#include "daemon/ptrace/tracer.h"

struct budget;
struct ctxsw_thread;
struct task_registry;

/* State that all ctxsw threads share. */
struct ctxsw_shared {
	struct backend *be;
	struct engine_stats *stats;
	struct event_queue *events;
	const struct worker_shared *workers;
	struct sched *sched;
	struct tracer *tracer;
	struct task_slot *slots; /* SCHED_SLOTS of them */
	/* By CPU; NULL: none. Written by the session thread. */
	_Atomic(struct ctxsw_thread *) ctxsw_threads[CPUS_MAX];
	/* By CPU: sched_taker() of the context that has, or will have, its registers; 0: none.
	 * Written by the session thread. */
	_Atomic(sched_u64) takers[CPUS_MAX];
	/* Called in the session thread when a ctxsw thread has given its CPU to a taker. Must call
	 * ctxsw_given_handled() first, so that the event can be sent again. */
	void (*cpu_given)(struct task_registry *reg, struct task_event *event);
	/* Called in the session thread when a retired thread has exited; it may then free that
	 * thread. */
	void (*thread_exited)(struct task_registry *reg, struct task_event *event);
};

/* Starts the thread. The first prepare request opens what it needs of its CPU. -ENOMEM, -EAGAIN. */
int ctxsw_thread_new(
	struct ctxsw_shared *shared, unsigned cpu, struct ctxsw_thread **out, struct err *e);

/*
 * Opens the CPU and reserves what @task needs there; @event follows with the outcome in @rc and
 * @err. The ctxsw thread owns the context until then. EBUSY: a register is reserved already; ENXIO:
 * offline; EPERM: no SCHED_FIFO; EIO: the CPU lacks what the PMCs ask for; EAGAIN: the user's
 * budget is spent.
 */
struct ctxsw_prepare_req {
	struct link link;
	struct task_event event;
	/* NULL: only open the CPU, to report exits there. A CPU that has a taker is only opened,
	 * too. */
	struct task_ctx *task;
	int rc;
	struct err err;
};
void ctxsw_post_prepare(struct ctxsw_thread *ct, struct ctxsw_prepare_req *req);

/* Posts @job to this thread, which executes it or passes it to the owner of the job's context. */
void ctxsw_post(struct ctxsw_thread *ct, struct job *job);

/* Wakes the thread, which then checks what runs on its CPU. */
void ctxsw_kick(struct ctxsw_thread *ct);

/* True: the CPU has a taker in ctxsw_shared.takers, and its registers are the taker's. */
bool ctxsw_is_given(const struct ctxsw_thread *ct);
void ctxsw_given_handled(struct task_event *event);

/* Makes the thread restore the registers and exit; ctxsw_shared.thread_exited() follows. No slot
 * may be active there. */
void ctxsw_thread_retire(struct ctxsw_thread *ct);
void ctxsw_thread_free(struct ctxsw_thread *ct);
struct ctxsw_thread *ctxsw_thread_of_event(struct task_event *event);

#endif
