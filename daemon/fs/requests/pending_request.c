// SPDX-License-Identifier: MIT
/*
 * libfuse reports an interrupt while it holds locks of its own, with the pointer that it was given,
 * which may be stale by then. So the pointer is a number: it is noted, and the session loop looks
 * it up outside of libfuse.
 */
#include "daemon/fs/requests/pending_request.h"

#include <errno.h>

#include "daemon/fs/requests/file.h"

static void request_note_id(fuse_req_t req, void *data)
{
	struct fs *fs = fuse_req_userdata(req);
	struct pending_requests *p = &fs->pending;

	if (p->ninterrupted < sizeof(p->interrupted) / sizeof(p->interrupted[0]))
		p->interrupted[p->ninterrupted++] = (uint64_t)(uintptr_t)data;
}

/* NULL: no memory. */
static struct user_quota *request_quota(const struct call *call)
{
	if (call->ctx)
		return call->ctx->id.quota;
	if (call->file)
		return call->file->charge.quota;
	return user_quota_get(&call->fs->objects.quotas, fuse_req_ctx(call->req)->uid);
}

static int request_charge(struct request *r, const struct call *call, size_t bytes, struct err *e)
{
	struct user_quota *q = request_quota(call);

	if (!q)
		return err_set(e, ENOMEM, "no memory");
	if (q->uid && atomic_load(&q->requests) >= REQUESTS_PER_USER)
		return err_set(e, ENOSPC,
			"too many reads and writes of uid %u wait: end some (limit: %d a user)",
			(unsigned)q->uid, REQUESTS_PER_USER);
	r->charge = (struct charge){.quota = q};
	if (charge_set(&r->charge, bytes + CHARGE_PIECE, e) < 0)
		return -e->no;
	atomic_fetch_add(&q->requests, 1);
	return 0;
}

void request_uncharge(struct request *r)
{
	atomic_fetch_sub(&r->charge.quota->requests, 1);
	charge_clear(&r->charge);
}

int request_begin(struct request *r, const struct call *call, size_t bytes,
	bool (*interrupt)(struct request *r), struct err *e)
{
	struct pending_requests *p = &call->fs->pending;

	if (request_charge(r, call, bytes, e) < 0)
		return -e->no;
	r->call = *call;
	r->id = ++p->last_id;
	r->interrupt = interrupt;
	pthread_mutex_lock(&p->lock);
	list_add(&r->link, &p->list);
	pthread_mutex_unlock(&p->lock);
	if (interrupt)
		fuse_req_interrupt_func(call->req, request_note_id, (void *)(uintptr_t)r->id);
	return 0;
}

bool request_end(struct request *r)
{
	struct pending_requests *p = &r->call.fs->pending;
	bool due;

	pthread_mutex_lock(&p->lock);
	due = !list_empty(&r->link);
	list_del(&r->link);
	pthread_mutex_unlock(&p->lock);
	request_uncharge(r);
	return due;
}

bool request_note_interrupted(struct request *r)
{
	r->interrupted = true;
	return false;
}

static void request_interrupt_one(struct fs *fs, uint64_t id)
{
	fuse_req_t interrupted = NULL;
	struct request *r;

	pthread_mutex_lock(&fs->pending.lock);
	list_for_each_entry (r, &fs->pending.list, link) {
		fuse_req_t req = r->call.req;

		if (r->id != id)
			continue;
		if (r->interrupt(r))
			interrupted = req;
		break;
	}
	pthread_mutex_unlock(&fs->pending.lock);
	if (interrupted)
		fuse_reply_err(interrupted, EINTR);
}

void requests_interrupt(struct fs *fs)
{
	while (fs->pending.ninterrupted)
		request_interrupt_one(fs, fs->pending.interrupted[--fs->pending.ninterrupted]);
}
