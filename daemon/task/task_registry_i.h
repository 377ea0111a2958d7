/* SPDX-License-Identifier: MIT */
/*
 * The session thread's side of following threads, from the bottom up: loads that wait for others
 * (load_queue.c), long work in turns (task_work.c), commands for all threads of a load
 * (task_for_all.c), CPUs that threads give up
 * (task_cpus.c), users' switch budgets (task_budget.c), the registry and commands
 * (task_registry.c), contexts with registers of their own (task_active.c), following a thread and
 * giving up its slot to the ctxsw threads (task_attach.c), what the tracer reports (task_follow.c),
 * and loading (task_load.c). A file calls only those before it.
 */
#ifndef TASK_TASK_REGISTRY_I_H
#define TASK_TASK_REGISTRY_I_H

#include "base/hash.h"
#include "base/list.h"
#include "daemon/ctxsw/ctxsw.h"
#include "daemon/percpu/worker.h"
#include "daemon/percpu/workqueue.h"
#include "daemon/task/task_registry.h"

/* A thread that the tracer is detaching: until then it cannot be attached again. */
struct detaching {
	pid_t tid;
	bool late;                  /* it may take for ever: loads do not wait */
	struct queue waiting_loads; /* jobs to submit then */
	struct list_head link;      /* task_registry.detaching */
	struct hash_node tid_node;  /* task_registry.detaching_by_tid */
};

struct task_load_op;

struct task_registry {
	struct ctxsw_shared shared;
	const struct task_registry_ops *ops;
	void *arg;
	struct executor x;      /* for contexts that are not the ctxsw threads' yet */
	struct list_head tasks; /* all task_ctx */
	struct hash by_tid;
	unsigned next_slot;
	struct list_head budgets; /* all struct switch_budget */
	unsigned taker_serial;    /* of the newest taker of any CPU */
	struct list_head detaching;
	struct hash detaching_by_tid;
	struct list_head load_queues;
	/* The load that is submitted again, as its lookup has ended. */
	struct task_load_op *looked_up;
	unsigned for_all_count;      /* commands for all threads of a load */
	unsigned workers;            /* those of all engine_ctx on threads */
	struct list_head work_users; /* users with work that waits */
	struct task_event next_work; /* is sent while there are any */
	struct queue exited_threads; /* ctxsw threads to free when the last one has exited */
};

/* 1: @job is to be loaded now, which load_queue_next() ends. 0: it is submitted again later, when
 * an earlier load of its context's owner has ended. ENOMEM. */
int load_queue_enter(struct task_registry *reg, struct job *job, struct err *e);
/* Has the next load of @uid begin later. */
void load_queue_next(struct task_registry *reg, unsigned uid);
/* Submits all that wait. */
void load_queues_stop(struct task_registry *reg);
void load_queues_free(struct task_registry *reg);

void task_work_init(struct task_registry *reg);
void task_work_free(struct task_registry *reg);
/* Does the first parts of @w, work of @uid, unless others of this user wait; and the rest later. */
void task_work_begin(struct task_registry *reg, unsigned uid, struct task_work *w);
/* Does all of it later. */
void task_work_add(struct task_registry *reg, unsigned uid, struct task_work *w);

/* Submits a copy of @job to the other threads of the load of @root, and then posts @job: long work.
 * Meanwhile, other commands for @root wait in requeued. */
void task_post_for_all(struct task_registry *reg, struct task_ctx *root, struct job *job);
/* Has the worker of @task, or a ctxsw thread, execute @job, even while it is loading. */
void task_post(struct task_registry *reg, struct task_ctx *task, struct job *job);

/* The budget of @uid, with a reference. NULL: no memory. */
struct switch_budget *task_budget_get(struct task_registry *reg, unsigned uid);
/* @b may be NULL. */
void task_budget_put(struct switch_budget *b);
void task_budgets_free(struct task_registry *reg);

/* EBUSY: those of @cpus that thread @tid may run on are all taken. */
int task_check_taken(
	const struct task_registry *reg, pid_t tid, const struct cpus *cpus, struct err *e);

/* The task_ctx of thread @tid, or NULL. */
struct task_ctx *task_ctx_find(struct task_registry *reg, pid_t tid);
/* The same, but not one whose thread has ended, and which is loaded for what that has created:
 * another thread has the number by now. */
struct task_ctx *task_ctx_find_same(struct task_registry *reg, pid_t tid);
/* Makes one for @ec, with a slot, but not loaded. ENOMEM, ENOSPC. */
int task_ctx_new(struct task_registry *reg, struct engine_ctx *ec, pid_t tid, struct task_ctx **out,
	struct err *e);
/* The same without slot or worker. ENOMEM. */
int task_ctx_add(struct task_registry *reg, struct engine_ctx *ec, pid_t tid, struct task_ctx **out,
	struct err *e);
/* The same with a worker instead of a slot: the backend opens threads. ENOMEM, EAGAIN. */
int task_ctx_new_active(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	struct task_ctx **out, struct err *e);
/* One for another thread of the load of @from, with a worker or a slot as that has. ENOSPC: its
 * user has too many workers; ENOMEM, EAGAIN. */
int task_ctx_new_like(struct task_registry *reg, struct engine_ctx *ec, pid_t tid,
	const struct task_ctx *from, struct task_ctx **out, struct err *e);
/* Has the worker of @task, which is traced and loading, load or start it for the load's requester,
 * before the commands that wait. @done is called by the session thread, and frees @task if the load
 * has failed. */
