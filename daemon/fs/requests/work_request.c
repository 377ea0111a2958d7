// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/work_request.h"

#include <errno.h>

#include "daemon/engine/engine.h"

static struct work_request *work_request_of(struct work *w)
{
	return container_of(w, struct work_request, work);
}

static void work_request_run(struct work *w)
{
	struct work_request *r = work_request_of(w);

	r->kind->run(r);
}

static void work_request_drop(struct work_request *r)
{
	struct fs_context *ctx = r->request.call.ctx;

	r->kind->drop(r);
	if (ctx)
		context_unref(ctx);
}

static void work_request_done(struct work *w)
{
	struct work_request *r = work_request_of(w);
	struct fs_context *ctx = r->request.call.ctx;
	bool due = request_end(&r->request);

	if (due && w->ended)
		fuse_reply_err(r->request.call.req, ENODEV);
	if (!due || w->ended) {
		work_request_drop(r);
		return;
	}
	r->kind->go(r);
	if (ctx)
		context_unref(ctx);
}

/* Work that runs keeps its memory until it has ended. */
static bool work_request_interrupted(struct request *request)
{
	struct work_request *r = container_of(request, struct work_request, request);

	request_remove(request);
	if (!engine_cancel_work(request->call.fs->eng, &r->work))
		return true;
	request_uncharge(request);
	r->work.ended = true;
	work_request_drop(r);
	return true;
}

int work_request_begin(struct work_request *r, const struct call *call, size_t bytes,
	const struct work_kind *kind, struct err *e)
{
	int rc = request_begin(&r->request, call, bytes, work_request_interrupted, e);

	if (rc < 0)
		return rc;
	r->kind = kind;
	r->work.run = work_request_run;
	r->work.done = work_request_done;
	rc = engine_work(call->fs->eng, &r->work, e);
	if (rc < 0)
		request_end(&r->request);
	else if (call->ctx)
		context_ref(call->ctx);
	return rc;
}
