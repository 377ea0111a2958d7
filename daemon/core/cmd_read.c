// SPDX-License-Identifier: MIT
/* Reading registers (specification 3.1.4), and CMD_LIVE_READ, which reads without a page. */
#include "daemon/core/core_i.h"

/*
 * The counters that the vector names, and those to be reset or recorded when one of these is found
 * to have overflowed. A live page shows one reading of all counters, so then all are read.
 */
static pmu_rows read_named(const struct context *ctx, const struct cmd_vector *v)
{
	pmu_rows rows = 0;
	struct evtset *set;
	struct err ignored;
	unsigned row;

	for (unsigned i = 0; i < v->nregs; i++)
		if (v->regs[i].pmd && element_find(ctx, &v->regs[i], &set, &row, &ignored) == 0 &&
			set == ctx->active)
			rows |= ROW(row) | set->pmd[row].reset | set->pmd[row].smpl;
	return rows && ctx->active->live ? PMU_ALL_ROWS : rows;
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
	if (r->pmd && set->pmd[row].lost)
		return counter_lost(ctx, row, &set->pmd[row], e);
	if (r->pmd)
		conf_fetch(ctx->pmu, set, row, r);
	else
		r->value = set->pmc[row];
	if (r->resets)
		read_reset(run, set, row);
	return 0;
}

int cmd_read(struct core_run *run, struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;

	read_counters(run, read_named(ctx, &cmd->vector));
	account_overflows(run);
	for (unsigned i = 0; i < cmd->vector.nregs; i++) {
		struct cmd_reg *r = &cmd->vector.regs[i];

		if (read_element(run, r, e) < 0) {
			r->fault = element_fault(ctx, r);
			return -e->no;
		}
	}
	return 0;
}

int cmd_live_read(struct core_run *run, struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;
	struct evtset *set = ctx_set(ctx, cmd->evtset.id);

	if (!set)
		return err_set(e, ENOENT, "no event set %u: mkdir it first", cmd->evtset.id);
	if (set == ctx->active) {
		read_counters(run, PMU_ALL_ROWS);
		account_overflows(run);
	}
	live_show(ctx, set, cmd->live_page.shown);
	cmd->live_page.gaps = ctx->gap.count;
	return 0;
}
