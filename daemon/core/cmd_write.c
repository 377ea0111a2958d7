// SPDX-License-Identifier: MIT
/* Reading and writing registers by vectors (specification 3.1.2 to 3.1.4). */
#include "daemon/core/core_i.h"

#include <inttypes.h>
#include <string.h>

static int find_element(const struct context *ctx, const struct cmd_reg *r, struct evtset **set,
	unsigned *row, struct err *e)
{
	int found = r->pmd ? pmu_find_pmd(ctx->pmu, r->num) : pmu_find_pmc(ctx->pmu, r->num);

	*set = ctx_set(ctx, r->set);
	if (!*set)
		return err_set(e, ENOENT, "no event set %u: make it first", r->set);
	if (found < 0)
		return err_set(e, ENOENT, "this PMU has no %s%u: see pmu/%ss",
			r->pmd ? "pmd" : "pmc", r->num, r->pmd ? "pmd" : "pmc");
	*row = (unsigned)found;
	return 0;
}

static int virtual_row(const struct context *ctx, const struct cmd_reg *r)
{
	return r->pmd && ctx_set(ctx, r->set) ? pmu_find_virtual(ctx->pmu, r->num) : -1;
}

/* With those that are to be reset or recorded when one is found to have overflowed. */
static uint32_t live_in_vector(const struct context *ctx, const struct command *cmd)
{
	uint32_t rows = 0;
	struct evtset *set;
	struct err ignored;
	unsigned row;

	for (unsigned i = 0; i < cmd->nregs; i++)
		if (cmd->regs[i].pmd &&
			find_element(ctx, &cmd->regs[i], &set, &row, &ignored) == 0 &&
			set == ctx->active)
			rows |= ROW(row) | set->pmd[row].reset | set->pmd[row].smpl;
	/* What a page shows is of one look. */
	return live_rows(ctx, rows && ctx->active->live ? ~0U : rows);
}

static enum cmd_fault fault_of(const struct context *ctx, const struct cmd_reg *r)
{
	const struct pmu *pmu = ctx->pmu;

	if (!ctx_set(ctx, r->set))
		return FAULT_NOSET;
	if (r->pmd ? pmu_find_pmd(pmu, r->num) < 0 && pmu_find_virtual(pmu, r->num) < 0
		   : pmu_find_pmc(pmu, r->num) < 0)
		return FAULT_NOTAVAIL;
	return FAULT_REFUSED;
}

static int fill_element(
	struct context *ctx, struct cmd_reg *r, const struct plan *plan, struct err *e)
{
	int virtual = virtual_row(ctx, r), rc;
	struct evtset *set;
	unsigned row;

	if (virtual >= 0)
		return virtual_read(ctx, (unsigned)virtual, plan, &r->value, e);
	rc = find_element(ctx, r, &set, &row, e);
	if (rc < 0)
		return rc;
	if (r->pmd && set->pmd[row].lost)
		return counter_lost(ctx, row, set->pmd[row].lost, e);
	if (r->pmd)
		conf_fetch(ctx->pmu, set, row, r);
	else
		r->value = set->pmc[row];
	return 0;
}

static int fill_vector(
	struct context *ctx, struct command *cmd, const struct plan *plan, struct err *e)
{
	for (unsigned i = 0; i < cmd->nregs; i++) {
		struct cmd_reg *r = &cmd->regs[i];
		int rc = fill_element(ctx, r, plan, e);

		if (rc < 0) {
			r->fault = fault_of(ctx, r);
			return rc;
		}
	}
	return 0;
}

int step_read(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	if (look_at(ctx, st, plan, live_in_vector(ctx, cmd)) == CORE_RUN)
		return CORE_RUN;
	overflow_settle(ctx, plan);
	return fill_vector(ctx, cmd, plan, e);
}

