// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/caller.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/authz/identity.h"
#include "daemon/authz/supplementary.h"
#include "daemon/engine/engine.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/quota.h"
#include "daemon/fs/requests/work_request.h"
#include "daemon/fs/tree/fs_state.h"

static bool caller_writes_kernel(const struct pmu *pmu, const struct cmd_vector *v)
{
	for (unsigned i = 0; i < v->nregs; i++) {
		int row = v->regs[i].pmd ? -1 : pmu_find_pmc(pmu, v->regs[i].num);
		const struct pmu_pmc *pmc = &pmu->pmcs[row < 0 ? 0 : row];

		if (row >= 0 && (v->regs[i].value | pmc->def) & pmc->kernel)
			return true;
	}
	return false;
}

/* What is left may soon be for root and members of sys_group alone. */
static bool caller_finds_little(const struct call *call)
{
	return objects_are_short(&call->fs->objects) || quota_memory_is_short(call->fs);
}

/* Members of sys_group may make contexts of the reserve. */
unsigned caller_needs_to_make(const struct call *call)
{
	return NEED_MAKE | (caller_finds_little(call) ? NEED_SYSTEM : 0);
}

unsigned caller_needs(const struct call *call, const struct command *cmd)
{
	switch (cmd->verb) {
	case CMD_LOAD:
		return (cmd->tid ? NEED_THREAD : NEED_SYSTEM) | NEED_KERNEL;
	case CMD_START:
		return atomic_load(&call->ctx->ec.status.kernel_pmcs) ? NEED_KERNEL : 0;
	case CMD_WRITE:
		return caller_writes_kernel(call->fs->be->pmu, &cmd->vector) ? NEED_KERNEL : 0;
	case CMD_SETUP:
		return cmd->setup.flags & CTX_SYSTEM_WIDE ? NEED_SYSTEM : NEED_THREAD;
	default:
		return 0;
	}
}

static bool caller_is_opener(const struct fuse_ctx *caller, const struct file *f)
{
	return caller->uid == f->uid && caller->gid == f->gid;
}

static struct rights caller_combine(const struct rights *a, const struct rights *b)
{
	return (struct rights){
		.system = a->system && b->system,
		.thread = a->thread && b->thread,
		.kernel = a->kernel && b->kernel,
	};
}

/* Of the caller and of the opener of the call's file, if it has one. */
static struct rights caller_decide(const struct call *call, const struct group_answers *groups)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	const struct group_requester writer = {caller->uid, caller->gid, groups};
	const struct file *f = call->file;
	struct rights writers = group_access_rights(&call->fs->config, &writer), openers;

	if (!f || caller_is_opener(caller, f))
		return writers;
	openers = group_access_rights(
		&call->fs->config, &(struct group_requester){f->uid, f->gid, NULL});
	return caller_combine(&writers, &openers);
}

static struct group_answers caller_open_groups(const struct call *call, unsigned need)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	const struct group_requester writer = {caller->uid, caller->gid, NULL};

	return group_access_open(&call->fs->config, need, &writer);
}

bool caller_rights(const struct call *call, unsigned need, struct rights *out)
{
	*out = caller_decide(call, NULL);
	return !caller_open_groups(call, need).n;
}

static void caller_store_reserve(const struct call *call, bool member)
{
	struct user_quota *q;

	if (!caller_finds_little(call))
		return;
	q = user_quota_get(&call->fs->objects.quotas, fuse_req_ctx(call->req)->uid);
	if (q)
		atomic_store(&q->reserve, member);
}

void caller_note_reserve(const struct call *call)
{
	struct rights rights;

	if (caller_finds_little(call) && caller_rights(call, NEED_SYSTEM, &rights))
		caller_store_reserve(call, rights.system);
}

int caller_check_make(const struct rights *r, struct err *e)
{
	return group_access_check(r, e);
}

int caller_check_root(const struct call *call, struct err *e)
{
	if (fuse_req_ctx(call->req)->uid == 0 && call->file->uid == 0)
		return 0;
	return err_set(e, EPERM,
		"%s: root alone writes it, and by a descriptor that root has opened",
		call->node.row->name);
}

/*
 * While mkdir waits for its answer, the kernel lets no other user make or look up a name in that
 * directory. So it precedes the user's other works, and fails where it would be delayed.
 */
static int caller_check_pause(const struct call *call, struct err *e)
{
	uid_t uid = fuse_req_ctx(call->req)->uid;

	if (!engine_delays_work(call->fs->eng, uid))
		return 0;
	return err_set(e, EAGAIN,
		"a request of uid %u has just taken long, as with thousands of supplementary "
		"groups: try mkdir again in a second",
		(unsigned)uid);
}

struct caller_question {
	struct work_request r;
	pid_t tid;
	gid_t gid;
	struct group_answers groups;
	const struct caller_kind *kind;
	void *arg;
	/* It is about making a context. */
	bool make;
};

static void caller_run(struct work_request *r)
{
	struct caller_question *q = container_of(r, struct caller_question, r);

	supplementary_read(q->tid, r->work.uid, q->gid, &q->groups);
}

static void caller_go(struct work_request *r)
{
	struct caller_question *q = container_of(r, struct caller_question, r);
	struct call *call = &r->request.call;
	struct rights rights = caller_decide(call, &q->groups);

	if (q->make)
		caller_store_reserve(call, rights.system);
	q->kind->go(call, &rights, q->arg);
	free(q);
}

static void caller_drop(struct work_request *r)
{
	struct caller_question *q = container_of(r, struct caller_question, r);

	q->kind->drop(&r->request.call, q->arg);
	free(q);
}

int caller_lookup(struct call *call, unsigned need, size_t bytes, const struct caller_kind *kind,
	void *arg, struct err *e)
{
	static const struct work_kind work = {caller_run, caller_go, caller_drop};
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	bool is_mkdir = need & NEED_MAKE && !call->file;
	struct caller_question *q;

	if (is_mkdir && caller_check_pause(call, e) < 0)
		return -e->no;
	q = malloc(sizeof(*q));
	if (!q)
		return err_set(e, ENOMEM, "no memory");
	*q = (struct caller_question){
		.r.work = {.uid = caller->uid, .first = is_mkdir},
		.tid = caller->pid,
		.gid = caller->gid,
		.groups = caller_open_groups(call, need),
		.kind = kind,
		.arg = arg,
		.make = need & NEED_MAKE,
	};
	if (work_request_begin(&q->r, call, sizeof(*q) + bytes, &work, e) == 0)
		return 0;
	free(q);
	return -e->no;
}

void caller_note_opener(const struct call *call, struct file *f)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	f->uid = caller->uid;
	f->gid = caller->gid;
	if (call->node.row->capabilities)
		f->capabilities = capabilities_of(caller->pid);
}

uint64_t caller_memlock(const struct call *call)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	return caller->uid == 0 ? UINT64_MAX : proc_memlock(caller->pid);
}
