/* SPDX-License-Identifier: MIT */
/*
 * Reads that wait in the middle. The read() of a row with `waits` runs on a fiber and calls the
 * functions below with the call that it was given. Whenever a wait is over, the read continues in
 * its user's turn (deferred.h).
 *
 * If the caller is interrupted, the answer is EINTR at once. The read then gets EINTR from each
 * function, and returns as soon as it has released what it holds; call->req and call->file are no
 * longer valid.
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
	/* The fields from here on are zero at first. */
	struct await *by;
	bool ended, waiting;
};

/* Work, on the stack of the fiber that waits for it. */
struct await_work {
	/* run is the caller's to fill; the work may not hang. */
	struct work work;
	/* The fields from here on are zero at first. */
	struct await *by;
	int rc;
	struct err *err;
};

/* Calls read() of the call's row on a fiber, and answers. */
void await_read(struct call *call);

/* Has the owner of the job's context execute it. Returns job.rc: the errors of the command; EINTR.
 */
int await_job(struct call *call, struct await_job *j);
/* Has the engine's workqueue do @w, as work of the caller. ENODEV: the daemon is ending; EAGAIN;
 * ENOMEM; EINTR. */
int await_work(struct call *call, struct await_work *w, struct err *e);
/* fiber_wait() for something that neither a job nor work ends. The fiber must be
 * woken before the daemon's last events are handled. EINTR. */
int await_event(struct call *call, struct fiber_wait *w, struct err *e);
/* Serves other requests before this one. */
void await_yield(struct call *call);
/* Charges the call's user for @bytes that the read keeps besides its stack, in place of the last
 * charge. ENOMEM. */
int await_charge(struct call *call, size_t bytes, struct err *e);

#endif
