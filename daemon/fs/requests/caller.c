// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/caller.h"

#include <errno.h>
#include <stdlib.h>

#include "base/nsec.h"
#include "daemon/authz/identity.h"
#include "daemon/authz/supplementary.h"
#include "daemon/engine/engine.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/grant_table.h"
#include "daemon/fs/requests/quota.h"
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

/* Whether the remaining contexts or memory may soon be reserved for root and members of
 * sys_group. */
static bool caller_finds_little(const struct call *call)
{
	return objects_are_short(&call->fs->objects) || quota_memory_is_short(call->fs);
}

/* Members of sys_group may use the reserve to make contexts. */
struct caller_need caller_needs_to_make(const struct call *call)
{
	return (struct caller_need){
		NEED_MAKE | (caller_finds_little(call) ? NEED_SYSTEM : 0), GRANT_ANY_CPU};
}

static struct caller_need caller_needs_to_load(const struct command *cmd)
{
	if (cmd->tid)
		return (struct caller_need){NEED_THREAD | NEED_KERNEL, GRANT_NO_CPU};
	return (struct caller_need){NEED_SYSTEM | NEED_KERNEL, (int)cmd->load.cpu};
}

/* The need of a command on registers. */
static struct caller_need caller_needs_kernel(bool kernel)
{
	return kernel ? (struct caller_need){NEED_KERNEL, CALLER_CTX_CPU}
		      : (struct caller_need){0, GRANT_NO_CPU};
}

struct caller_need caller_needs(const struct call *call, const struct command *cmd)
{
	switch (cmd->verb) {
	case CMD_LOAD:
		return caller_needs_to_load(cmd);
	case CMD_START:
		return caller_needs_kernel(atomic_load(&call->ctx->ec.status.kernel_pmcs));
	case CMD_WRITE:
		return caller_needs_kernel(caller_writes_kernel(call->fs->be->pmu, &cmd->vector));
	case CMD_FLAGS:
		return (struct caller_need){
			cmd->setup.flags & CTX_BACKGROUND ? NEED_SYSTEM : 0, GRANT_NO_CPU};
	case CMD_SETUP:
		return (struct caller_need){
			cmd->setup.flags & CTX_SYSTEM_WIDE ? NEED_SYSTEM : NEED_THREAD,
			GRANT_ANY_CPU};
	default:
		return (struct caller_need){0, GRANT_NO_CPU};
	}
}

static bool caller_is_opener(const struct fuse_ctx *caller, const struct file *f)
{
	return caller->uid == f->uid && caller->gid == f->gid;
}

/* The CPU for which to look for a grant. A context loaded on a thread has none that could be
 * granted. */
static int caller_find_cpu(const struct call *call, int cpu)
{
	if (cpu != CALLER_CTX_CPU)
		return cpu;
	if (call->ctx->ec.task)
		return GRANT_NO_CPU;
	return call->ctx->ec.worker || call->ctx->ec.yield.done ? (int)engine_cpu(&call->ctx->ec)
								: GRANT_ANY_CPU;
}

static struct rights caller_rights_of(
	const struct call *call, const struct group_requester *r, int cpu)
{
	struct rights rights = group_access_rights(&call->fs->config, r);

	grants_add_rights(grant_table_grants(call->fs), r->uid, caller_find_cpu(call, cpu),
		nsec_now(CLOCK_REALTIME) / NSEC_PER_SEC, &rights);
	return rights;
}

/* The rights common to the caller and the opener of the call's file, if it has one. */
static struct rights caller_decide(
	const struct call *call, int cpu, const struct group_answers *groups)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	const struct group_requester writer = {caller->uid, caller->gid, groups};
	const struct file *f = call->file;
	struct rights writers = caller_rights_of(call, &writer, cpu), openers;

	if (!f || caller_is_opener(caller, f))
		return writers;
	openers = caller_rights_of(call, &(struct group_requester){f->uid, f->gid, NULL}, cpu);
	return grants_common_rights(&writers, &openers);
}

static struct group_answers caller_open_groups(const struct call *call, unsigned need)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	const struct group_requester writer = {caller->uid, caller->gid, NULL};

	return group_access_open(&call->fs->config, need, &writer);
}

bool caller_rights(const struct call *call, struct caller_need need, struct rights *out)
{
	*out = caller_decide(call, need.cpu, NULL);
	return !caller_open_groups(call, need.rights).n;
}

/* A grant gives no access to the reserve. */
static void caller_store_reserve(const struct call *call, const struct rights *rights)
{
	bool member = rights->system && !rights->by_grant.system;
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

	if (caller_finds_little(call) &&
		caller_rights(call, (struct caller_need){NEED_SYSTEM, GRANT_NO_CPU}, &rights))
		caller_store_reserve(call, &rights);
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
		"%s: only root may write it, through a descriptor that root opened",
		call->node.row->name);
}

/* While mkdir waits for its answer, the kernel lets no other user make or look up a name in that
 * directory. So mkdir precedes the user's other work, and fails if it would be delayed. */
static int caller_check_pause(const struct call *call, struct err *e)
{
	uid_t uid = fuse_req_ctx(call->req)->uid;

	if (!engine_delays_work(call->fs->eng, uid))
		return 0;
	return err_set(e, EAGAIN,
		"the last request of uid %u took long (thousands of supplementary groups?): try "
		"mkdir again in a second",
		(unsigned)uid);
}

struct caller_reading {
	struct await_work wait;
	pid_t tid;
	gid_t gid;
	struct group_answers groups;
};

static void caller_read_groups(struct work *work)
{
	struct caller_reading *r = container_of(work, struct caller_reading, wait.work);

	supplementary_read(r->tid, work->uid, r->gid, &r->groups);
}

int caller_await_rights(
	struct call *call, struct caller_need need, struct rights *out, struct err *e)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	bool is_mkdir = need.rights & NEED_MAKE && !call->file;
	struct caller_reading r = {
		.wait.work = {.run = caller_read_groups, .first = is_mkdir},
		.tid = caller->pid,
		.gid = caller->gid,
		.groups = caller_open_groups(call, need.rights),
	};

	if (r.groups.n && is_mkdir && caller_check_pause(call, e) < 0)
		return -e->no;
	if (r.groups.n && await_work(call, &r.wait, e) < 0)
		return -e->no;
	*out = caller_decide(call, need.cpu, &r.groups);
	if (r.groups.n && need.rights & NEED_MAKE)
		caller_store_reserve(call, out);
	return 0;
}

void caller_note_opener(const struct call *call, struct file *f)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	f->uid = caller->uid;
	f->gid = caller->gid;
	if (row_has(call->node.row, ROW_CAPABILITIES))
		f->capabilities = capabilities_of(caller->pid);
}

uint64_t caller_memlock(const struct call *call)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	return caller->uid == 0 ? UINT64_MAX : proc_memlock(caller->pid);
}
