// SPDX-License-Identifier: MIT
/* Unloading contexts whose grant has been revoked, or has expired. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/engine/engine_i.h"

struct revoke_job {
	struct job job;
	struct revocation *revocation;
};

struct revocation {
	/* Jobs under way, and 1 while more are submitted. */
	unsigned left;
	void (*done)(void *arg);
	void *arg;
	/* One for each context that may need it. */
	struct revoke_job jobs[];
};

static bool revoke_may_need(const struct engine_ctx *ec)
{
	return ec->rights.by_grant.system || ec->rights.by_grant.kernel;
}

struct revocation *revocation_new(const struct engine *eng)
{
	const struct engine_ctx *ec;
	unsigned n = 0;

	list_for_each_entry (ec, &eng->loaded, loaded_entry)
		n += revoke_may_need(ec);
	list_for_each_entry (ec, &eng->yielded, loaded_entry)
		n += revoke_may_need(ec);
	return calloc(1, sizeof(struct revocation) + n * sizeof(struct revoke_job));
}

static void revoke_put(struct revocation *r)
{
	if (--r->left)
		return;
	r->done(r->arg);
	free(r);
}

static void revoke_job_done(struct job *job)
{
	revoke_put(container_of(job, struct revoke_job, job)->revocation);
}

static void revoke_unload(struct engine *eng, struct revoke_job *r, struct engine_ctx *ec)
{
	struct err e;

	err_set(&e, EPERM,
		"the context was unloaded, as the grant for CPU %u was revoked or has expired: see "
		"config/grants",
		engine_cpu(ec));
	ec->ops->revoked(ec, &e);
	r->revocation->left++;
	r->job.ec = ec;
	r->job.cmd.verb = CMD_UNLOAD;
	r->job.session_done = true;
	r->job.done = revoke_job_done;
	engine_submit(eng, &r->job);
}

static void revoke_from(struct engine *eng, struct revocation *revocation, struct list_head *list,
	struct revoke_job **next, uint64_t now)
{
	struct engine_ctx *ec, *after;

	list_for_each_entry_safe (ec, after, list, loaded_entry)
		if (!grants_cover(eng->grants, &ec->rights, engine_cpu(ec), now)) {
			(*next)->revocation = revocation;
			revoke_unload(eng, (*next)++, ec);
		}
}

void engine_revoke(
	struct engine *eng, struct revocation *r, uint64_t now, void (*done)(void *arg), void *arg)
{
	struct revoke_job *next = r->jobs;

	r->left = 1;
	r->done = done;
	r->arg = arg;
	revoke_from(eng, r, &eng->loaded, &next, now);
	revoke_from(eng, r, &eng->yielded, &next, now);
	revoke_put(r);
}
