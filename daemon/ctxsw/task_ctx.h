/* SPDX-License-Identifier: MIT */
/*
 * A context that is loaded on a thread. Ctxsw threads own it in turn, by the state of its slot:
 *
 *   SAVED    in memory; owned by whichever ctxsw thread locks it
 *   LOCKED   owned by a ctxsw thread that is working on it, and will save or activate it soon
 *   ACTIVE   in the registers of a CPU, where its thread runs; owned by that CPU's ctxsw thread.
 *            One that counts at user level only stays there while its thread sleeps, or has just
 *            come to another CPU, as long as no user thread comes to this one
 *
 * As no ordinary thread preempts ctxsw threads, they may spin on a locked slot. The session thread
 * touches a task_ctx only before it takes its slot and after it has left it, except for the fields
 * that are marked as its own.
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

/* One for each slot of the scheduler's (sched_shared.h), as long as the registry exists. */
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

/* The user that threads are followed for. A loaded context and all that are cloned from it share
 * one. The session thread's. */
struct requester {
	unsigned refs;
	struct credentials cred;
	struct rights rights;
	struct limits limits; /* as they were at load */
};

struct task_registry;

/* Work of the session thread that takes turns with requests: see daemon/task/task_work.c. */
struct task_work {
	/* Does parts of it, and counts *left down by one for each. True: nothing is left of it, and
	 * it may be gone. False: *left is 0. */
	bool (*some)(struct task_registry *reg, struct task_work *w, unsigned *left);
	struct list_head link; /* among its user's, while it waits */
};

/* The session thread's. */
struct task_joining {
	struct err err; /* what went wrong */
	/* All threads are attached, but some have yet to be handled: it is sent then. */
	struct task_event *attached;
};

#define RUNTIME_UNKNOWN UINT64_MAX

struct task_ctx {
	struct engine_ctx *ec;
	/* It executes the commands, as the backend has opened the thread: there is no slot, and
	 * what follows up to @budget is not used. NULL: ctxsw threads do. */
	struct worker *worker;
	/* Parent of its descendants in the tree: its own, or that of the thread that was loaded. */
	struct engine_ctx *root;
	unsigned slot;
	/* CPUs on which the thread is to be counted; runs on those without a ctxsw thread are lost
	 * counts. */
	struct cpus cpumask;
	/* The load named CPUs. */
	bool has_cpumask;
	/* CPUs of the mask that were online at load, so that they have ctxsw threads. */
	struct cpus covered;
	bool traced;
	/* Only the scheduler's program checks what the thread executes: it is not traced. */
	bool check_exec;
	/* Its thread is stopped for notify_block. The slot owner's. */
	bool blocked;
	/* The thread's runtime_out up to which its context has accounted. RUNTIME_UNKNOWN: counting
	 * begins when the context is next switched in. The slot owner's. */
	uint64_t runtime;
	/* The thread's CPU time (ns) before which no gap in its counts begins that is open, or
	 * opens next. The slot owner's. */
	uint64_t counted_until;
	/* The budget was spent: the context is not switched in before it is written or started
	 * after this time (CLOCK_MONOTONIC, ns). 0: it was not. The slot owner's. */
	uint64_t spent_until;
	/* Its user's; NULL: root's, which has no limit. */
	struct switch_budget *budget;

	/* The session thread's own. */
	pid_t tid;    /* 0: another thread has this id by now */
	pid_t tgid;   /* its process */
	bool process; /* threads of its process are followed */
	bool follow;  /* processes that it creates, and their threads, are followed */
	bool inherit; /* its registers are those of all that it creates, too */
	/* It has ended, and CMD_END waits for the last thread of the load (process, at the root).
	 */
	bool end_waits;
	/* While all threads of the process are loaded; else NULL. */
	struct task_joining *joining;
	/* Its end was asked for while it was loading. */
	bool end_due;
	/* Of a load's root: the command that is being submitted to all its threads, or NULL. */
	struct job *for_all;
	struct task_work for_all_work;
	/* The number of the last command for all threads of the load: it differs from the
	 * root's if this thread has yet to get it. */
	unsigned last_for_all;
	struct job *end_job;       /* preallocated CMD_END; NULL: it was submitted */
	struct task_work end_work; /* submits end_job */
	struct requester *requester;
	bool exited;                /* the tracer has reported it: there is nothing to detach */
	bool loading;               /* it has no slot state yet, and commands wait */
	struct queue waiting_loads; /* jobs to submit once it is freed */
	struct list_head link;      /* task_registry.tasks */
	struct hash_node tid_node;  /* task_registry.by_tid, while hashed */
	bool hashed;
	uint64_t began; /* proc_began() of a thread that is not traced; else 0 */
};

#endif
