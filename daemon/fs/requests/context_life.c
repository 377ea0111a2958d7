// SPDX-License-Identifier: MIT
/*
 * The contexts of threads that a followed thread makes: as their parent, but each its own. They
 * come when the engine asks for them, in the session thread, and go one by one or with the parent.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int copy_sets(const struct fs_context *from, struct fs_context *to, struct err *e)
{
	for (unsigned i = 0; i < from->nsets; i++) {
		struct object *set;

		if (object_set_reserve(to, (uint16_t)from->sets[i]->set, &set, e) < 0)
			return -e->no;
		object_set_insert(to->objs, set);
	}
	return 0;
}

static int make(struct fs_context *parent, int tid, struct fs_context **out, struct err *e)
{
	struct fs *fs = link_entry(parent->objs, struct fs, objects);

	if (parent->closed)
		return err_set(e, ENODEV, "the context is being removed");
	if (object_make_child(parent, tid, out, e) < 0)
		return -e->no;
	atomic_store(&(*out)->flags, atomic_load(&parent->flags));
	if (copy_sets(parent, *out, e) < 0 || smpl_copy(fs, parent, *out, e) < 0) {
		(*out)->tenant.gone(&(*out)->tenant);
		return -e->no;
	}
	return 0;
}

/* All descendants are children of the one that was told to follow. */
struct tenant *context_child(struct tenant *t, int tid, struct err *e)
{
	struct fs_context *from = link_entry(t, struct fs_context, tenant), *child;
	struct fs_context *parent = from->parent ? from->parent : from;

	return make(parent, tid, &child, e) < 0 ? NULL : &child->tenant;
}

/* Nobody has asked for it, so nobody is answered: the sentence is all that tells of it. */
void context_unfollowed(struct tenant *t, int tid, const struct err *e)
{
	struct fs_context *ctx = link_entry(t, struct fs_context, tenant);
	struct err told = *e;

	err_prefix(&told, "thread %d is not followed", tid);
	context_set_error(ctx, &told);
	atomic_fetch_add(&ctx->missed, 1);
}

void context_trouble(struct tenant *t, const struct err *e)
{
	context_set_error(link_entry(t, struct fs_context, tenant), e);
}

/* The end of a context and of its children with it: rmdir is answered when all are gone. */
struct removal {
	fuse_req_t req;
	atomic_uint left;
	struct victim {
		struct job job;
		struct fs_context *ctx;
		struct removal *removal;
	} victims[];
};

static void victim_done(struct job *job)
{
	struct victim *v = link_entry(job, struct victim, job);
	struct removal *r = v->removal;

	if (job->rc < 0)
		fprintf(stderr, "perfmonfs: context %s: %s\n", v->ctx->path, job->err.text);
	context_unref(v->ctx);
	if (atomic_fetch_sub(&r->left, 1) != 1)
		return;
	if (r->req)
		fuse_reply_err(r->req, 0);
	free(r);
}

/* The last child comes first: who is removed has none. */
static void take_out(struct fs_context *whole, struct removal *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct fs_context *ctx = whole->children.last;

		if (!ctx)
			ctx = whole;
		context_ref(ctx);
		r->victims[i] = (struct victim){
			.job =
				{
					.tenant = &ctx->tenant,
					.cmd.verb = CMD_DESTROY,
					.pid = r->req ? fuse_req_ctx(r->req)->pid : 0,
					.done = victim_done,
				},
			.ctx = ctx,
			.removal = r,
		};
		object_remove(ctx->objs, ctx);
		context_close(ctx);
	}
}

int context_destroy(struct fs_context *ctx, fuse_req_t req)
{
	struct engine *eng = ctx->objs->eng;
	struct removal *r;
	unsigned n = 1;

	for (struct fs_context *c = ctx->children.first; c; c = c->next)
		n++;
	r = malloc(sizeof(*r) + n * sizeof(r->victims[0]));
	if (!r)
		return -ENOMEM;
	r->req = req;
	atomic_init(&r->left, n);
	take_out(ctx, r, n);
	/* The parent last, so that no child is without it; then @r may be gone. */
	for (unsigned i = 0; i < n; i++)
		engine_submit(eng, &r->victims[i].job);
	return 0;
}
