// SPDX-License-Identifier: MIT
/* What a caller may do, by his own credentials: never by those of the daemon. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum { FEW_GROUPS = 64, MANY_GROUPS = 65536 };

static bool listed(const gid_t *groups, int n, gid_t gid)
{
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return false;
}

/* Supplementary groups come from /proc and cost 20 us; they are looked at last. */
static bool in_supplementary(fuse_req_t req, gid_t gid)
{
	gid_t few[FEW_GROUPS];
	gid_t *many;
	bool found;
	int n = fuse_req_getgroups(req, FEW_GROUPS, few);

	if (n <= FEW_GROUPS)
		return n > 0 && listed(few, n, gid);
	many = calloc((size_t)(n < MANY_GROUPS ? n : MANY_GROUPS), sizeof(*many));
	if (!many)
		return false;
	n = fuse_req_getgroups(req, n < MANY_GROUPS ? n : MANY_GROUPS, many);
	found = n > 0 && listed(many, n < MANY_GROUPS ? n : MANY_GROUPS, gid);
	free(many);
	return found;
}

static bool caller_in(fuse_req_t req, const struct group_rule *rule)
{
	const struct fuse_ctx *who = fuse_req_ctx(req);

	if (who->uid == 0 || rule->kind == GROUP_ANY)
		return true;
	if (rule->kind == GROUP_NONE)
		return false;
	return who->gid == rule->gid || in_supplementary(req, rule->gid);
}

int caller_may_make(const struct call *call, struct err *e)
{
	const struct config *c = &call->fs->config;

	if (caller_in(call->req, &c->sys_group) || caller_in(call->req, &c->thread_group))
		return 0;
	return err_set(e, EPERM,
		"making contexts needs membership of the group in config/sys_group or "
		"config/thread_group");
}

struct rights caller_rights(const struct call *call)
{
	const struct config *c = &call->fs->config;
	const struct fuse_ctx *who = fuse_req_ctx(call->req);
	struct rights r = {
		.system = caller_in(call->req, &c->sys_group),
		.thread = caller_in(call->req, &c->thread_group),
	};

	switch (c->allow_kernel) {
	case KERNEL_ANY:
		r.kernel = true;
		break;
	case KERNEL_GROUP:
		r.kernel = r.system;
		break;
	case KERNEL_ROOT:
		r.kernel = who->uid == 0;
		break;
	}
	return r;
}

/* Its text form: reading another's by prlimit() takes a capability that the daemon has given up. */
uint64_t caller_memlock(const struct call *call)
{
	static const char key[] = "Max locked memory";
	const struct fuse_ctx *who = fuse_req_ctx(call->req);
	CLEANUP_FCLOSE FILE *f = NULL;
	char path[32], line[128];
	uint64_t bytes;

	if (who->uid == 0)
		return UINT64_MAX;
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)who->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *value = line + sizeof(key) - 1;

		if (strncmp(line, key, sizeof(key) - 1) != 0)
			continue;
		if (sscanf(value, "%" SCNu64, &bytes) == 1)
			return bytes;
		return strstr(value, "unlimited") ? UINT64_MAX : 0;
	}
	return 0; /* it cannot be told */
}
