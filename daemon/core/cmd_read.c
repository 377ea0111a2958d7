// SPDX-License-Identifier: MIT
/* Reading registers (specification 3.1.4), counts, and what a live page would show. */
#include <string.h>

#include "daemon/core/core_i.h"

/* The rows to read for PMD row @d: itself, and those reset or recorded if it has overflowed. */
static pmu_rows read_with(const struct evtset *set, unsigned d)
{
	return ROW(d) | set->pmd[d].reset | set->pmd[d].smpl;
}

/* Reads counters of the active set. A live page shows one reading of all counters, so with a page
 * all are read. */
static void read_active(struct core_run *run, pmu_rows rows)
{
	read_counters(run, rows && run->ctx->active->live ? PMU_ALL_ROWS : rows);
	account_overflows(run);
}

static pmu_rows read_named(const struct context *ctx, const struct cmd_vector *v)
{
	pmu_rows rows = 0;
	struct evtset *set;
	struct err ignored;
	unsigned row;

	for (unsigned i = 0; i < v->nregs; i++)
		if (v->regs[i].pmd && element_find(ctx, &v->regs[i], &set, &row, &ignored) == 0 &&
			set == ctx->active)
			rows |= read_with(set, row);
	return rows;
}

/* The long reset that follows the reading of PMD row @d (specification 6.2.2). As with any reset,
 * no register is accessed. */
static void read_reset(struct core_run *run, struct evtset *set, unsigned d)
{
	pmu_rows rows = ROW(d) | set->pmd[d].reset;

	for_each_row (i, rows)
		pmd_reset(&set->pmd[i], RESET_LONG);
	set->pending &= ~rows;
	if (set != run->ctx->active)
		live_refresh(run->ctx, set);
}

static int read_element(struct core_run *run, struct cmd_reg *r, struct err *e)
{
	const struct context *ctx = run->ctx;
	int virtual = element_virtual(ctx, r);
	struct evtset *set;
	unsigned row;

	if (virtual >= 0 && r->resets)
		return err_set(e, EINVAL, "pmd%u is a virtual PMD: it can only be read", r->num);
	if (virtual >= 0)
		return virtual_read(run, (unsigned)virtual, &r->value, e);
	if (element_find(ctx, r, &set, &row, e) < 0)
		return -e->no;
	if (r->pmd && pmd_lost(&set->pmd[row]))
		return counter_lost(ctx, row, &set->pmd[row], e);
	if (r->pmd)
		conf_fetch(ctx->pmu, set, row, r);
	else
		r->value = set->pmc[row];
	if (r->resets)
		read_reset(run, set, row);
	return 0;
}

static void read_times(const struct core_run *run, struct cmd_vector *v)
{
	const struct context *ctx = run->ctx;
	const struct evtset *set = v->nregs ? ctx_set(ctx, v->regs[0].set) : NULL;

	if (set)
		v->times = (struct ctx_times){
			.active = set->active_ns + evtset_running_ns(ctx, set, run->now),
			.began = ctx->clock.began,
			.until = ctx_until(ctx, run->clock),
		};
}

int cmd_read(struct core_run *run, struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;

	read_active(run, read_named(ctx, &cmd->vector));
	for (unsigned i = 0; i < cmd->vector.nregs; i++) {
		struct cmd_reg *r = &cmd->vector.regs[i];

		if (read_element(run, r, e) < 0) {
			r->fault = element_fault(ctx, r);
			return -e->no;
		}
	}
	read_times(run, &cmd->vector);
	return 0;
}

int cmd_live_read(struct core_run *run, struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;
	struct evtset *set = ctx_set(ctx, cmd->evtset.id);

	if (!set)
		return err_set(e, ENOENT, "no event set %u: mkdir it first", cmd->evtset.id);
	if (set == ctx->active)
		read_active(run, PMU_ALL_ROWS);
	live_show(ctx, set, cmd->live_page.shown);
	return 0;
}

/* NULL: there is no such set or PMD. */
static struct evtset *read_find_count(
	const struct context *ctx, const struct cmd_count *c, unsigned *row)
{
	int d = pmu_find_pmd(ctx->pmu, c->num);

	*row = (unsigned)d;
	return d < 0 ? NULL : ctx_set(ctx, c->set);
}

static void read_take_count(const struct context *ctx, struct cmd_count *c)
{
	unsigned row;
	const struct evtset *set = read_find_count(ctx, c, &row);

	c->state = COUNT_ABSENT;
	if (!set)
		return;
	c->state = pmd_lost(&set->pmd[row]) ? COUNT_LOST : COUNT_KNOWN;
	c->value = pmd_value(ctx->pmu, set, row);
}

int cmd_counts(struct core_run *run, struct command *cmd)
{
	struct context *ctx = run->ctx;
	struct cmd_counts *counts = &cmd->counts;
	pmu_rows rows = 0;
	unsigned row;

	for (unsigned i = 0; i < counts->n; i++)
		if (read_find_count(ctx, &counts->count[i], &row) == ctx->active)
			rows |= read_with(ctx->active, row);
	read_active(run, rows);
	for (unsigned i = 0; i < counts->n; i++)
		read_take_count(ctx, &counts->count[i]);
	counts->gaps = ctx->gap.count;
	return 0;
}

static int read_kept_threads(
	const struct thread_table *from, struct thread_table *to, struct err *e)
{
	if (!thread_table_init(to, from->n, from->ncounters))
		return err_set(e, ENOMEM, "no memory for the counts of %u threads", from->n);
	to->n = from->n;
	if (!from->n)
		return 0;
	memcpy(to->addr, from->addr, sizeof(to->addr));
	memcpy(to->thread, from->thread, from->n * sizeof(*to->thread));
	memcpy(to->value, from->value, (size_t)from->n * from->ncounters * sizeof(*to->value));
	return 0;
}

int cmd_threads(struct core_run *run, struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;

	if (ctx->state == CTX_UNLOADED)
		return read_kept_threads(&ctx->threads, cmd->threads, e);
	return run->io->threads ? run->io->threads(run, cmd->threads, e) : 0;
}
