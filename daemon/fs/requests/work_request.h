/* SPDX-License-Identifier: MIT */
/* Requests that need work for which the session thread must not wait: the engine's workqueue does
 * it, as work of the caller. */
#ifndef FS_WORK_REQUEST_H
#define FS_WORK_REQUEST_H

#include "daemon/fs/requests/pending_request.h"
#include "daemon/percpu/workqueue.h"

/* Embedded in a struct of the request, which go() or drop() frees. */
struct work_request {
	struct request request;
	struct work work;
	const struct work_kind *kind;
};

/* Hooks. The session thread calls one of go() and drop(). */
struct work_kind {
	/* Does the work, in another thread. */
	void (*run)(struct work_request *r);
	/* Continues, and answers the request. */
	void (*go)(struct work_request *r);
	/* Called instead of go() if the answer was EINTR or ENODEV. Unless r->work.ended, run() may
	 * have run. */
	void (*drop)(struct work_request *r);
};

/* Adds @r, of @bytes, to the pending requests. All but work.uid, first and may_hang is zero.
 * EAGAIN, or the errors of request_begin(): neither go() nor drop() follows. */
int work_request_begin(struct work_request *r, const struct call *call, size_t bytes,
	const struct work_kind *kind, struct err *e);

#endif
