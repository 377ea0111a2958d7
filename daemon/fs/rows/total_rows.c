// SPDX-License-Identifier: MIT
/*
 * total of a context: for each of its event sets, the sum of its PMDs and those of its children.
 * The contexts are queried one after another, one set at a time. All of it belongs to the session
 * thread, so contexts may come and go, and the reader may be interrupted, between two queries.
 */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/command_request.h"

struct total_sum {
	uint16_t set;
	uint64_t pmd[PMU_MAX_PMDS];
};

struct total {
	struct request request;
	struct job job;
	/* The registers that the query reads. */
	struct cmd_reg regs[PMU_MAX_PMDS];
	/* Referenced; the context itself first. */
	struct fs_context **members;
	unsigned nmembers;
	struct total_sum *sums;
	unsigned nsums;
	/* The query: of this member, for this sum. */
	unsigned member, sum;
	bool querying;
	/* A loop that submits queries is running. */
	bool pumping;
	struct err err;
};

static void total_free(struct total *t)
{
	request_end(&t->request);
	for (unsigned i = 0; i < t->nmembers; i++)
		context_unref(t->members[i]);
	free(t->members);
	free(t->sums);
	free(t);
}

static void total_add_member(struct total *t, struct fs_context *ctx)
{
	context_ref(ctx);
	t->members[t->nmembers++] = ctx;
}

static bool total_list_members(struct total *t, struct fs_context *ctx)
{
	struct fs_context *c;
	size_t n = 1;

	list_for_each_entry (c, &ctx->children, sibling)
		n++;
	t->members = malloc(n * sizeof(struct fs_context *));
	if (!t->members)
		return false;
	total_add_member(t, ctx);
	list_for_each_entry (c, &ctx->children, sibling)
		total_add_member(t, c);
	return true;
}

static bool total_list_sums(struct total *t, const struct fs_context *ctx)
{
	t->nsums = 1 + ctx->sets.n;
	t->sums = calloc(t->nsums, sizeof(*t->sums));
	for (unsigned i = 0; t->sums && i < ctx->sets.n; i++)
		t->sums[1 + i].set = (uint16_t)ctx->sets.set[i]->set;
	return t->sums;
}

/* The sum is answered when the query under way has ended, or was cancelled. */
static bool total_interrupt(struct request *r)
{
	struct total *t = container_of(r, struct total, request);

	r->interrupted = true;
	engine_cancel(&t->job);
	return false;
}

static struct total *total_new(struct call *call)
{
	struct total *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	request_begin(&t->request, call, total_interrupt);
	if (total_list_members(t, call->ctx) && total_list_sums(t, call->ctx))
		return t;
	total_free(t);
	return NULL;
}

static const struct pmu *total_pmu(const struct total *t)
{
	return t->request.call.fs->be->pmu;
}

static void total_print(const struct total *t, struct text *out)
{
	const struct pmu *pmu = total_pmu(t);

	for (const struct total_sum *s = t->sums; s < t->sums + t->nsums; s++) {
		for (unsigned d = 0; d < pmu->npmds; d++) {
			if (s->set)
				text_printf(out, "set=%u ", s->set);
			text_printf(out, "pmd%u %" PRIu64 "\n", pmu->pmds[d].num, s->pmd[d]);
		}
	}
}

static void total_finish(struct total *t)
{
	TEXT_CLEANUP struct text out = {0};

	if (t->request.interrupted) {
		fuse_reply_err(t->request.call.req, EINTR);
	} else {
		total_print(t, &out);
		call_read_done(&t->request.call, -t->err.no, &out, &t->err);
	}
	total_free(t);
}

static bool total_has_set(struct fs_context *ctx, uint16_t id)
{
	const struct object *set = object_set_from(ctx, id);

	return set && set->set == id;
}

/* Finds the next member and sum to query. Removed contexts do not count any more. */
static bool total_find_next(struct total *t)
{
	for (; t->member < t->nmembers; t->member++, t->sum = 0)
		for (; t->sum < t->nsums && !t->members[t->member]->closed; t->sum++)
			if (total_has_set(t->members[t->member], t->sums[t->sum].set))
				return true;
	return false;
}

static void total_query_next(struct total *t);

static void total_done(struct job *job)
{
	struct total *t = container_of(job, struct total, job);
	const struct fs_context *ctx = t->members[t->member];

	t->querying = false;
	if (job->rc == 0) {
		for (unsigned d = 0; d < job->cmd.vector.nregs; d++)
			t->sums[t->sum].pmd[d] += t->regs[d].value;
		t->sum++;
	} else if (!ctx->closed) {
		t->err = job->err;
		if (t->member)
			err_prefix(&t->err, "children/%s", ctx->id.name);
	}
	total_query_next(t);
}

static void total_query(struct total *t)
{
	const struct pmu *pmu = total_pmu(t);

	for (unsigned d = 0; d < pmu->npmds; d++)
		t->regs[d] = (struct cmd_reg){
			.pmd = true, .num = pmu->pmds[d].num, .set = t->sums[t->sum].set};
	t->job = (struct job){
		.ec = &t->members[t->member]->ec,
		.cmd =
			{
				.verb = CMD_READ,
				.limits = command_limits(t->request.call.fs),
				.vector.regs = t->regs,
				.vector.nregs = pmu->npmds,
			},
		.done = total_done,
		.session_done = true,
	};
	t->querying = true;
	engine_submit(t->request.call.fs->eng, &t->job);
}

/* Answers may come at once: this is a loop so that it is no recursion. */
static void total_query_next(struct total *t)
{
	if (t->pumping)
		return;
	t->pumping = true;
	while (!t->querying && !t->request.interrupted && !t->err.no && total_find_next(t))
		total_query(t);
	t->pumping = false;
	if (t->querying)
		return;
	if (t->request.call.ctx->closed)
		err_set(&t->err, ENODEV, "the context is being removed");
	total_finish(t);
}

static int total_read(struct call *call, struct text *out, struct err *e)
{
	unsigned missed = atomic_load(&call->ctx->missed);
	struct total *t;

	(void)out;
	if (missed)
		return err_set(e, EIO,
			"%u threads were not followed, for want of a context, and are missing: "
			"read those of children/, or make room and load again",
			missed);
	t = total_new(call);
	if (!t)
		return err_set(e, ENOMEM, "no memory for the sum");
	total_query_next(t);
	return CALL_LATER;
}

const struct row rows_total[] = {
	{FILE_ROW(DIR_CTX, "total", 0400), .read = total_read},
	ROW_END,
};
