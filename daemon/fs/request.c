// SPDX-License-Identifier: MIT
/*
 * Requests that a context's owner answers, perhaps later and from another thread, and their
 * interrupts. libfuse tells of an interrupt while it holds locks of its own, and with whatever
 * pointer it was given, which may be stale by then: so it is given a number, the number is noted,
 * and the session loop looks it up when it is out of libfuse again.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct request {
	struct job job;
	struct call call;
	struct object *set;             /* CMD_EVTSET_NEW: it waits to be inserted, if it is new */
	struct smpl *smpl;              /* CMD_FORMAT, CMD_SETUP: it waits to be the context's */
	struct publication publication; /* comes before the answer, if its s is not NULL */
	uint64_t id;
	struct request **at; /* the link that points here while it is pending; NULL: answered */
	struct request *next;
};

uint64_t request_id(struct fs *fs)
{
	return ++fs->last_request;
}

struct limits limits_of(const struct fs *fs)
{
	return (struct limits){
		.tick_ns = fs->config.tick_us * 1000,
		.timer_ns = fs->timer_ns,
		.overflow_rate_max = fs->config.overflow_rate_max,
	};
}

static void enlist(struct fs *fs, struct request *r)
{
	r->id = request_id(fs);
	pthread_mutex_lock(&fs->pending_lock);
	r->next = fs->pending;
	r->at = &fs->pending;
	if (r->next)
		r->next->at = &r->next;
	fs->pending = r;
	pthread_mutex_unlock(&fs->pending_lock);
}

static void delist(struct request *r)
{
	*r->at = r->next;
	if (r->next)
		r->next->at = r->at;
	r->at = NULL;
}

/* Whoever takes a request off the list answers it. */
static bool claim(struct fs *fs, struct request *r)
{
	bool mine;

	pthread_mutex_lock(&fs->pending_lock);
	mine = r->at;
	if (mine)
		delist(r);
	pthread_mutex_unlock(&fs->pending_lock);
	return mine;
}

static void note_interrupt(fuse_req_t req, void *data)
{
	struct fs *fs = fuse_req_userdata(req);

	if (fs->ninterrupted < sizeof(fs->interrupted) / sizeof(fs->interrupted[0]))
		fs->interrupted[fs->ninterrupted++] = (uint64_t)(uintptr_t)data;
}

void request_interruptible(fuse_req_t req, uint64_t id)
{
	fuse_req_interrupt_func(req, note_interrupt, (void *)(uintptr_t)id);
}

static void interrupt_one(struct fs *fs, uint64_t id)
{
	fuse_req_t req = NULL;

	pthread_mutex_lock(&fs->pending_lock);
	for (struct request *r = fs->pending; r; r = r->next) {
		if (r->id != id)
			continue;
		if (engine_cancel(&r->job)) {
			req = r->call.req;
			delist(r);
		}
		break;
	}
	pthread_mutex_unlock(&fs->pending_lock);
	if (req)
		fuse_reply_err(req, EINTR);
}

void requests_interrupt(struct fs *fs)
{
	while (fs->ninterrupted) {
		uint64_t id = fs->interrupted[--fs->ninterrupted];

		if (!messages_interrupt(fs, id) && !totals_interrupt(fs, id))
			interrupt_one(fs, id);
	}
}

void call_read_done(struct call *call, int rc, struct text *out, const struct err *e)
{
	struct file *f = call->file;
	char few[256];
	char *copy = few;
	size_t from = call->off < out->n ? call->off : out->n;
	size_t n = out->n - from < call->size ? out->n - from : call->size;
	struct text old;

	if (rc < 0) {
		call_fail(call, e);
		return;
	}
	if (n > sizeof(few))
		copy = malloc(n);
	if (!copy || !text_ok(out)) {
		if (copy != few)
			free(copy);
		fuse_reply_err(call->req, ENOMEM);
		return;
	}
	if (n)
		memcpy(copy, out->p + from, n);
	/* The next read of this file may come, to another thread, as soon as this one is answered:
	 * what it continues must be in place by then. */
	pthread_mutex_lock(&f->lock);
	old = f->snap;
	f->snap = *out;
	f->seen = true;
	pthread_mutex_unlock(&f->lock);
	*out = old;
	fuse_reply_buf(call->req, copy, n);
	if (copy != few)
		free(copy);
}

