// SPDX-License-Identifier: MIT
/*
 * total of a context: for each of its event sets, what its PMDs show and those of its children,
 * added up. They are asked one after another, a set at a time; as all of it is the session
 * thread's, contexts may come and go meanwhile, and the reader may go away between two answers.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct sum {
	uint16_t set;
	uint64_t pmd[PMU_MAX_PMDS];
};

struct total {
	struct job job;
	struct cmd_reg regs[PMU_MAX_PMDS]; /* that it asks for */
	struct call call;
	uint64_t id;
	struct fs_context **members; /* held; the context itself first */
	unsigned nmembers, member;   /* so many, and who is asked */
	struct sum *sums;
	unsigned nsums, sum; /* so many, and for which */
	bool pumping;        /* somebody sees to it that the next is asked */
	bool asking, interrupted;
	struct err err;
	struct total *next, **at; /* all of them, for interrupts */
};

static void total_free(struct total *t)
{
	*t->at = t->next;
	if (t->next)
		t->next->at = t->at;
	for (unsigned i = 0; i < t->nmembers; i++)
		context_unref(t->members[i]);
	free(t->members);
	free(t->sums);
	free(t);
}

static bool list_members(struct total *t, struct fs_context *ctx)
{
	unsigned n = 1;

	for (const struct fs_context *c = ctx->children.first; c; c = c->next)
		n++;
	t->members = malloc(n * sizeof(struct fs_context *));
	if (!t->members)
		return false;
	for (struct fs_context *c = ctx; t->nmembers < n;
		c = c == ctx ? ctx->children.first : c->next) {
		context_ref(c);
		t->members[t->nmembers++] = c;
	}
	return true;
}

static bool list_sums(struct total *t, const struct fs_context *ctx)
{
	t->nsums = 1 + ctx->nsets;
	t->sums = calloc(t->nsums, sizeof(*t->sums));
	for (unsigned i = 0; t->sums && i < ctx->nsets; i++)
		t->sums[1 + i].set = (uint16_t)ctx->sets[i]->set;
	return t->sums;
}

static struct total *total_new(struct call *call)
{
	struct fs *fs = call->fs;
	struct total *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->call = *call;
	t->id = request_id(fs);
	t->next = fs->totals;
	t->at = &fs->totals;
	if (t->next)
		t->next->at = &t->next;
	fs->totals = t;
	if (list_members(t, call->ctx) && list_sums(t, call->ctx))
		return t;
	total_free(t);
	return NULL;
}

static const struct pmu *pmu_of(const struct total *t)
{
	return t->call.fs->be->pmu;
}

static void print(const struct total *t, struct text *out)
{
	const struct pmu *pmu = pmu_of(t);

	for (const struct sum *s = t->sums; s < t->sums + t->nsums; s++) {
		for (unsigned d = 0; d < pmu->npmds; d++) {
			if (s->set)
				text_printf(out, "set=%u ", s->set);
			text_printf(out, "pmd%u %" PRIu64 "\n", pmu->pmds[d].num, s->pmd[d]);
		}
	}
}

static void finish(struct total *t)
{
	TEXT_CLEANUP struct text out = {0};

	if (t->interrupted) {
		fuse_reply_err(t->call.req, EINTR);
	} else {
		print(t, &out);
		call_read_done(&t->call, -t->err.no, &out, &t->err);
	}
	total_free(t);
}

static bool has_set(struct fs_context *ctx, uint16_t id)
{
	const struct object *set = object_set_from(ctx, id);

	return set && set->set == id;
}

/* Finds who is to be asked now, and for what. Who has been removed is not counted any more. */
static bool find_next(struct total *t)
{
	for (; t->member < t->nmembers; t->member++, t->sum = 0)
		for (; t->sum < t->nsums && !t->members[t->member]->closed; t->sum++)
			if (has_set(t->members[t->member], t->sums[t->sum].set))
				return true;
	return false;
}

static void ask_on(struct total *t);

static void total_done(struct job *job)
{
	struct total *t = link_entry(job, struct total, job);
	const struct fs_context *ctx = t->members[t->member];

	t->asking = false;
	if (job->rc == 0) {
		for (unsigned d = 0; d < job->cmd.nregs; d++)
			t->sums[t->sum].pmd[d] += t->regs[d].value;
		t->sum++;
	} else if (!ctx->closed) {
		t->err = job->err;
		if (t->member)
			err_prefix(&t->err, "children/%s", ctx->name);
	}
	ask_on(t);
}

static void ask(struct total *t)
{
	const struct pmu *pmu = pmu_of(t);

	for (unsigned d = 0; d < pmu->npmds; d++)
		t->regs[d] = (struct cmd_reg){
			.pmd = true, .num = pmu->pmds[d].num, .set = t->sums[t->sum].set};
	t->job = (struct job){
		.tenant = &t->members[t->member]->tenant,
		.cmd =
			{
				.verb = CMD_READ,
				.limits = limits_of(t->call.fs),
				.regs = t->regs,
				.nregs = pmu->npmds,
			},
		.done = total_done,
		.here = true,
	};
	t->asking = true;
	engine_submit(t->call.fs->eng, &t->job);
}

/* Answers may come at once: this is a loop, so as not to become a recursion. */
static void ask_on(struct total *t)
{
	if (t->pumping)
		return;
	t->pumping = true;
	while (!t->asking && !t->interrupted && !t->err.no && find_next(t))
		ask(t);
	t->pumping = false;
	if (t->asking)
		return;
	if (t->call.ctx->closed)
		err_set(&t->err, ENODEV, "the context is being removed");
	finish(t);
}

int total_show(struct call *call, struct text *out, struct err *e)
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
	request_interruptible(call->req, t->id);
	ask_on(t);
	return CALL_LATER;
}

/* It is answered when the one that is asked has answered, or has been told that nobody asks. */
bool totals_interrupt(struct fs *fs, uint64_t id)
{
	struct total *t = fs->totals;

	while (t && t->id != id)
		t = t->next;
	if (!t)
		return false;
	t->interrupted = true;
	engine_cancel(&t->job);
	return true;
}