/* What a set that is not active comes to use is claimed, so that no switch finds it taken. */
static int reserve(struct context *ctx, const uint64_t values[PMU_MAX_PMCS], struct step *st,
	struct plan *plan, struct err *e)
{
	struct image other;

	image_of(ctx->pmu, values, false, &other);
	st->target = ctx->hold->hw;
	image_reserve(ctx->pmu, &st->target, &other);
	return transition_begin(ctx, st, plan, e);
}

static int write_pmc(struct context *ctx, const struct command *cmd, struct evtset *set,
	unsigned row, uint64_t value, struct step *st, struct plan *plan, struct err *e)
{
	const struct pmu_pmc *pmc = &ctx->pmu->pmcs[row];
	uint64_t values[PMU_MAX_PMCS];

	if ((value & pmc->kernel) && !cmd->rights.kernel)
		return err_set(e, EACCES,
			"pmc%u: 0x%" PRIx64 " counts at kernel level, which config/allow_kernel "
			"does not grant you: clear the bits 0x%" PRIx64,
			pmc->num, value, value & pmc->kernel);
	if (value == set->pmc[row])
		return CORE_DONE;
	set->gauged = false;
	if (ctx->state == CTX_UNLOADED || ctx_parked(ctx))
		return CORE_DONE;
	memcpy(values, set->pmc, ctx->pmu->npmcs * sizeof(values[0]));
	values[row] = value;
	if (set != ctx->active)
		return reserve(ctx, values, st, plan, e);
	image_of(ctx->pmu, values, ctx->state == CTX_RUNNING, &st->target);
	return transition_begin(ctx, st, plan, e);
}

/* The active set is to count by it, but a switch to that set found it taken over. */
static bool left_out(const struct context *ctx, unsigned row)
{
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[row];
	uint64_t used = ctx->active->pmc[pmd->pmc] ^ ctx->pmu->pmcs[pmd->pmc].def;

	return ctx->state == CTX_RUNNING && !(ctx->hold->hw.pmds & ROW(row)) && (used & pmd->field);
}

static int taken_over(const struct context *ctx, unsigned row, struct err *e)
{
	return err_set(e, EBUSY,
		"pmd%u on CPU %u was taken over by somebody else: unload, see cpus, and load again",
		ctx->pmu->pmds[row].num, ctx->cpu);
}

static int write_pmd(struct context *ctx, struct evtset *set, unsigned row, struct step *st,
	struct plan *plan, struct err *e)
{
	const struct pmu *pmu = ctx->pmu;
	const struct pmu_pmc *pmc = &pmu->pmcs[pmu->pmds[row].pmc];

	if (ctx->state == CTX_UNLOADED || ctx_parked(ctx) || set != ctx->active)
		return CORE_DONE;
	if (left_out(ctx, row))
		return taken_over(ctx, row, e);
	if (!(ctx->hold->hw.pmds & ROW(row)))
		return CORE_DONE;
	if (ctx->hold->hw.halted)
		return err_set(e, EIO,
			"pmd%u: a stop failed half-way: stop again or unload before you write it",
			pmu->pmds[row].num);
	plan_clear(plan);
	plan_add(plan, REG_READ, pmc->addr, 0, 0);
	st->phase = PHASE_PMD_LOOK;
	return CORE_RUN;
}

static int write_pmd_look(struct context *ctx, unsigned row, uint64_t value, struct step *st,
	struct plan *plan, struct err *e)
{
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[row];
	uint64_t field = image_field(ctx->pmu, row);

	if (plan_failed(plan)) {
		*e = plan->err;
		return -e->no;
	}
	if ((plan->op[0].value ^ ctx->hold->hw.sel[pmd->pmc]) & field) {
		if (ctx->state == CTX_RUNNING)
			counters_lose(ctx, counters_behind(ctx, pmd->pmc, field), LOST_STOLEN);
		st->blame = plan->op[0].addr;
		st->blame_value = plan->op[0].value;
		return taken_over(ctx, row, e);
	}
	plan_clear(plan);
	plan_add(plan, REG_WRITE, pmd->addr, value & pmd->wmask, ~0ULL);
	st->phase = PHASE_PMD_SET;
	return CORE_RUN;
}

