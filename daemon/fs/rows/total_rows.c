// SPDX-License-Identifier: MIT
/*
 * total of a context: for each of its event sets, the sum of its PMDs and those of its children,
 * with the time in which these were counted.
 * For one set after another, the contexts are queried and the set's lines are printed. All of this
 * belongs to the session thread, so between two queries contexts may be made and removed, and the
 * reader may be interrupted. As there may be many contexts, the work is done in slices.
 */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/command_request.h"
#include "daemon/fs/tree/deferred.h"

/* Queries in one slice: less than a millisecond. */
enum { TOTAL_SLICE = 256 };

struct total {
	struct request request;
	struct deferred deferred;
	struct job job;
	/* The registers that the query reads. */
	struct cmd_reg regs[PMU_MAX_PMDS];
	/* Referenced; the context itself is first. */
	struct fs_context **members;
	unsigned nmembers;
	/* The member and the set of the current query. */
	unsigned member;
	uint16_t set;
	/* The sums for @set so far, and the PMDs, by row, that count in any member. */
	uint64_t sum[PMU_MAX_PMDS];
	struct gaps gaps[PMU_MAX_PMDS];
	pmu_rows counting;
	/* How long the set was active, summed over the members; and the earliest start and the
	 * latest stop (or now) of any member. */
	uint64_t active_ns;
	uint64_t began, until; /* 0: no member was started */
	/* The lines of the previous sets, and the bytes charged for them. */
	struct text out;
	size_t charged;
	bool querying;
	/* A slice is running. */
	bool slicing;
	struct err err;
};

static void total_free(struct total *t)
{
	request_end(&t->request);
	for (unsigned i = 0; i < t->nmembers; i++)
		context_unref(t->members[i]);
	free(t->members);
	text_free(&t->out);
	free(t);
}

static void total_add_member(struct total *t, struct fs_context *ctx)
{
	context_ref(ctx);
	t->members[t->nmembers++] = ctx;
}

static unsigned total_count_members(const struct fs_context *ctx)
{
	return 1 + list_count(&ctx->children);
}

/* Bytes of a struct total and its members, without its text. */
static size_t total_bytes(const struct fs_context *ctx)
{
	return sizeof(struct total) + total_count_members(ctx) * sizeof(struct fs_context *) +
	       CHARGE_PIECE;
}

static int total_list_members(struct total *t, struct fs_context *ctx, struct err *e)
{
	struct fs_context *c;

	t->members = malloc(total_count_members(ctx) * sizeof(struct fs_context *));
	if (!t->members)
		return err_set(e, ENOMEM, "no memory for the sum");
	total_add_member(t, ctx);
	list_for_each_entry (c, &ctx->children, sibling)
		total_add_member(t, c);
	return 0;
}

/* The answer follows when the query under way has ended or was cancelled. */
static bool total_interrupt(struct request *r)
{
	struct total *t = container_of(r, struct total, request);

	r->interrupted = true;
	engine_cancel(&t->job);
	return false;
}

static void total_slice(struct deferred *d);

static struct total *total_new(struct call *call, struct err *e)
{
	struct total *t = calloc(1, sizeof(*t));

	if (!t) {
		err_set(e, ENOMEM, "no memory for the sum");
		return NULL;
	}
	if (request_begin(&t->request, call, total_bytes(call->ctx), total_interrupt, e) < 0) {
		free(t);
		return NULL;
	}
	if (total_list_members(t, call->ctx, e) == 0)
		return t;
	total_free(t);
	return NULL;
}

static const struct pmu *total_pmu(const struct total *t)
{
	return t->request.call.fs->be->pmu;
}

/* Prints the set's sums. A PMD in which nothing was ever counted is left out, and buffers have no
 * sum. */
static void total_print_set(struct total *t)
{
	const struct pmu *pmu = total_pmu(t);

	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (pmu->pmds[d].buffer || (!t->sum[d] && !(t->counting & (1ULL << d))))
			continue;
		if (t->set)
			text_printf(&t->out, "set=%u ", t->set);
		text_printf(&t->out, "pmd%u %" PRIu64, pmu->pmds[d].num, t->sum[d]);
		command_print_gaps(&t->gaps[d], &t->out);
		text_printf(&t->out, "\n");
	}
	if (!t->until)
		return;
	if (t->set)
		text_printf(&t->out, "set=%u ", t->set);
	text_printf(&t->out, "active_ns %" PRIu64 "\n", t->active_ns);
}

