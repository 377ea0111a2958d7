/* SPDX-License-Identifier: MIT */
/*
 * The session thread's side of following threads, from the bottom up: loads that wait for others
 * (load_queue.c), long work in turns (task_work.c), commands for all threads of a load
 * (task_for_all.c), CPUs that threads give up (task_cpus.c), users' switch budgets (task_budget.c),
 * the registry and commands (task_registry.c), contexts with registers of their own
 * (task_active.c), following a thread and handing its slot to the ctxsw threads (task_attach.c),
 * reports of the tracer (task_follow.c), and loading (task_load.c). A file calls only those before
 * it.
 */
#ifndef TASK_TASK_REGISTRY_I_H
#define TASK_TASK_REGISTRY_I_H

#include "base/hash.h"
#include "base/list.h"
#include "daemon/ctxsw/ctxsw.h"
#include "daemon/percpu/worker.h"
#include "daemon/percpu/workqueue.h"
#include "daemon/task/task_registry.h"

/* A thread that the tracer is detaching. It cannot be attached again before that is done. */
struct detaching {
	pid_t tid;
	bool late;                  /* the detach may never end: loads do not wait for it */
	struct queue waiting_loads; /* jobs to submit when it is detached */
	struct list_head link;      /* task_registry.detaching */
	struct hash_node tid_node;  /* task_registry.detaching_by_tid */
};

struct task_registry {
	struct ctxsw_shared shared;
	const struct task_registry_ops *ops;
	void *arg;
	struct executor x;      /* for contexts that ctxsw threads do not own yet */
	struct list_head tasks; /* all task_ctx */
	struct hash by_tid;
	unsigned next_slot;
	struct list_head budgets; /* all struct switch_budget */
	unsigned taker_serial;    /* serial of the newest taker of any CPU */
	struct list_head detaching;
	struct hash detaching_by_tid;
	struct list_head load_queues;
	unsigned for_all_count;      /* commands for all threads of a load */
	unsigned workers;            /* sum of engine_ctx.workers of all contexts on threads */
	struct list_head work_users; /* users with waiting work */
	struct task_event next_work; /* under way while work_users is not empty */
	struct queue exited_threads; /* ctxsw threads to free when the last one has exited */
};

/* Begins a load: 0, and load_queue_next() follows when it has ended. ENOMEM. */
typedef int load_begin(struct task_registry *reg, struct job *job, struct err *e);
/* Calls @begin for @job, now or when earlier loads of its context's owner have ended. ENOMEM. */
int load_queue_enter(struct task_registry *reg, struct job *job, load_begin *begin, struct err *e);
/* Sends the event that begins the next load of @uid. */
void load_queue_next(struct task_registry *reg, unsigned uid);
/* Submits all waiting loads. */
void load_queues_stop(struct task_registry *reg);
void load_queues_free(struct task_registry *reg);

void task_work_init(struct task_registry *reg);
void task_work_free(struct task_registry *reg);
/* Does the first parts of @w for @uid now and the rest later. If other work of this user is
 * waiting, does all of it later. */
void task_work_begin(struct task_registry *reg, unsigned uid, struct task_work *w);
/* Does all parts of @w later. */
void task_work_add(struct task_registry *reg, unsigned uid, struct task_work *w);

/* Submits a copy of @job to each other thread of the load of @root, as long work (task_work.c), and
 * then posts @job. Meanwhile, other commands for @root wait in requeued. */
void task_post_for_all(struct task_registry *reg, struct task_ctx *root, struct job *job);
/* Posts @job to the worker of @task or to a ctxsw thread, even while @task is loading. */
void task_post(struct task_registry *reg, struct task_ctx *task, struct job *job);

/* Returns the budget of @uid with a new reference. NULL: no memory. */
struct switch_budget *task_budget_get(struct task_registry *reg, unsigned uid);
/* @b may be NULL. */
void task_budget_put(struct switch_budget *b);
void task_budgets_free(struct task_registry *reg);

/* EBUSY: all of @cpus on which thread @tid may run are taken. */
int task_check_taken(
	const struct task_registry *reg, pid_t tid, const struct cpus *cpus, struct err *e);

/* The task_ctx of thread @tid, or NULL. */
struct task_ctx *task_ctx_find(struct task_registry *reg, pid_t tid);
/* Like task_ctx_find(), but skips a context whose thread has ended, and which stays loaded for what
 * that thread has created: another thread has the id by now. */
struct task_ctx *task_ctx_find_same(struct task_registry *reg, pid_t tid);
/* Makes a task_ctx for @ec, with a slot but not loaded yet. ENOMEM, ENOSPC. */
int task_ctx_new(struct task_registry *reg, struct engine_ctx *ec, pid_t tid, struct task_ctx **out,
	struct err *e);
/* Makes a task_ctx without slot or worker. ENOMEM. */
int task_ctx_add(struct task_registry *reg, struct engine_ctx *ec, pid_t tid, struct task_ctx **out,
	struct err *e);
/* Makes a task_ctx with a worker instead of a slot, for a backend that opens threads. ENOMEM,
 * EAGAIN. */
int task_ctx_new_active(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	struct task_ctx **out, struct err *e);
/* Makes a task_ctx for another thread of the load of @from, with a worker or a slot as @from has.
 * ENOSPC: its user has too many workers; ENOMEM, EAGAIN. */
int task_ctx_new_like(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	const struct task_ctx *from, struct task_ctx **out, struct err *e);
/* Posts a first load of @task, which is traced and loading, to its worker, with the rights of the
 * load's requester and before the commands that wait. The session thread calls @done, which frees
 * @task if the load has failed. @kind: one that keeps the worker. */
