/* SPDX-License-Identifier: MIT */
/*
 * A context that is loaded on a thread. Ctxsw threads own it in turn, by the state of its slot:
 *
 *   SAVED    in memory; owned by whichever ctxsw thread locks it
 *   LOCKED   owned by a ctxsw thread that is working on it, and will save or activate it soon
 *   ACTIVE   in the registers of a CPU, where its thread runs; owned by that CPU's ctxsw thread.
 *            A context that counts only at user level stays there while its thread sleeps or has
 *            just come to another CPU, as long as no user thread comes to this one
 *
 * As no ordinary thread preempts ctxsw threads, they may spin on a locked slot. The session thread
 * touches a task_ctx only before the slot is SAVED for the first time and once it is FREE again,
 * except for the fields that are marked as its own.
 */
#ifndef CTXSW_TASK_CTX_H
#define CTXSW_TASK_CTX_H

#include "base/hash.h"
#include "base/list.h"
#include "daemon/percpu/engine_ctx.h"
#include "daemon/bpf/sched_shared.h"
#include "daemon/authz/target.h"
#include "daemon/ctxsw/switch_budget.h"

enum slot_state { SLOT_FREE, SLOT_SAVED, SLOT_LOCKED, SLOT_ACTIVE };

/* The daemon's part of each slot of the scheduler (sched_shared.h). Lives as long as the registry.
 */
struct task_slot {
	atomic_uint word;              /* slot_word() */
	atomic_uint missed;            /* enum slot_missed */
	atomic_bool death_reported;    /* death_event was sent */
	struct task_event death_event; /* the thread has ended or was revoked */
	struct task_ctx *task;         /* for the slot's owner and the session thread */
};

/* Why a thread ran without being counted. */
enum slot_missed { MISSED_LATE = 1 << 0 };

static inline unsigned slot_word(enum slot_state state, unsigned cpu)
{
	return cpu << 2 | state;
}

static inline enum slot_state slot_state(unsigned word)
{
	return (enum slot_state)(word & 3);
}

static inline unsigned slot_word_cpu(unsigned word)
{
	return word >> 2;
}

/* The user on whose behalf threads are followed. A loaded context and all that are cloned from it
 * share one. Belongs to the session thread. */
struct requester {
	unsigned refs;
	struct credentials cred;
	struct rights rights;
	struct limits limits; /* as they were at load */
};

struct task_registry;

/* Work of the session thread that takes turns with requests: see daemon/task/task_work.c. */
struct task_work {
	/* Does parts of the work, and decrements *left for each. True: the work is done, and @w may
	 * be freed already. False: *left is 0. */
	bool (*some)(struct task_registry *reg, struct task_work *w, unsigned *left);
	struct list_head link; /* in the list of its user, while it waits */
};

/* The loading of all threads of a process. Belongs to the session thread. */
struct task_joining {
	struct err err; /* what went wrong */
	/* Set when all threads are attached but some have yet to be handled: the event is sent
	 * then. */
	struct task_event *attached;
};

#define RUNTIME_UNKNOWN UINT64_MAX

struct task_ctx {
	struct engine_ctx *ec;
	/* Executes the commands, if the backend has opened the thread: then there is no slot, and
	 * the fields up to @budget are not used, except @root and @traced. NULL: ctxsw threads
	 * execute the commands. */
	struct worker *worker;
	/* The context under which descendants' contexts appear in the tree: @ec, or the one that
	 * was loaded. */
	struct engine_ctx *root;
	unsigned slot;
	/* CPUs on which the thread is counted. If it runs on one without a ctxsw thread, its counts
	 * are lost. */
	struct cpus cpumask;
	/* The load named CPUs. */
	bool has_cpumask;
	/* CPUs of the mask that were online at load, so that they have ctxsw threads. */
	struct cpus covered;
	bool traced;
	/* Only the BPF program checks what the thread executes, as it is not traced. */
	bool check_exec;
	/* The thread is stopped for notify_block. Belongs to the slot's owner. */
	bool blocked;
	/* The thread's runtime_out up to which the context has accounted. RUNTIME_UNKNOWN: counting
	 * begins when the context is next switched in. Belongs to the slot's owner. */
	uint64_t runtime;
	/* The thread's CPU time (ns) from which the open gap in its counts, or the next one, is
	 * measured. Belongs to the slot's owner. */
	uint64_t counted_until;
	/* How many programs the thread had executed when the context was last switched out. Belongs
	 * to the slot's owner. */
	uint32_t execs;
	/* If the budget was spent: the context is not switched in until it is written or started
	 * after this time (CLOCK_MONOTONIC, ns). 0: it was not spent. Belongs to the slot's owner.
	 */
	uint64_t spent_until;
	/* The user's switch budget; NULL: the user is root, which has no limit. */
	struct switch_budget *budget;

	/* For the session thread only. */
	pid_t tid;    /* 0: another thread has this id by now */
	pid_t tgid;   /* its process */
	bool process; /* threads of its process are followed */
	bool follow;  /* processes that it creates, and their threads, are followed */
	bool inherit; /* its registers also count what it creates */
	/* The thread has ended, and CMD_END waits for the last thread of the load. Only at the root
	 * of a process load. */
	bool end_waits;
	/* Set while all threads of the process are being loaded; else NULL. */
	struct task_joining *joining;
	/* task_ctx_end() was called while the context was loading. */
	bool end_due;
	/* At a load's root: the command that is being submitted to all threads of the load, or
	 * NULL. */
	struct job *for_all;
	struct task_work for_all_work;
	/* The number of the last command for all threads of the load. Differs from the root's while
	 * this thread has yet to get that command. */
	unsigned last_for_all;
	struct job *end_job;       /* preallocated CMD_END; NULL: it was submitted */
	struct task_work end_work; /* submits end_job */
	struct requester *requester;
	bool exited;                /* as the tracer has reported: there is nothing to detach */
	bool loading;               /* the slot has no state yet, and commands wait */
	struct queue waiting_loads; /* jobs to submit once it is freed */
	struct list_head link;      /* task_registry.tasks */
	struct hash_node tid_node;  /* task_registry.by_tid, while hashed */
	bool hashed;
	uint64_t began; /* proc_began() of a thread that is not traced; else 0 */
};

#endif
