/* SPDX-License-Identifier: MIT */
/*
 * Requests that wait in the middle: await_start() runs a function on a fiber, which calls the
 * functions below with the call that it was given. Whenever a wait is over, the function continues
 * in its user's turn (deferred.h).
 *
 * If the caller is interrupted, the answer is EINTR at once, unless a command that changes
 * something is being executed: its result comes first. The function then gets EINTR from each wait,
 * and returns as soon as it has released what it holds; call->req and call->file may no longer be
 * valid.
 */
#ifndef FS_AWAIT_H
#define FS_AWAIT_H

#include "daemon/engine/engine.h"
#include "daemon/fiber/fiber.h"
#include "daemon/fs/tree/node.h"
#include "daemon/percpu/workqueue.h"

struct await;

/* A job, on the stack of the fiber that waits for it. */
struct await_job {
	/* ec and cmd are the caller's to fill. */
	struct job job;
	/* For a command that changes something: called as soon as it was executed, when the
	 * context cannot be gone yet. NULL: it only reads. */
	void (*follow)(struct await_job *j);
	/* The fields from here on are zero at first. */
	struct await *by;
	bool ended, waiting;
};

/* Work, on the stack of the fiber that waits for it. */
struct await_work {
	/* run, first and may_hang are the caller's to fill. If the work hangs when the daemon ends,
	 * the answer is ENODEV, and the fiber never goes on. */
	struct work work;
	/* The fields from here on are zero at first. */
	struct await *by;
	int rc;
	struct err *err;
};

/* What await_start() runs. @arg, and what the call points to, are valid until the first wait. It
 * calls await_end(), and answers the request if that returns true. */
typedef void await_fn(struct call *call, void *arg);

/* Calls @fn with a copy of @call on a fiber. ENOMEM, ENOSPC: @fn was not called. */
int await_start(const struct call *call, await_fn *fn, void *arg, struct err *e);
/* The waits are over. Returns false if the answer was EINTR. */
bool await_end(struct call *call);

/* Calls read() or store() of the call's row, which has ROW_WAITS, on a fiber, and answers. */
void await_read(struct call *call);
void await_store(struct call *call, struct slice text);

/* Has the owner of the job's context execute it. Returns job.rc: the errors of the command; EINTR.
 */
int await_job(struct call *call, struct await_job *j);
/* Has the engine's workqueue do @w, as work of the caller. ENODEV: the daemon is ending; EAGAIN;
 * ENOMEM; EINTR. */
int await_work(struct call *call, struct await_work *w, struct err *e);
/* fiber_wait() for something that neither a job nor work ends. The fiber must be
 * woken before the daemon's last events are handled. EINTR. */
int await_event(struct call *call, struct fiber_wait *w, struct err *e);
/* Ends a wait of await_event(), as a callback: @wait is a struct fiber_wait. */
void await_wake(void *wait);
/* Serves other requests before this one. EINTR. */
int await_yield(struct call *call, struct err *e);
/* From here on, the caller is not interrupted: the request takes effect. */
void await_ignore_interrupts(struct call *call);
/* Charges the call's user for @bytes that the request keeps besides its stack, in place of the last
 * charge. ENOMEM. */
int await_charge(struct call *call, size_t bytes, struct err *e);

#endif
