// SPDX-License-Identifier: MIT
/*
 * The kernel reports interrupts before all requests, and killing a process may cause thousands of
 * them. So the work for each is small: libfuse, which would search all requests for it, does not
 * see it; and the answer, which wakes the interrupted thread, comes after other requests.
 */
#include "daemon/fs/requests/pending_request.h"

#include <errno.h>
#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/fs/requests/file.h"
#include "daemon/fs/tree/deferred.h"

enum {
	ANSWERS_MAX = 16, /* answers to interrupted requests, between two requests */
	INTERRUPTED_MIN = 64,
	SHORT_MAX = 1024, /* bytes of a write that takes about as long as other requests */
};

int pending_requests_init(struct pending_requests *p)
{
	pthread_mutex_init(&p->lock, NULL);
	if (hash_init(&p->delayed) < 0)
		return -ENOMEM;
	return hash_init(&p->by_unique);
}

void pending_requests_free(struct pending_requests *p)
{
	pthread_mutex_destroy(&p->lock);
	hash_free(&p->by_unique);
	hash_free(&p->delayed);
	free(p->interrupted);
}

/* The quota to charge; NULL if there is no memory. */
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
			"too many reads and writes of uid %u are waiting (limit: %d a user): end "
			"some",
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
	r->interrupt = interrupt;
	r->pending = true;
	pthread_mutex_lock(&p->lock);
	hash_add(&p->by_unique, &r->node, call->unique);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

void request_remove(struct request *r)
{
	hash_remove(&r->call.fs->pending.by_unique, &r->node);
	r->pending = false;
}

bool request_end(struct request *r)
{
	struct pending_requests *p = &r->call.fs->pending;
	bool due;

	pthread_mutex_lock(&p->lock);
	due = r->pending;
	if (due)
		request_remove(r);
	pthread_mutex_unlock(&p->lock);
	request_uncharge(r);
	return due;
}

bool request_note_interrupted(struct request *r)
{
	r->interrupted = true;
	return false;
}

/* Notes @req for an answer later, or answers at once if there is no memory. */
static void request_answer_later(struct pending_requests *p, fuse_req_t req)
{
	if (p->ninterrupted == p->room) {
		size_t room = p->room ? 2 * p->room : INTERRUPTED_MIN;
		fuse_req_t *more = realloc(p->interrupted, room * sizeof(*more));

		if (!more) {
			fuse_reply_err(req, EINTR);
			return;
		}
		p->interrupted = more;
		p->room = room;
	}
	p->interrupted[p->ninterrupted++] = req;
}

static void request_interrupt(struct pending_requests *p, uint64_t unique)
{
	fuse_req_t interrupted = NULL;
	struct hash_node *node;

	pthread_mutex_lock(&p->lock);
	node = hash_find(&p->by_unique, unique);
	if (node) {
		struct request *r = container_of(node, struct request, node);
		fuse_req_t req = r->call.req;

		if (r->interrupt && r->interrupt(r))
			interrupted = req;
	}
	pthread_mutex_unlock(&p->lock);
	if (interrupted)
		request_answer_later(p, interrupted);
}

/* A request that was read from the kernel and is processed later. */
struct delayed_request {
	struct deferred deferred;
	struct charge charge;
	/* Link in pending_requests.delayed. */
	struct hash_node node;
	/* The kernel has sent an interrupt, which it sends only once. */
	bool interrupted;
	struct fs *fs;
	struct fuse_session *se;
	char bytes[] __attribute__((aligned(8))); /* as for the structures of the kernel */
};

static void request_process_now(struct fs *fs, struct fuse_session *se, const struct fuse_buf *buf)
{
	const struct fuse_in_header *in = buf->mem;

	fs->pending.unique = in->unique;
	fuse_session_process_buf(se, buf);
}

static void request_process_delayed(struct deferred *d)
{
	struct delayed_request *delayed = container_of(d, struct delayed_request, deferred);
	struct pending_requests *p = &delayed->fs->pending;
	const struct fuse_in_header *in = (const void *)delayed->bytes;
	const struct fuse_buf buf = {.mem = delayed->bytes, .size = in->len};

	hash_remove(&p->delayed, &delayed->node);
	request_process_now(delayed->fs, delayed->se, &buf);
	/* Finds nothing if the request is answered already. */
	if (delayed->interrupted)
		request_interrupt(p, in->unique);
	charge_clear(&delayed->charge);
	free(delayed);
}

/*
 * Delays a request that takes long, so that others which have arrived are processed first: while a
 * mkdir waits, the kernel locks its directory for all users. False: it must be processed now.
 */
static bool request_delay(struct fs *fs, struct fuse_session *se, const struct fuse_buf *buf)
{
	const struct fuse_in_header *in = buf->mem;
	struct user_quota *q = user_quota_get(&fs->objects.quotas, in->uid);
	struct delayed_request *delayed = q ? malloc(sizeof(*delayed) + in->len) : NULL;
	struct err ignored;

	if (!delayed)
		return false;
	*delayed = (struct delayed_request){
		.deferred = {.quota = q, .slice = request_process_delayed},
		.charge = {.quota = q},
		.fs = fs,
		.se = se,
	};
	if (charge_set(&delayed->charge, sizeof(*delayed) + in->len + CHARGE_PIECE, &ignored) < 0) {
		free(delayed);
		return false;
	}
	memcpy(delayed->bytes, in, in->len);
	hash_add(&fs->pending.delayed, &delayed->node, in->unique);
	deferred_add(fs, &delayed->deferred);
	return true;
}

/* Whether processing @in may take much longer than reading the next request. */
static bool request_is_long(const struct fuse_in_header *in)
{
	return (in->opcode == FUSE_WRITE || in->opcode == FUSE_IOCTL) && in->len > SHORT_MAX;
}

bool requests_process(struct fs *fs, struct fuse_session *se, const struct fuse_buf *buf)
{
	const struct fuse_in_header *in = buf->mem;

	if (in->opcode == FUSE_INTERRUPT) {
		const struct fuse_interrupt_in *arg = (const void *)(in + 1);
		struct hash_node *delayed = hash_find(&fs->pending.delayed, arg->unique);

		if (delayed)
			container_of(delayed, struct delayed_request, node)->interrupted = true;
		else
			request_interrupt(&fs->pending, arg->unique);
		return false;
	}
	if (request_is_long(in) && request_delay(fs, se, buf))
		return false;
	request_process_now(fs, se, buf);
	return true;
}

bool requests_answer_interrupted(struct fs *fs)
{
	struct pending_requests *p = &fs->pending;
	unsigned n = 0;

	for (; p->ninterrupted && n < ANSWERS_MAX; n++)
		fuse_reply_err(p->interrupted[--p->ninterrupted], EINTR);
	return n;
}