/* Answers the read; the file is charged for the text from now on. */
static void total_finish(struct total *t)
{
	struct charge *c = &t->request.charge;
	struct err never;

	if (t->until)
		text_printf(&t->out, "elapsed_ns %" PRIu64 "\n", t->until - t->began);
	charge_set(c, c->bytes - t->charged, &never);
	if (t->request.interrupted)
		fuse_reply_err(t->request.call.req, EINTR);
	else
		call_read_done(&t->request.call, -t->err.no, &t->out, &t->err);
	total_free(t);
}

static bool total_has_set(struct fs_context *ctx, uint16_t id)
{
	const struct object *set = object_set_from(ctx, id);

	return set && set->set == id;
}

/* Prints the finished set and moves on to the next one. Returns false after the last, or on an
 * error. */
static bool total_next_set(struct total *t)
{
	struct charge *c = &t->request.charge;
	const struct object *next = object_set_from(t->request.call.ctx, t->set + 1U);

	total_print_set(t);
	if (charge_set(c, c->bytes - t->charged + t->out.room, &t->err) < 0)
		return false;
	t->charged = t->out.room;
	memset(t->sum, 0, sizeof(t->sum));
	memset(t->gaps, 0, sizeof(t->gaps));
	t->counting = 0;
	t->active_ns = 0;
	t->member = 0;
	t->set = next ? (uint16_t)next->set : 0;
	return next;
}

/* Finds the next set and member to query. Removed contexts are left out. */
static bool total_find_next(struct total *t)
{
	if (t->request.call.ctx->closed)
		err_set(&t->err, ENODEV, "the context is being removed");
	if (t->request.interrupted || t->err.no)
		return false;
	do {
		for (; t->member < t->nmembers; t->member++)
			if (!t->members[t->member]->closed &&
				total_has_set(t->members[t->member], t->set))
				return true;
	} while (total_next_set(t));
	return false;
}

static void total_add_times(struct total *t, const struct ctx_times *times)
{
	if (!times->until)
		return;
	t->active_ns += times->active;
	t->began = t->until && t->began < times->began ? t->began : times->began;
	t->until = t->until > times->until ? t->until : times->until;
}

static void total_done(struct job *job)
{
	struct total *t = container_of(job, struct total, job);
	const struct fs_context *ctx = t->members[t->member];

	t->querying = false;
	if (job->rc == 0) {
		for (unsigned d = 0; d < job->cmd.vector.nregs; d++) {
			t->sum[d] += t->regs[d].value;
			t->gaps[d].n += t->regs[d].gaps.n;
			t->gaps[d].ns += t->regs[d].gaps.ns;
			t->counting |= (pmu_rows)t->regs[d].counts << d;
		}
		total_add_times(t, &job->cmd.vector.times);
		t->member++;
	} else if (!ctx->closed) {
		t->err = job->err;
		if (t->member)
			err_prefix(&t->err, "children/%s", ctx->id.name);
	}
	if (!t->slicing)
		deferred_add(t->request.call.fs, &t->deferred);
}

static void total_query(struct total *t)
{
	const struct pmu *pmu = total_pmu(t);

	for (unsigned d = 0; d < pmu->npmds; d++)
		t->regs[d] = (struct cmd_reg){.pmd = true, .num = pmu->pmds[d].num, .set = t->set};
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

/* Answers may come at once, or later, when total_done() continues. */
static void total_slice(struct deferred *d)
{
	struct total *t = container_of(d, struct total, deferred);

	t->slicing = true;
	for (unsigned n = 0; n < TOTAL_SLICE && !t->querying; n++) {
		if (!total_find_next(t)) {
			total_finish(t);
			return;
		}
		total_query(t);
	}
	t->slicing = false;
	if (!t->querying)
		deferred_add(t->request.call.fs, d);
}

static int total_read(struct call *call, struct text *out, struct err *e)
{
	unsigned missed = atomic_load(&call->ctx->missed);
	struct total *t;

	(void)out;
	if (missed)
		return err_set(e, EIO,
			"%u threads were not followed, as contexts ran out, and are missing from "
			"the sum: read those of children/, or make room and load again",
			missed);
	t = total_new(call, e);
	if (!t)
		return -e->no;
	t->deferred = (struct deferred){.quota = t->request.charge.quota, .slice = total_slice};
	deferred_begin(call->fs, &t->deferred);
	return CALL_LATER;
}

const struct row rows_total[] = {
	/* Event sets come and go, and its size with them. */
	{FILE_ROW(DIR_CTX, "total", 0400), .length = LINES_OF_REGISTERS, .fresh = true,
		.read = total_read},
	ROW_END,
};