void call_write_done(struct call *call, int rc, const struct err *e)
{
	if (rc < 0) {
		call_fail(call, e);
		return;
	}
	if (call->ctx)
		context_set_error(call->ctx, NULL);
	else
		uid_error_set(call->fs, fuse_req_ctx(call->req)->uid, NULL);
	fuse_reply_write(call->req, call->size);
}

static void answer_read(struct request *r)
{
	struct job *job = &r->job;
	TEXT_CLEANUP struct text out = {0};

	if (job->rc == 0)
		r->call.node.row->print(&job->cmd, &out);
	if (job->rc == 0 && job->cmd.verb == CMD_INFO)
		atomic_store(&r->call.file->changes, job->cmd.info.changes);
	call_read_done(&r->call, job->rc, &out, &job->err);
}

static void answer_write(struct request *r)
{
	if (r->job.rc == 0 && r->call.node.row->keep)
		r->call.node.row->keep(r->call.ctx, &r->job.cmd);
	call_write_done(&r->call, r->job.rc, &r->job.err);
}

/* mkdir, and rmdir, of an event set. */
static void answer_set(struct request *r)
{
	struct fuse_entry_param entry;
	struct call child;
	char name[8];

	if (r->job.rc < 0) {
		call_fail(&r->call, &r->job.err);
		return;
	}
	context_set_error(r->call.ctx, NULL);
	if (r->job.cmd.verb == CMD_EVTSET_DELETE) {
		fuse_reply_err(r->call.req, 0);
		return;
	}
	snprintf(name, sizeof(name), "%u", r->job.cmd.evtset.id);
	if (node_lookup(&r->call, name, &child) < 0) {
		fuse_reply_err(r->call.req, ENODEV); /* the context has been removed since */
		return;
	}
	entry = node_entry(&child);
	fuse_reply_entry(r->call.req, &entry);
}

static void answer(struct request *r)
{
	if (r->call.packet) {
		clone_took(&r->call, &r->job.cmd, r->job.rc, &r->job.err);
		return;
	}
	switch (r->job.cmd.verb) {
	case CMD_READ:
	case CMD_INFO:
	case CMD_EVTSET_READ:
	case CMD_LIVE_READ:
		answer_read(r);
		break;
	case CMD_EVTSET_NEW:
	case CMD_EVTSET_DELETE:
		answer_set(r);
		break;
	case CMD_LIVE:
		live_answer(&r->call, r->job.rc, &r->job.err);
		break;
	default:
		answer_write(r);
	}
}

/*
 * The tree follows what the context's owner has done, whether or not the caller has waited for it.
 * Commands about sets are done in the session thread.
 */
static void follow(struct request *r)
{
	struct objects *objs = &r->call.fs->objects;
	struct fs_context *ctx = r->call.ctx;
	struct object *set;

	if (r->job.cmd.verb == CMD_EVTSET_NEW) {
		if (r->job.rc < 0 || !r->job.cmd.evtset.fresh || ctx->closed) {
			object_set_cancel(r->set);
			return;
		}
		object_set_insert(objs, r->set);
		clone_map_set(ctx, r->set);
	} else if (r->job.cmd.verb == CMD_EVTSET_DELETE) {
		if (r->job.rc < 0 || ctx->closed)
			return;
		set = object_set_from(ctx, r->job.cmd.evtset.id);
		if (!set || set->set != r->job.cmd.evtset.id)
			return;
		pollers_close(ctx, set->serial);
		clone_unmap_set(ctx, set);
		object_set_remove(objs, set);
	} else if (r->smpl && r->job.rc == 0) {
		smpl_install(r->call.fs, ctx, r->smpl);
		ctx->map_sets = ctx->map_sets || r->job.cmd.map_sets;
		clone_map_sets(ctx);
	} else if (r->smpl) {
		smpl_drop(r->smpl);
	} else if (r->job.cmd.verb == CMD_LIVE) {
		live_follow(&r->call, r->job.rc);
	}
}

