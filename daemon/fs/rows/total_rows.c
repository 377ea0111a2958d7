// SPDX-License-Identifier: MIT
/*
 * total of a context: for each of its event sets, the sum of its PMDs and those of its children,
 * with the time in which these were counted. Between two queries, contexts may be made and removed.
 */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/command_request.h"

/* Queries in one turn: less than a millisecond. */
enum { TOTAL_SLICE = 256 };

/* The sums of one event set. */
struct total_set {
	uint16_t id;
	uint64_t sum[PMU_MAX_PMDS];
	struct gaps gaps[PMU_MAX_PMDS];
	/* The PMDs, by row, that count in any member. */
	pmu_rows counting;
	/* How long the set was active, summed over the members. */
	uint64_t active_ns;
};

struct total {
	struct call *call;
	/* Referenced; the context itself is first. */
	struct fs_context **members;
	unsigned nmembers;
	unsigned queries;
	/* Bytes of text that are charged. */
	size_t charged;
	/* The registers that a query reads. */
	struct cmd_reg regs[PMU_MAX_PMDS];
	struct total_set set;
	/* The earliest start and the latest stop (or now) of any member. */
	uint64_t began, until; /* 0: no member was started */
};

static void total_free(struct total *t)
{
	for (unsigned i = 0; i < t->nmembers; i++)
		context_unref(t->members[i]);
	free(t->members);
	free(t);
}

static void total_add_member(struct total *t, struct fs_context *ctx)
{
	context_ref(ctx);
	t->members[t->nmembers++] = ctx;
}

static size_t total_bytes(const struct total *t)
{
	return sizeof(*t) + t->nmembers * sizeof(t->members[0]) + 2 * CHARGE_PIECE;
}

static int total_list_members(struct total *t, struct fs_context *ctx, struct err *e)
{
	struct fs_context *c;

	t->members = malloc((1 + list_count(&ctx->children)) * sizeof(t->members[0]));
	if (!t->members)
		return err_set(e, ENOMEM, "no memory for the sum");
	total_add_member(t, ctx);
	list_for_each_entry (c, &ctx->children, sibling)
		total_add_member(t, c);
	return await_charge(t->call, total_bytes(t), e);
}

/* Prints the set's sums. A PMD in which nothing was ever counted is left out, and buffers have no
 * sum. */
static void total_print_set(const struct total *t, struct text *out)
{
	const struct pmu *pmu = t->call->fs->be->pmu;
	const struct total_set *s = &t->set;

	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (pmu->pmds[d].buffer || (!s->sum[d] && !(s->counting & (1ULL << d))))
			continue;
		if (s->id)
			text_printf(out, "set=%u ", s->id);
		text_printf(out, "pmd%u %" PRIu64, pmu->pmds[d].num, s->sum[d]);
		command_print_gaps(&s->gaps[d], out);
		text_printf(out, "\n");
	}
	if (!t->until)
		return;
	if (s->id)
		text_printf(out, "set=%u ", s->id);
	text_printf(out, "active_ns %" PRIu64 "\n", s->active_ns);
}

static bool total_has_set(struct fs_context *ctx, uint16_t id)
{
	const struct object *set = object_set_from(ctx, id);

	return set && set->set == id;
}

static void total_add(struct total *t, const struct cmd_vector *v)
{
	const struct ctx_times *times = &v->times;
	struct total_set *s = &t->set;

	for (unsigned d = 0; d < v->nregs; d++) {
		s->sum[d] += v->regs[d].value;
		s->gaps[d].n += v->regs[d].gaps.n;
		s->gaps[d].ns += v->regs[d].gaps.ns;
		s->counting |= (pmu_rows)v->regs[d].counts << d;
	}
	if (!times->until)
		return;
	s->active_ns += times->active;
	t->began = t->until && t->began < times->began ? t->began : times->began;
	t->until = t->until > times->until ? t->until : times->until;
}

/* Adds the set of one member. */
static int total_query(struct total *t, struct fs_context *ctx, struct err *e)
{
	const struct pmu *pmu = t->call->fs->be->pmu;
	struct await_job j = {
		.job =
			{
				.ec = &ctx->ec,
				.cmd =
					{
						.verb = CMD_READ,
						.limits = command_limits(t->call->fs),
						.vector.regs = t->regs,
						.vector.nregs = pmu->npmds,
					},
			},
	};

	for (unsigned d = 0; d < pmu->npmds; d++)
		t->regs[d] =
			(struct cmd_reg){.pmd = true, .num = pmu->pmds[d].num, .set = t->set.id};
	if (await_job(t->call, &j) == 0)
		total_add(t, &j.job.cmd.vector);
	else if (!ctx->closed && ctx != t->call->ctx)
		err_prefix(&j.job.err, "children/%s", ctx->id.name);
	return j.job.rc < 0 && !ctx->closed ? err_copy(e, &j.job.err) : 0;
}

/* Adds up one set of all members, and prints it. Removed members are left out. */
static int total_query_set(struct total *t, struct text *out, struct err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < t->nmembers; i++) {
		if (++t->queries % TOTAL_SLICE == 0)
			rc = await_yield(t->call, e);
		if (rc == 0 && !t->members[i]->closed && total_has_set(t->members[i], t->set.id))
			rc = total_query(t, t->members[i], e);
	}
	if (rc < 0)
		return rc;
	if (context_check_closed(t->call->ctx, e) < 0)
		return -e->no;
	total_print_set(t, out);
	if (out->room == t->charged)
		return 0;
	t->charged = out->room;
	return await_charge(t->call, total_bytes(t) + out->room, e);
}

static int total_query_sets(struct total *t, struct text *out, struct err *e)
{
	const struct object *next;
	unsigned id = 0;
	int rc;

	do {
		memset(&t->set, 0, sizeof(t->set));
		t->set.id = (uint16_t)id;
		rc = total_query_set(t, out, e);
		next = object_set_from(t->call->ctx, id + 1);
		id = next ? (unsigned)next->set : 0;
	} while (rc == 0 && next);
	if (t->until)
		text_printf(out, "elapsed_ns %" PRIu64 "\n", t->until - t->began);
	return rc;
}

static int total_read(struct call *call, struct text *out, struct err *e)
{
	unsigned missed = atomic_load(&call->ctx->missed);
	struct total *t;
	int rc;

	if (missed)
		return err_set(e, EIO,
			"%u threads were not followed, as contexts ran out, and are missing from "
			"the sum: read those of children/, or make room and load again",
			missed);
	t = calloc(1, sizeof(*t));
	if (!t)
		return err_set(e, ENOMEM, "no memory for the sum");
	t->call = call;
	rc = total_list_members(t, call->ctx, e);
	if (rc == 0)
		rc = total_query_sets(t, out, e);
	total_free(t);
	return rc;
}

const struct row rows_total[] = {
	/* Event sets come and go, and its size with them. */
	{FILE_ROW(DIR_CTX, "total", 0400), .flags = ROW_FRESH | ROW_WAITS,
		.length = LINES_OF_REGISTERS, .read = total_read},
	ROW_END,
};
