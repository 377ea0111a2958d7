// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/context_life.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/metrics_scan.h"
#include "daemon/fs/requests/msg_reader.h"
#include "daemon/fs/requests/notifier.h"
#include "daemon/fs/requests/notify.h"
#include "daemon/fs/requests/poller.h"
#include "daemon/fs/requests/smpl.h"

void context_close(struct fs_context *ctx)
{
	ctx->closed = true;
	metrics_drop(ctx);
	messages_wake(ctx);
	pollers_close(ctx, ctx->self.serial);
	notifier_drop(ctx);
}

/* Works in slices, as a user can have tens of thousands of sets. */
static void context_free_sets(struct deferred *d)
{
	enum { SETS_SLICE = 500 };
	struct fs_context *ctx = container_of(d, struct fs_context, end);

	if (object_free_sets(ctx, SETS_SLICE))
		deferred_add(fs_of(ctx), d);
	else
		context_unref(ctx);
}

void context_gone(struct engine_ctx *ec)
{
	struct fs_context *ctx = container_of(ec, struct fs_context, ec);

	/* The engine returns a child whose thread is not followed. If the daemon is ending, it is
	 * closed, but still in the tree. */
	if (object_find(ctx->objs, ctx->self.serial))
		object_remove(ctx->objs, ctx);
	if (!ctx->closed)
		context_close(ctx);
	smpl_free(take_ptr(&ctx->smpl));
	shared_unref(take_ptr(&ctx->set0.live));
	shared_unref(take_ptr(&ctx->map.region));
	shared_sweep(&fs_of(ctx)->memory);
	ctx->end = (struct deferred){.quota = ctx->id.quota, .slice = context_free_sets};
	/* A context without sets stops counting towards user_contexts_max at once. */
	if (ctx->sets.n)
		deferred_begin(fs_of(ctx), &ctx->end);
	else
		context_free_sets(&ctx->end);
}

static int context_copy_sets(const struct fs_context *from, struct fs_context *to, struct err *e)
{
	for (unsigned i = 0; i < from->sets.n; i++) {
		struct object *set;

		if (object_set_reserve(to, (uint16_t)from->sets.set[i]->set, &set, e) < 0)
			return -e->no;
		object_set_insert(to->objs, set);
	}
	return 0;
}

static int context_make(struct fs_context *parent, int tid, struct fs_context **out, struct err *e)
{
	struct fs *fs = fs_of(parent);

	if (context_check_closed(parent, e) < 0 || object_make_child(parent, tid, out, e) < 0)
		return -e->no;
	atomic_store(&(*out)->flags, atomic_load(&parent->flags));
	(*out)->ec.pid = parent->ec.pid;
	if (context_copy_sets(parent, *out, e) < 0 || smpl_copy(fs, parent, *out, e) < 0) {
		context_gone(&(*out)->ec);
		return -e->no;
	}
	return 0;
}

/* Threads of all generations become children of the context whose load began to follow. */
static struct engine_ctx *context_make_child(struct engine_ctx *ec, int tid, struct err *e)
{
	struct fs_context *from = container_of(ec, struct fs_context, ec), *child;
	struct fs_context *parent = from->parent ? from->parent : from;

	return context_make(parent, tid, &child, e) < 0 ? NULL : &child->ec;
}

/* No request is under way that could fail, so only last_error shows the error. */
static void context_child_failed(struct engine_ctx *ec, int tid, const struct err *e)
{
	struct fs_context *ctx = container_of(ec, struct fs_context, ec);
	struct err prefixed = *e;

	err_prefix(&prefixed, "thread %d is not followed", tid);
	context_set_error(ctx, &prefixed);
	atomic_fetch_add(&ctx->missed, 1);
}

static void context_report_error(struct engine_ctx *ec, const struct err *e)
{
	context_set_error(container_of(ec, struct fs_context, ec), e);
}

