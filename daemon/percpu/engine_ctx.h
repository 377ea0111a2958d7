/* SPDX-License-Identifier: MIT */
/* A context as the engine manages it. */
#ifndef PERCPU_ENGINE_CTX_H
#define PERCPU_ENGINE_CTX_H

#include <assert.h>

#include "base/list.h"
#include "daemon/core/context.h"
#include "daemon/percpu/engine_stats.h"
#include "daemon/percpu/job.h"

struct task_ctx;
struct worker;

/* The state after the last command, for threads that do not own the context. */
struct engine_ctx_status {
	/* Number of changes of the context's state. */
	atomic_ullong changes;
	/* Number of notifications. */
	atomic_ullong notified;
	/* PMCs may count at kernel level: context.kernel_pmcs. */
	atomic_bool kernel_pmcs;
};

/* Callbacks of the engine for a context, in the session thread. */
struct engine_ctx_ops {
	/* The status has changed, or there are new messages. */
	void (*on_change)(struct engine_ctx *ec);
	/* A followed thread of this context has created thread @tid: creates a context for it, with
	 * the same registers. Returns NULL, and sets @e, if it cannot. */
	struct engine_ctx *(*make_child)(struct engine_ctx *ec, int tid, struct err *e);
	/* The child context could not be set up or loaded; CMD_DESTROY is submitted for the context
	 * that make_child() created. */
	void (*child_failed)(struct engine_ctx *ec, int tid, const struct err *e);
	/* The context was loaded, and the session thread owns it again; @ending: the daemon ends.
	 * NULL: not wanted. */
	void (*unloaded)(struct engine_ctx *ec, bool ending);
	/* Charges the context's user for @bytes that the daemon keeps while the context is loaded,
	 * in place of the last charge. Fails with ENOMEM. NULL: there is no limit. */
	int (*charge)(struct engine_ctx *ec, size_t bytes, struct err *e);
	/* The context's grant no longer holds, as @e says, and the context is about to be
	 * unloaded. */
	void (*revoked)(struct engine_ctx *ec, const struct err *e);
	/* After CMD_DESTROY, when no thread uses the context any more. */
	void (*destroyed)(struct engine_ctx *ec);
	/* An error that belongs to no request. */
	void (*report_error)(struct engine_ctx *ec, const struct err *e);
};

/* How a background context on a CPU gives way to others. */
struct engine_yield {
	/* It has CTX_BACKGROUND. */
	bool background;
	/* CMD_YIELD is posted, for a context on a thread if @to_thread. */
	bool asked, to_thread;
	/* It has yielded, and is in engine.yielded by loaded_entry. */
	bool done;
	/* CMD_RESUME is not to be posted before this time (CLOCK_MONOTONIC, ns). */
	uint64_t resume_after;
};

/* To be embedded. All fields without a lock or owner of their own belong to the session thread. */
struct engine_ctx {
	/* Belongs to the owner, except that the session thread takes messages from its queue. */
	struct context ctx;
	/* The owner, while the context is loaded on a CPU; NULL: the session thread. Only the
	 * session thread writes this and task. */
	struct worker *worker;
	/* Set while the context is loaded on a thread, or is about to be: see daemon/ctxsw. */
	struct task_ctx *task;
	/* The number of other contexts on threads that a load of this one has created. */
	unsigned followed;
	/* Jobs that are posted and not finished, and 1 for unloaded_event. The thread that changes
	 * it from 0 to 1 owns the context until it is 0 again. */
	atomic_uint inflight;
	/* EVENT_UNLOADED */
	struct event unloaded_event;
	/* Jobs to be submitted again when the session thread owns the context. */
	struct queue requeued;

	/* Written by the owner, read by all threads. */
	struct engine_ctx_status status;
	/* ops->on_change() is wanted: engine_watch(). */
	atomic_bool watched;
	/* EVENT_CHANGED is sent and not yet handled. */
	atomic_bool event_pending;
	/* EVENT_CHANGED */
	struct event changed_event;

	/* Set after engine_ctx_init(). */
	const struct engine_ctx_ops *ops;

	/* Part of engine.expected that is due to this context. */
	unsigned expected_events;
	/* CMD_DESTROY was submitted: nothing may follow it. */
	bool destroying;
	/* For messages about a CPU that is in use, and for `cpus`. */
	unsigned uid;
	const char *name;
	/* @user_workers: the workers charged to the user for all contexts on threads. @workers:
	 * this context's part of them, including workers for whose descriptors there would be
	 * room. */
	unsigned *user_workers;
	unsigned workers;
	/* The process that loaded the context. */
	int pid;
	struct engine_yield yield;
	/* The rights of the load on a CPU; by_grant.kernel is also set if a later command needed
	 * it. */
	struct rights rights;
	/* Entry of engine.loaded or engine.yielded. */
	struct list_head loaded_entry;
};

/* Publishes the status of @ec, then its messages. True if either has changed. Owner only. */
bool engine_ctx_publish(struct engine_ctx *ec);
/* engine_ctx_publish(), which also sends EVENT_CHANGED after a change if @ec is watched. */
void engine_ctx_changed(struct engine_ctx *ec, struct event_queue *events);

/* A job is about to be posted. */
static inline void engine_ctx_begin_job(struct engine_ctx *ec)
{
	atomic_fetch_add(&ec->inflight, 1);
}

/* Makes the caller the owner of @ec, unless a job is posted or another thread has borrowed it. */
static inline bool engine_ctx_borrow(struct engine_ctx *ec)
{
	unsigned none = 0;

	return atomic_compare_exchange_strong(&ec->inflight, &none, 1);
}

/* Ends a job, or a loan. Returns how many are left: unless there are some, @ec may be gone. */
static inline unsigned engine_ctx_release(struct engine_ctx *ec)
{
	unsigned before = atomic_fetch_sub(&ec->inflight, 1);

	assert(before);
	return before - 1;
}

/*
 * Ends a job: inflight falls by 1, and @ec may be gone after this. If the context is @unloaded and
 * this was the last job, inflight stays 1 and EVENT_UNLOADED is sent instead. So the session thread
 * finds either another job that is under way, or no thread that will use @ec again.
 */
void engine_ctx_end_job(struct engine_ctx *ec, struct event_queue *events, bool unloaded);

#endif
