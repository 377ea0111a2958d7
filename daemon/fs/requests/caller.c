// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/caller.h"

#include <stdlib.h>

#include "daemon/authz/group_access.h"
#include "daemon/authz/proc.h"
#include "daemon/fs/requests/quota.h"
#include "daemon/fs/tree/fs_state.h"

enum { CALLER_FEW_GROUPS = 64, CALLER_MANY_GROUPS = 65536 };

static bool caller_lists(const gid_t *groups, int n, gid_t gid)
{
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* Supplementary groups come from /proc, which takes 20 us. */
static bool caller_has_group(const struct group_requester *r, gid_t gid)
{
	gid_t few[CALLER_FEW_GROUPS];
	gid_t *many;
	bool found;
	int n = fuse_req_getgroups(r->arg, CALLER_FEW_GROUPS, few), room;

	if (n <= CALLER_FEW_GROUPS)
		return n > 0 && caller_lists(few, n, gid);
	room = n < CALLER_MANY_GROUPS ? n : CALLER_MANY_GROUPS;
	many = calloc((size_t)room, sizeof(*many));
	if (!many)
		return false;
	n = fuse_req_getgroups(r->arg, room, many);
	found = n > 0 && caller_lists(many, n < room ? n : room, gid);
	free(many);
	return found;
}

static struct group_requester caller_requester(const struct call *call)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	return (struct group_requester){
		.uid = caller->uid,
		.gid = caller->gid,
		.has_group = caller_has_group,
		.arg = call->req,
	};
}

int caller_may_make(const struct call *call, struct err *e)
{
	const struct group_requester requester = caller_requester(call);

	return group_access_check(&call->fs->config, &requester, e);
}

struct rights caller_rights(const struct call *call)
{
	const struct group_requester requester = caller_requester(call);

	return group_access_rights(&call->fs->config, &requester);
}

void caller_note_reserve(const struct call *call)
{
	struct objects *objs = &call->fs->objects;
	struct user_quota *q;

	if (!objects_are_short(objs) && !quota_memory_is_short(call->fs))
		return;
	q = user_quota_get(&objs->quotas, fuse_req_ctx(call->req)->uid);
	if (q)
		atomic_store(&q->reserve, caller_rights(call).system);
}

uint64_t caller_memlock(const struct call *call)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);

	return caller->uid == 0 ? UINT64_MAX : proc_memlock(caller->pid);
}
