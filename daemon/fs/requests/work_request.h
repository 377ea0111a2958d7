/* SPDX-License-Identifier: MIT */
/* Requests that take work which the session thread must not wait for: the engine's workqueue does
 * it, as work of the caller. */
#ifndef FS_WORK_REQUEST_H
#define FS_WORK_REQUEST_H

#include "daemon/fs/requests/pending_request.h"
#include "daemon/percpu/workqueue.h"

/* Embedded in what it is about, which go() or drop() frees. */
struct work_request {
	struct request request;
	struct work work;
	const struct work_kind *kind;
};

/* The last two are the session thread's, and one of them is called. */
struct work_kind {
	/* The work, in another thread. */
	void (*run)(struct work_request *r);
	/* Goes on, and answers the request. */
	void (*go)(struct work_request *r);
	/* Instead, if the answer was EINTR or ENODEV. Unless r->work.ended, it may have run. */
	void (*drop)(struct work_request *r);
};

/* Adds @r, of @bytes, to the pending requests. All but work.uid, first and may_hang is zero. An
 * error, EAGAIN or those of request_begin(): neither go() nor drop() follows. */
int work_request_begin(struct work_request *r, const struct call *call, size_t bytes,
	const struct work_kind *kind, struct err *e);

#endif
