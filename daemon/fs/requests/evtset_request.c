// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/evtset_request.h"

#include <errno.h>
#include <stdio.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/clone_pages.h"
#include "daemon/fs/requests/poller.h"

/* The session thread calls both hooks, because these commands end in it. */
void evtset_follow_new(struct command_request *r)
{
	struct fs_context *ctx = r->request.call.ctx;
	struct object *set = r->arg;

	if (r->job.rc < 0 || !r->job.cmd.evtset.fresh || ctx->closed) {
		object_set_cancel(set);
		return;
	}
	object_set_insert(&r->request.call.fs->objects, set);
	clone_map_set(ctx, set);
}

void evtset_follow_delete(struct command_request *r)
{
	struct fs_context *ctx = r->request.call.ctx;
	unsigned id = r->job.cmd.evtset.id;
	struct object *set;

	if (r->job.rc < 0 || ctx->closed)
		return;
	set = object_set_from(ctx, id);
	if (!set || set->set != (int)id)
		return;
	pollers_close(ctx, set->serial);
	clone_unmap_set(ctx, set);
	object_set_remove(&r->request.call.fs->objects, set);
}

/* Notes the outcome. Returns false if the command failed, which has been answered. */
static bool evtset_succeeded(struct command_request *r)
{
	if (r->job.rc < 0)
		call_fail(&r->request.call, &r->job.err);
	else
		context_set_error(r->request.call.ctx, NULL);
	return r->job.rc >= 0;
}

static void evtset_answer_mkdir(struct command_request *r)
{
	struct call *call = &r->request.call, child;
	struct fuse_entry_param entry;
	char name[8];

	if (!evtset_succeeded(r))
		return;
	snprintf(name, sizeof(name), "%u", r->job.cmd.evtset.id);
	if (node_lookup(call, name, &child) < 0) {
		fuse_reply_err(call->req, ENODEV); /* the context has been removed meanwhile */
		return;
	}
	entry = node_entry(&child);
	fuse_reply_entry(call->req, &entry);
}

static void evtset_answer_rmdir(struct command_request *r)
{
	if (evtset_succeeded(r))
		fuse_reply_err(r->request.call.req, 0);
}

const struct command_kind evtset_mkdir = {
	.follow = evtset_follow_new,
	.answer = evtset_answer_mkdir,
};
const struct command_kind evtset_rmdir = {
	.follow = evtset_follow_delete,
	.answer = evtset_answer_rmdir,
};

/* Reserves memory for the set even if the set exists already: only the context's owner knows that,
 * when it executes the command. */
int evtset_submit_new(
	struct call *call, struct command *cmd, const struct command_kind *kind, struct err *e)
{
	struct object *set = NULL;

	if (object_set_reserve(call->ctx, cmd->evtset.id, &set, e) < 0)
		return -e->no;
	if (!command_submit(call, cmd, kind, set))
		object_set_cancel(set);
	return 0;
}