/* What a PMC says of its PMDs, where it is the PMC that says it. */
static void confer(
	const struct context *ctx, const struct cmd_reg *r, struct evtset *set, unsigned row)
{
	for (unsigned d = 0; r->confer && d < ctx->pmu->npmds; d++)
		if (ctx->pmu->pmds[d].pmc == row)
			conf_store(ctx->pmu, &r->conf, r->confer, &set->pmd[d]);
	virtuals_note(set);
}

/* One step of the element that st->element points to. */
static int write_step(struct context *ctx, const struct command *cmd, struct step *st,
	struct plan *plan, struct err *e)
{
	const struct cmd_reg *r = &cmd->regs[st->element];
	uint64_t value = r->value;
	struct evtset *set;
	unsigned row;
	int rc;

	if (virtual_row(ctx, r) >= 0)
		return err_set(e, EACCES, "pmd%u is a virtual PMD: it can only be read", r->num);
	rc = find_element(ctx, r, &set, &row, e);
	if (rc < 0)
		return rc;
	if (!r->pmd) {
		const struct pmu_pmc *pmc = &ctx->pmu->pmcs[row];

		value = (value & ~pmc->rsvd) | (pmc->def & pmc->rsvd);
		if (transition_active(st))
			rc = transition_step(ctx, st, plan, e);
		else if (r->confer && conf_check(ctx->pmu, &r->conf, e) < 0)
			rc = -e->no;
		else
			rc = write_pmc(ctx, cmd, set, row, value, st, plan, e);
		if (rc != CORE_DONE)
			return rc;
		set->pmc[row] = value;
		confer(ctx, r, set, row);
		return CORE_DONE;
	}
	switch (st->phase) {
	case PHASE_START:
		rc = conf_check(ctx->pmu, &r->conf, e);
		if (rc == 0)
			rc = write_pmd(ctx, set, row, st, plan, e);
		break;
	case PHASE_PMD_LOOK:
		rc = write_pmd_look(ctx, row, value, st, plan, e);
		break;
	default: /* PHASE_PMD_SET */
		if (plan_failed(plan)) {
			*e = plan->err;
			return -e->no;
		}
		rc = CORE_DONE;
	}
	if (rc == CORE_DONE) {
		conf_write(ctx->pmu, r, plan->at, row, &set->pmd[row]);
		virtuals_note(set);
		set->pending &= ~ROW(row);
		if (set == ctx->active)
			ctx->wrapped &= ~ROW(row);
	}
	return rc;
}

/* Pages of sets that are not active show all that was written, or nothing yet. */
static void show_written(const struct context *ctx, const struct command *cmd)
{
	const struct evtset *last = ctx->active;

	for (unsigned i = 0; ctx->nlive && i < cmd->nregs; i++) {
		const struct evtset *set = ctx_set(ctx, cmd->regs[i].set);

		if (set && set != ctx->active && set != last)
			live_refresh(ctx, set);
		last = set;
	}
}

static int write_all(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	while (st->element < cmd->nregs) {
		int rc = write_step(ctx, cmd, st, plan, e);

		if (rc < 0)
			cmd->regs[st->element].fault = fault_of(ctx, &cmd->regs[st->element]);
		if (rc < 0 && cmd->first_line)
			return err_prefix(e, "line %u", cmd->first_line + st->element);
		if (rc != CORE_DONE)
			return rc;
		st->phase = PHASE_START;
		st->element++;
	}
	if (!cmd->cut.no)
		return CORE_DONE;
	*e = cmd->cut;
	return -e->no;
}

int step_write(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	int rc = write_all(ctx, cmd, st, plan, e);

	if (rc != CORE_RUN)
		show_written(ctx, cmd);
	return rc;
}
