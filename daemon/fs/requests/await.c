// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/await.h"

#include <errno.h>

#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/pending_request.h"
#include "daemon/fs/tree/deferred.h"

/* Bytes to charge for a request on a fiber: as for others that wait, so that a user whose memory is
 * short can still make and use a context. Its stack takes up to 16 KiB more; REQUESTS_PER_USER
 * limits how many there are. */
enum { AWAIT_BYTES = 2048 };

/* A request on a fiber. It lies on the fiber's stack. */
struct await {
	struct request request;
	/* Ends the current wait. */
	struct deferred deferred;
	struct fiber_wait wait;
	/* The job or the work of the current wait; NULL: none. */
	struct await_job *job;
	struct work *work;
};

static struct await *await_of(struct call *call)
{
	return container_of(call, struct await, request.call);
}

/*
 * The answer is EINTR, although the fiber goes on until its wait is over. If a command that changes
 * something is being executed, its result is the answer. A thread that gets no signal must not get
 * EINTR: the stop by the tracer waits for the answer.
 */
static bool await_interrupt(struct request *request)
{
	struct await *a = container_of(request, struct await, request);

	if (a->job && engine_interrupts(request->call.fs->eng, &a->job->job))
		return false;
	if (a->job && !engine_cancel(&a->job->job) && a->job->follow)
		return request_note_interrupted(request);
	request_remove(request);
	if (a->work && engine_cancel_work(request->call.fs->eng, a->work))
		deferred_add(request->call.fs, &a->deferred);
	return true;
}

static void await_continue(struct deferred *d)
{
	fiber_wake(&container_of(d, struct await, deferred)->wait);
}

/* Waits for a->deferred. */
static void await_slice(struct await *a)
{
	a->wait = (struct fiber_wait){0};
	fiber_wait(&a->wait);
}

static int await_check(const struct await *a, struct err *e)
{
	return a->request.pending && !a->request.interrupted
		       ? 0
		       : err_set(e, EINTR, "the request was interrupted");
}

int await_yield(struct call *call, struct err *e)
{
	struct await *a = await_of(call);

	deferred_add(call->fs, &a->deferred);
	await_slice(a);
	return await_check(a, e);
}

int await_event(struct call *call, struct fiber_wait *w, struct err *e)
{
	fiber_wait(w);
	return await_yield(call, e);
}

void await_wake(void *wait)
{
	fiber_wake(wait);
}

static void await_job_done(struct job *job)
{
	struct await_job *j = container_of(job, struct await_job, job);

	if (j->follow)
		j->follow(j);
	j->ended = true;
	if (j->waiting)
		deferred_add(j->by->request.call.fs, &j->by->deferred);
}

int await_job(struct call *call, struct await_job *j)
{
	struct await *a = await_of(call);
	struct job *job = &j->job;

	job->rc = await_check(a, &job->err);
	if (job->rc < 0)
		return job->rc;
	j->by = a;
	job->pid = fuse_req_ctx(call->req)->pid;
	job->session_done = true;
	job->done = await_job_done;
	engine_submit(call->fs->eng, job);
	if (j->ended)
		return job->rc;
	j->waiting = true;
	a->job = j;
	await_slice(a);
	a->job = NULL;
	return job->rc;
}

/* The work may be done by the thread that submits it, when the daemon ends. */
static void await_submit(void *arg)
{
	struct await_work *w = arg;

	w->rc = engine_work(w->by->request.call.fs->eng, &w->work, w->err);
}

/* The thread that hangs goes on using the stack, so the fiber stays as it is. */
static void await_abandon(struct await *a)
{
	struct call *call = &a->request.call;

	if (request_end(&a->request))
		fuse_reply_err(call->req, ENODEV);
	if (call->ctx)
		context_unref(call->ctx);
}

static void await_work_done(struct work *work)
{
	struct await *a = container_of(work, struct await_work, work)->by;

	if (work->hangs)
		await_abandon(a);
	else
		deferred_add(a->request.call.fs, &a->deferred);
}

int await_work(struct call *call, struct await_work *w, struct err *e)
{
	struct await *a = await_of(call);

	w->by = a;
	w->err = e;
	w->rc = await_check(a, e);
	if (w->rc < 0)
		return w->rc;
	w->work.uid = fuse_req_ctx(call->req)->uid;
	w->work.done = await_work_done;
	fiber_outside(await_submit, w);
	if (w->rc < 0)
		return w->rc;
	a->work = &w->work;
	await_slice(a);
	a->work = NULL;
	if (await_check(a, e) < 0)
		return -EINTR;
	return w->work.ended ? err_set(e, ENODEV, "the daemon is shutting down") : 0;
}

int await_charge(struct call *call, size_t bytes, struct err *e)
{
	return charge_set(&await_of(call)->request.charge, AWAIT_BYTES + bytes, e);
}

void await_ignore_interrupts(struct call *call)
{
	await_of(call)->request.interrupt = NULL;
}

/* What a new fiber is given, by a function that returns at the fiber's first wait. */
struct await_beginning {
	const struct call *call;
	await_fn *fn;
	void *arg;
	int rc;
	struct err *err;
};

static void await_main(void *arg)
{
	struct await_beginning *b = arg;
	struct await a = {.deferred.slice = await_continue};
	struct call *call = &a.request.call;

	b->rc = request_begin(&a.request, b->call, AWAIT_BYTES, await_interrupt, b->err);
	if (b->rc < 0)
		return;
	a.deferred.quota = a.request.charge.quota;
	if (call->ctx)
		context_ref(call->ctx);
	b->fn(call, b->arg);
	if (call->ctx)
		context_unref(call->ctx);
}

int await_start(const struct call *call, await_fn *fn, void *arg, struct err *e)
{
	struct await_beginning b = {.call = call, .fn = fn, .arg = arg, .err = e};

	return fiber_start(await_main, &b, e) < 0 ? -e->no : b.rc;
}

bool await_end(struct call *call)
{
	return request_end(&await_of(call)->request);
}

/* The answer to an interrupt has no sentence. False: the request was answered. */
static bool await_answers(struct call *call, int rc)
{
	bool due = await_end(call), interrupted = rc == -EINTR;

	if (due && interrupted)
		fuse_reply_err(call->req, EINTR);
	return due && !interrupted;
}

/* Reads of a user that has long work under way wait for their turn. */
static void await_read_row(struct call *call, void *arg)
{
	TEXT_CLEANUP struct text out = {0};
	struct await *a = await_of(call);
	struct err e;
	int rc = 0;

	(void)arg;
	if (!list_empty(&a->deferred.quota->deferred))
		rc = await_yield(call, &e);
	if (rc == 0)
		rc = call->node.row->read(call, &out, &e);
	if (await_answers(call, rc))
		call_read_done(call, rc, &out, &e);
}

void await_read(struct call *call)
{
	struct err e;

	if (await_start(call, await_read_row, NULL, &e) < 0)
		call_fail(call, &e);
}

static void await_store_row(struct call *call, void *arg)
{
	const struct slice *text = arg;
	struct err e = {0};
	int rc = call->node.row->store(call, *text, &e);

	if (await_answers(call, rc))
		call_write_done(call, rc, &e);
}

void await_store(struct call *call, struct slice text)
{
	struct err e;

	if (await_start(call, await_store_row, &text, &e) < 0)
		call_fail(call, &e);
}