void task_post_load(struct task_registry *reg, struct task_ctx *task, enum job_kind kind,
	enum load_end end, struct job *own, void (*done)(struct job *own));
/* Charges the user of @ec for the memory of its worker's interrupts, in place of the previous
 * charge. ENOMEM. */
int task_charge_interrupts(struct task_registry *reg, struct engine_ctx *ec, struct err *e);
/* Charges the user of @ec for a worker and the memory of its interrupts. ENOMEM. */
int task_charge_worker(struct task_registry *reg, struct engine_ctx *ec, struct err *e);
void task_uncharge_worker(struct task_registry *reg, struct engine_ctx *ec);
/* Sets how many threads and descriptors the load of @job on @target may take; descriptors are
 * expressed as a number of workers. */
void task_measure(struct job *job, const struct target *target);
/*
 * True if the load gives threads registers of their own, so that nothing is done at context
 * switches. The context must only count, or sample by interrupts, on all CPUs, and there must be
 * workers for all threads of the load. The end of a thread is reported by the tracer or, without
 * one, by the registers.
 */
bool task_load_is_active(const struct task_registry *reg, const struct job *job);
/* EOPNOTSUPP, EINVAL, ENOSPC: @job is a load with inherit that is not possible. */
int task_check_inherit(const struct task_registry *reg, const struct job *job, struct err *e);
/* EOPNOTSUPP: @job is a load with a format that wants the user's stack, which only interrupts of
 * the thread's own registers record. */
int task_check_sampling(const struct task_registry *reg, const struct job *job, struct err *e);
/* Frees @task, and submits the loads that wait for it. */
void task_ctx_free(struct task_registry *reg, struct task_ctx *task);
/* Changes the thread id of @task, after an exec that changed it. */
void task_ctx_set_tid(struct task_registry *reg, struct task_ctx *task, pid_t tid);

/* Reads the credentials of the requester of @load. Any thread. -ENOMEM, -ESRCH, -EPERM. */
int requester_new(struct requester **out, struct job *load, struct err *e);
void requester_unref(struct requester *p);

/* Makes the ctxsw threads of all CPUs that cover @task check what runs there. */
void task_ctx_kick(struct task_registry *reg, const struct task_ctx *task);
/* Schedules one CMD_END: the thread has ended or may not be followed any more. */
void task_ctx_end(struct task_registry *reg, struct task_ctx *task);
/* True if the BPF program has seen the thread end, or revoked it. */
bool task_ctx_is_dead(const struct task_registry *reg, const struct task_ctx *task);

/* Detaches a thread. */
void task_detach(struct task_registry *reg, pid_t tid);
/* The record of thread @tid while it is being detached, or NULL. */
struct detaching *task_detaching(struct task_registry *reg, pid_t tid);
/* Changes the thread id of @d, after an exec that changed it. */
void task_detaching_set_tid(struct task_registry *reg, struct detaching *d, pid_t tid);
/* Ends the record, and submits the loads that wait for it. */
void task_detached(struct task_registry *reg, struct detaching *d);

/* Refuses the loads that wait for @d, and later loads on its thread. */
void task_detach_late(struct detaching *d);
/* Fails with EAGAIN: the detach of thread @tid is late. */
int task_refuse_late(pid_t tid, struct err *e);

/* done() of commands without a client. */
void task_job_done(struct job *job);

/* Starts missing ctxsw threads on @cpus. */
int task_start_ctxsw(struct task_registry *reg, const struct cpus *cpus, struct err *e);

unsigned task_first_cpu(const struct cpus *cpus);

/* The common part of the PMUs of @cpus, without those that are unknown; NULL: all CPUs have the
 * same PMU. */
const struct pmu *task_cpus_pmu(struct backend *be, const struct cpus *cpus);

/*
 * Following takes two steps. If one fails, the thread is not followed and its context is unchanged.
 * task_ctx_follow() follows the thread in the scheduler; the tracer has attached to it by then.
 * task_ctx_load() executes @load, and @start unless it is NULL, on the context, which no other
 * thread owns, and hands the slot to the ctxsw threads.
 */
int task_ctx_follow(struct task_registry *reg, struct task_ctx *task, struct err *e);
int task_ctx_load(struct task_registry *reg, struct task_ctx *task, struct command *load,
	struct command *start, struct err *e);
/* Gives @task, for another thread of the load of @from, what all threads of a load share. */
void task_ctx_inherit(struct task_ctx *task, const struct task_ctx *from);
/* Submits CMD_DESTROY for a context that no request has seen. */
void task_destroy_child(struct task_registry *reg, struct engine_ctx *child);
/* Submits CMD_DESTROY for all contexts of a load except the one that was loaded. */
void task_destroy_children(struct task_registry *reg, struct engine_ctx *root);
/* Makes a context in the loading phase for thread @tid of the process on which @root is being
 * loaded. task_end_join() must follow. */
int task_join(struct task_registry *reg, struct task_ctx *root, pid_t tid, struct task_ctx **out,
	struct err *e);
/* Loads @task, which ctxsw threads count, on thread @tid. A thread that has @ended gets its context
 * for the threads that it has created, whose clone events follow. */
int task_load_joined(
	struct task_registry *reg, struct task_ctx *task, pid_t tid, bool ended, struct err *e);
/* @rc is the result of the load. If that has failed, @task is freed. */
void task_end_join(struct task_registry *reg, struct task_ctx *task, int rc);

/* Ends the loading phase, in which commands wait. @rc < 0: the load has failed, and @task is freed.
 */
void task_ctx_loaded(struct task_registry *reg, struct task_ctx *task, int rc);

/* The tracer's callbacks; their argument is the registry. */
extern const struct tracer_ops task_tracer_ops;

#endif