static void finish(void *arg)
{
	struct request *r = arg;
	struct job *job = &r->job;

	follow(r);
	if (claim(r->call.fs, r))
		answer(r);
	else if (job->cmd.verb == CMD_LIVE)
		file_free(r->call.file); /* the kernel knows of none */
	else
		free(r->call.packet);
	context_unref(r->call.ctx);
	command_free(&job->cmd);
	free(r);
}

static void request_done(struct job *job)
{
	struct request *r = link_entry(job, struct request, job);

	if (r->publication.s)
		shared_order(&r->publication);
	else
		finish(r);
}

/* Whoever is told that it has stopped, or reads that it has, looks into the buffer then. */
static bool tells_state(enum cmd_verb verb)
{
	return verb == CMD_STOP || verb == CMD_UNLOAD || verb == CMD_RESTART || verb == CMD_INFO;
}

/* Takes @cmd and the call's packet, also if there is no memory. What a packet of sets has more of
 * is sent when this is done, which is for the session thread. */
static struct request *request_new(struct call *call, struct command *cmd)
{
	struct request *r = malloc(sizeof(*r)); /* calloc() is the slower one, by far */

	if (!r) {
		command_free(cmd);
		free(call->packet);
		fuse_reply_err(call->req, ENOMEM);
		return NULL;
	}
	context_ref(call->ctx);
	cmd->limits = limits_of(call->fs);
	*r = (struct request){
		.call = *call,
		.job =
			{
				.tenant = &call->ctx->tenant,
				.cmd = *cmd,
				.pid = fuse_req_ctx(call->req)->pid,
				.here = call->packet && cmd->verb == CMD_EVTSET_READ,
				.done = request_done,
			},
	};
	if (tells_state(cmd->verb) && shared_is_fed(context_memory(call->ctx))) {
		r->publication = (struct publication){.after = finish, .arg = r};
		shared_expect(context_memory(call->ctx), &r->publication);
	}
	enlist(call->fs, r);
	return r;
}

static void ask(struct request *r)
{
	request_interruptible(r->call.req, r->id);
	engine_submit(r->call.fs->eng, &r->job);
}

bool call_ask(struct call *call, struct command *cmd)
{
	struct request *r = request_new(call, cmd);

	if (r)
		ask(r);
	return r;
}

int call_make_set(struct call *call, struct command *cmd, struct err *e)
{
	uint16_t id = cmd->evtset.id;
	struct object *set = NULL;
	struct request *r;

	/* Whether there is one already, its owner knows when it is this one's turn. */
	if (object_set_reserve(call->ctx, id, &set, e) < 0)
		return -e->no;
	r = request_new(call, cmd);
	if (r) {
		r->set = set;
		ask(r);
	} else {
		object_set_cancel(set);
	}
	return 0;
}

static void keep_job(struct job *job)
{
	(void)job;
}

int context_do(struct fs_context *ctx, const struct command *cmd, struct err *e)
{
	struct job job = {.tenant = &ctx->tenant, .cmd = *cmd, .done = keep_job};

	engine_submit(ctx->objs->eng, &job);
	if (job.rc < 0)
		*e = job.err;
	return job.rc;
}

void call_set_up(struct call *call, struct command *cmd, struct smpl *s)
{
	struct request *r;

	cmd->smpl = smpl_sampling(s);
	r = request_new(call, cmd);
	if (!r) {
		smpl_drop(s);
		return;
	}
	r->smpl = s;
	ask(r);
}