void task_post_load(struct task_registry *reg, struct task_ctx *task, enum load_end end,
	struct job *own, void (*done)(struct job *own));
void task_post_start(struct task_registry *reg, struct task_ctx *task, struct job *own,
	void (*done)(struct job *own));
/* Charges the user of @ec for the memory of its worker's interrupts, instead of what it was charged
 * for before. ENOMEM. */
int task_charge_interrupts(struct task_registry *reg, struct engine_ctx *ec, struct err *e);
/* The same, and for a worker. */
int task_charge_worker(struct task_registry *reg, struct engine_ctx *ec, struct err *e);
void task_uncharge_worker(struct task_registry *reg, struct engine_ctx *ec);
/* Notes how many threads and descriptors the load of @job on @target may take, the latter as a
 * number of workers. */
void task_measure(struct job *job, const struct target *target);
/*
 * The registers are to be the thread's own: nothing is done at its switches. The context only
 * counts, or samples by interrupts, on all CPUs, and there are workers for all threads of the load.
 * The tracer reports the end, or without one the registers do.
 */
bool task_load_is_active(const struct task_registry *reg, const struct job *job);
/* EOPNOTSUPP, EINVAL, ENOSPC: @job is a load with inherit, which is not possible. */
int task_check_inherit(const struct task_registry *reg, const struct job *job, struct err *e);
/* Frees it, and submits the loads that wait for it. */
void task_ctx_free(struct task_registry *reg, struct task_ctx *task);
/* After an exec that changed the thread's id. */
void task_ctx_set_tid(struct task_registry *reg, struct task_ctx *task, pid_t tid);

/* For any thread. -ENOMEM, -ESRCH, -EPERM. */
int requester_new(struct requester **out, struct job *load, struct err *e);
void requester_unref(struct requester *p);

/* Has the ctxsw threads of all covered CPUs check what runs there. */
void task_ctx_kick(struct task_registry *reg, const struct task_ctx *task);
/* Has CMD_END submitted, once: the thread has ended or may not be followed any more. */
void task_ctx_end(struct task_registry *reg, struct task_ctx *task);
/* The scheduler has seen the thread end, or revoked it. */
bool task_ctx_is_dead(const struct task_registry *reg, const struct task_ctx *task);

/* Detaches a thread. */
void task_detach(struct task_registry *reg, pid_t tid);
/* Its record while that takes, or NULL. */
struct detaching *task_detaching(struct task_registry *reg, pid_t tid);
/* After an exec that changed the thread's id. */
void task_detaching_set_tid(struct task_registry *reg, struct detaching *d, pid_t tid);
/* Ends the record, and submits the loads that wait for it. */
void task_detached(struct task_registry *reg, struct detaching *d);

/* Refuses the loads that wait for it, and later ones. */
void task_detach_late(struct detaching *d);
/* EAGAIN, for a thread that is detached late. */
int task_refuse_late(pid_t tid, struct err *e);

/* done() of commands without a client. */
void task_job_done(struct job *job);

/* Starts missing ctxsw threads on @cpus. */
int task_start_ctxsw(struct task_registry *reg, const struct cpus *cpus, struct err *e);

unsigned task_first_cpu(const struct cpus *cpus);

/* What those of @cpus have in common whose PMU is known; NULL: all CPUs have the same PMU. */
const struct pmu *task_cpus_pmu(struct backend *be, const struct cpus *cpus);

/*
 * Following takes two steps; if one fails, the thread is not followed, and its context as it was.
 * task_ctx_follow() follows the thread in the scheduler; the tracer has attached to it by then.
 * task_ctx_load() executes @load, and @start unless it is NULL, on the context, which no other
 * thread owns, and hands the slot to the ctxsw threads.
 */
int task_ctx_follow(struct task_registry *reg, struct task_ctx *task, struct err *e);
int task_ctx_load(struct task_registry *reg, struct task_ctx *task, struct command *load,
	struct command *start, struct err *e);
/* Makes a task_ctx of a context for another thread of the load of @from. */
void task_ctx_inherit(struct task_ctx *task, const struct task_ctx *from);
/* Submits CMD_DESTROY for a context that no request has seen. */
void task_destroy_child(struct task_registry *reg, struct engine_ctx *child);
/* The same for all contexts of a load but the one that was loaded. */
void task_destroy_children(struct task_registry *reg, struct engine_ctx *root);
/* Makes a context, which is loading, for thread @tid of the process that @root is being loaded on;
 * task_load_join() or task_end_join() follows. */
int task_join(struct task_registry *reg, struct task_ctx *root, pid_t tid, struct task_ctx **out,
	struct err *e);
/* Loads it on the thread. One that has @ended gets it for those that it has created, whose clone
 * events follow. 1: its worker does it, and @done is called. */
int task_load_join(struct task_registry *reg, struct task_ctx *root, struct task_ctx *task,
	pid_t tid, bool ended, struct job *own, void (*done)(struct job *own), struct err *e);
/* @rc is that of the load. If it has failed, @task is freed. */
void task_end_join(struct task_registry *reg, struct task_ctx *task, int rc);

/* Ends the loading phase, in which commands wait. @rc < 0: it has failed, and @task is freed. */
void task_ctx_loaded(struct task_registry *reg, struct task_ctx *task, int rc);

/* What the tracer calls, with the registry as argument. */
extern const struct tracer_ops task_tracer_ops;

#endif