static void context_revoked(struct engine_ctx *ec, const struct err *e)
{
	struct fs_context *ctx = container_of(ec, struct fs_context, ec);

	audit_unload_asked(ctx, "revoked", NULL);
	context_set_error(ctx, e);
}

static int context_charge(struct engine_ctx *ec, size_t bytes, struct err *e)
{
	return charge_set(&container_of(ec, struct fs_context, ec)->id.loaded_charge, bytes, e);
}

const struct engine_ctx_ops context_life_ops = {
	.on_change = notify_event,
	.make_child = context_make_child,
	.child_failed = context_child_failed,
	.report_error = context_report_error,
	.unloaded = audit_unloaded,
	.charge = context_charge,
	.revoked = context_revoked,
	.destroyed = context_gone,
};

/* The removal of a context and its children, of which there may be thousands. */
struct removal {
	struct deferred turns;
	struct fs_context *ctx;
	/* The request to answer when all contexts are gone, or NULL. */
	fuse_req_t req;
	/* Contexts that are not gone yet, plus 1 while more are taken out of the tree. */
	atomic_uint left;
	/* The number of victims. */
	unsigned n;
	struct victim {
		struct job job;
		struct fs_context *ctx;
		struct removal *removal;
	} victims[];
};

static void context_removal_put(struct removal *r)
{
	if (atomic_fetch_sub(&r->left, 1) != 1)
		return;
	if (r->req)
		fuse_reply_err(r->req, 0);
	free(r);
}

static void context_removed(struct job *job)
{
	struct victim *v = container_of(job, struct victim, job);

	if (job->rc < 0)
		fprintf(stderr, "perfmonfs: context %s: %s\n", v->ctx->id.path, job->err.text);
	context_unref(v->ctx);
	context_removal_put(v->removal);
}

static void context_take_out(struct removal *r, struct fs_context *ctx)
{
	audit_unload_asked(ctx, r->req ? "rmdir" : "close", r->req);
	object_remove(ctx->objs, ctx);
	context_close(ctx);
}

static void context_end(struct removal *r, struct fs_context *ctx)
{
	struct victim *v = &r->victims[r->n++];

	context_ref(ctx);
	*v = (struct victim){
		.job =
			{
				.ec = &ctx->ec,
				.cmd.verb = CMD_DESTROY,
				.pid = r->req ? fuse_req_ctx(r->req)->pid : 0,
				.done = context_removed,
			},
		.ctx = ctx,
		.removal = r,
	};
	atomic_fetch_add(&r->left, 1);
	engine_submit(ctx->objs->eng, &v->job);
}

/* The parent ends last, so no child is left without it. During rmdir, the kernel lets no other
 * context be made or removed, so the removal does not wait for its user's other work. */
static void context_end_some(struct deferred *d)
{
	enum { CONTEXTS_SLICE = 64 };
	struct removal *r = container_of(d, struct removal, turns);
	struct list_head *children = &r->ctx->children;

	for (unsigned n = 0; n < CONTEXTS_SLICE && !list_empty(children); n++) {
		struct fs_context *child = list_entry(children->prev, struct fs_context, sibling);

		context_take_out(r, child);
		context_end(r, child);
	}
	if (!list_empty(children)) {
		deferred_go_on(fs_of(r->ctx), d);
		return;
	}
	context_end(r, r->ctx);
	context_removal_put(r);
}

/* A closed context gets no more children. */
int context_destroy(struct fs_context *ctx, fuse_req_t req)
{
	unsigned n = 1 + list_count(&ctx->children);
	struct removal *r = malloc(sizeof(*r) + n * sizeof(r->victims[0]));

	if (!r)
		return -ENOMEM;
	r->turns = (struct deferred){.quota = ctx->id.quota, .slice = context_end_some};
	r->ctx = ctx;
	r->req = req;
	atomic_init(&r->left, 1);
	r->n = 0;
	context_take_out(r, ctx);
	context_end_some(&r->turns);
	return 0;
}
