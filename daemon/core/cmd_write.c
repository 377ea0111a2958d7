// SPDX-License-Identifier: MIT
/* Writing registers (specification 3.1.2, 3.1.3), one element after the other. */
#include "daemon/core/core_i.h"

#include <inttypes.h>
#include <string.h>

/* Registers that @values need in a set that is not active are reserved: see cmd_load.c. */
static int write_reserve(struct core_run *run, const uint64_t values[PMU_MAX_PMCS], struct err *e)
{
	struct context *ctx = run->ctx;
	struct image to = ctx->res->hw, other;

	image_of(ctx->pmu, values, false, &other);
	image_reserve(ctx->pmu, &to, &other);
	return transition(run, &to, false, e);
}

static int write_registers(
	struct core_run *run, struct evtset *set, unsigned row, uint64_t value, struct err *e)
{
	struct context *ctx = run->ctx;
	uint64_t values[PMU_MAX_PMCS];
	struct image to;

	if (ctx->state == CTX_UNLOADED || ctx_saved(ctx))
		return 0;
	memcpy(values, set->pmc, ctx->pmu->npmcs * sizeof(values[0]));
	values[row] = value;
	if (set != ctx->active)
		return write_reserve(run, values, e);
	image_of(ctx->pmu, values, ctx->state == CTX_RUNNING, &to);
	return transition(run, &to, false, e);
}

static int write_needs_kernel(
	const struct pmu_pmc *pmc, const struct pmu_event *ev, uint64_t value, struct err *e)
{
	if (!ev)
		return err_set(e, EACCES,
			"pmc%u: 0x%" PRIx64 " counts at kernel level, which config/allow_kernel "
			"does not grant you: clear the bits 0x%" PRIx64,
			pmc->num, value, value & pmc->kernel);
	if (ev->both_levels && !ev->user_samples)
		return err_set(e, EACCES,
			"pmc%u: %s cannot be counted without the kernel level, which "
			"config/allow_kernel does not grant you: choose another event, or have "
			"root change that",
			pmc->num, ev->name);
	return err_set(e, EACCES,
		"pmc%u: %s counts at kernel level, which config/allow_kernel does not grant you: "
		"write %s:u for the user level alone",
		pmc->num, ev->name, ev->name);
}

/* Fails with EACCES without the right to a level, with EINVAL if the event has no levels of its
 * own. */
static int write_check_levels(const struct pmu *pmu, unsigned row, uint64_t value,
	const struct rights *rights, struct err *e)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[row];
	const struct pmu_event *ev = pmu_event_of(pmu, row, value);
	uint64_t both = pmc->user | pmc->kernel;

	if ((value & pmc->kernel) && !rights->kernel)
		return write_needs_kernel(pmc, ev, value, e);
	if (ev && ev->both_levels && (value & pmc->enable) && (value & both) != both &&
		!(ev->user_samples && (value & both) == pmc->user))
		return err_set(e, EINVAL,
			"pmc%u: 0x%" PRIx64 " is %s, which counts at both levels or not at all: "
			"write 0x%" PRIx64 "%s",
			pmc->num, value, ev->name, value | both,
			rights->kernel ? ""
				       : ", for which config/allow_kernel must grant you the "
					 "kernel level, or choose another event");
	return 0;
}

/* A value that cannot count is refused now, while the caller knows which one it has written. */
static int write_try(struct core_run *run, unsigned row, uint64_t value, struct err *e)
{
	const struct pmu *pmu = run->ctx->pmu;
	const struct pmu_pmc *pmc = &pmu->pmcs[row];
	const struct pmu_event *ev = pmu_event_of(pmu, row, value);

	if (!(value & pmc->enable) || run->io->try_selector(run, pmc->addr, value, e) == 0)
		return 0;
	return ev ? err_prefix(e, "pmc%u, %s", pmc->num, ev->name)
		  : err_prefix(e, "pmc%u, 0x%" PRIx64, pmc->num, value);
}

/* Refuses a CCCR that would count an event that nothing has selected. */
static int write_check_escr(const struct pmu *pmu, unsigned row, uint64_t value, struct err *e)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[row];

	if (!pmc->escr_select || value == pmc->def || pmu_escr_of(pmu, row, value) >= 0)
		return 0;
	return err_set(e, EINVAL,
		"pmc%u: 0x%" PRIx64
		" chooses an ESCR that the CPU lacks: write another number in its bits 0x%" PRIx64,
		pmc->num, value, pmc->escr_select);
}

/* True if the values of @set, with @value in row @row, satisfy @r. */
static bool write_satisfies(
	const struct pmu_require *r, const struct evtset *set, unsigned row, uint64_t value)
{
	bool concerned = false;

	for (unsigned i = 0; i < r->n; i++) {
		concerned |= r->pmc[i] == row;
		if ((r->pmc[i] == row ? value : set->pmc[r->pmc[i]]) & r->bits[i])
			return true;
	}
	return !concerned;
}

static int write_refuse_combination(
	const struct pmu *pmu, const struct pmu_require *r, unsigned row, struct err *e)
{
	struct err bits = {0};

	for (unsigned i = 0; i < r->n; i++) {
		struct err before = bits;

		err_set(&bits, EINVAL, "%s%s0x%" PRIx64 " of pmc%u", before.text, i ? " or " : "",
			r->bits[i], pmu->pmcs[r->pmc[i]].num);
	}
	return err_set(e, EINVAL,
		"pmc%u: the PMU counts wrongly with this value: first set one of the bits %s",
		pmu->pmcs[row].num, bits.text);
}

static int write_check_combination(const struct pmu *pmu, const struct evtset *set, unsigned row,
	uint64_t value, struct err *e)
{
	for (unsigned i = 0; i < pmu->nrequires; i++)
		if (!write_satisfies(&pmu->requires[i], set, row, value))
			return write_refuse_combination(pmu, &pmu->requires[i], row, e);
	return 0;
}

static int write_pmc(struct core_run *run, const struct command *cmd, const struct cmd_reg *r,
	struct evtset *set, unsigned row, struct err *e)
{
	const struct pmu *pmu = run->ctx->pmu;
	const struct pmu_pmc *pmc = &pmu->pmcs[row];
	uint64_t value = (r->value & ~pmc->rsvd) | (pmc->def & pmc->rsvd);

	if (r->confer && conf_check(pmu, &r->conf, e) < 0)
		return -e->no;
	if (type_check_pmc(run->ctx, pmu, row, r->value, e) < 0)
		return -e->no;
	if (write_check_levels(pmu, row, value, &cmd->rights, e) < 0 ||
		write_check_escr(pmu, row, value, e) < 0 ||
		write_check_combination(pmu, set, row, value, e) < 0)
		return -e->no;
	if (value != set->pmc[row]) {
		if (write_try(run, row, value, e) < 0)
			return -e->no;
		set->calibrated = false;
		ctx_needs_changed(run->ctx);
		if (write_registers(run, set, row, value, e) < 0)
			return -e->no;
	}
	set->pmc[row] = value;
	if (value & pmc->kernel)
		run->ctx->past.kernel_pmcs = true;
	/* For versions of the interface where a PMC configures its PMDs. */
	run->ctx->past.notify |= (r->confer & PMD_NOTICE) && (r->conf.flags & PMD_NOTIFY);
	for (unsigned d = 0; r->confer && d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == row)
			conf_store(pmu, &r->conf, r->confer, &set->pmd[d]);
	virtuals_note(set);
	return 0;
}

/* True if the active set uses the counter, but the last switch to it found the counter taken
 * over. */
static bool write_left_out(const struct context *ctx, unsigned row)
{
	return ctx->state == CTX_RUNNING && !(ctx->res->hw.pmds & ROW(row)) &&
	       image_counts(ctx->pmu, ctx->active->pmc, row);
}

static int write_taken_over(const struct context *ctx, unsigned row, struct err *e)
{
	return err_set(e, EBUSY,
		"pmd%u on CPU %u was taken over by another program: unload, see cpus, and load "
		"again",
		ctx->pmu->pmds[row].num, ctx->target.cpu);
}

/* The selector of a counter is verified before the counter is written. */
static int write_counter(struct core_run *run, unsigned row, uint64_t value, struct err *e)
{
	struct context *ctx = run->ctx;
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[row];
	uint64_t field = image_field(ctx->pmu, row) & image_kept(ctx->pmu, pmd->pmc) &
			 ~ctx->res->unsure[pmd->pmc];
	struct plan *plan = &run->plan;

	plan_clear(plan);
	plan_read(plan, ctx->pmu->pmcs[pmd->pmc].addr);
	if (!plan_run(run, plan))
		return err_copy(e, &plan->err);
	if ((plan->op[0].value ^ ctx->res->hw.sel[pmd->pmc]) & field) {
		if (ctx->state == CTX_RUNNING)
			counters_lose(ctx, counters_behind(ctx, pmd->pmc, field), LOST_STOLEN);
		run->conflict.addr = plan->op[0].addr;
		run->conflict.value = plan->op[0].value;
		return write_taken_over(ctx, row, e);
	}
	plan_clear(plan);
	plan_add(plan, REG_WRITE, pmd->addr, value & pmd->wmask, ~0ULL);
	return plan_run(run, plan) ? 0 : err_copy(e, &plan->err);
}

static int write_hardware(
	struct core_run *run, const struct cmd_reg *r, unsigned row, struct err *e)
{
	struct context *ctx = run->ctx;

	if (write_left_out(ctx, row))
		return write_taken_over(ctx, row, e);
	if (!(ctx->res->hw.pmds & ROW(row)))
		return 0;
	if (ctx->res->hw.halted)
		return err_set(e, EIO,
			"pmd%u: a stop failed half-way: stop again or unload before you write it",
			ctx->pmu->pmds[row].num);
	return write_counter(run, row, r->value, e);
}

static int write_pmd(struct core_run *run, struct command *cmd, const struct cmd_reg *r,
	struct evtset *set, unsigned row, struct err *e)
{
	struct context *ctx = run->ctx;

	if (conf_check(ctx->pmu, &r->conf, e) < 0)
		return -e->no;
	if (r->value && type_check_pmd(ctx->pmu, row, e) < 0)
		return -e->no;
	if (ctx->state != CTX_UNLOADED && !ctx_saved(ctx) && set == ctx->active &&
		write_hardware(run, r, row, e) < 0)
		return -e->no;
	loss_end(ctx, &set->pmd[row]);
	conf_write(ctx->pmu, r, run->begun, row, &set->pmd[row]);
	conf_default_resets(ctx, &set->pmd[row]);
	ctx->past.notify |= (set->pmd[row].flags & PMD_NOTIFY) != 0;
	note_period(&ctx->pmu->pmds[row], &set->pmd[row], &cmd->note);
	virtuals_note(set);
	if (!r->keep_reset || ctx->state != CTX_MASKED)
		set->pending &= ~ROW(row);
	if (set == ctx->active)
		ctx->ovfl.wrapped &= ~ROW(row);
	return 0;
}

static int write_element(
	struct core_run *run, struct command *cmd, const struct cmd_reg *r, struct err *e)
{
	struct evtset *set;
	unsigned row;

	if (element_virtual(run->ctx, r) >= 0)
		return err_set(e, EACCES, "pmd%u is a virtual PMD: it can only be read", r->num);
	if (element_find(run->ctx, r, &set, &row, e) < 0)
		return -e->no;
	return r->pmd ? write_pmd(run, cmd, r, set, row, e) : write_pmc(run, cmd, r, set, row, e);
}

static int write_elements(struct core_run *run, struct command *cmd, struct err *e)
{
	struct cmd_vector *v = &cmd->vector;

	for (unsigned i = 0; i < v->nregs; i++) {
		if (write_element(run, cmd, &v->regs[i], e) == 0)
			continue;
		v->regs[i].fault = element_fault(run->ctx, &v->regs[i]);
		return v->first_line ? err_prefix(e, "line %u", v->first_line + i) : -e->no;
	}
	return v->cut.no ? err_copy(e, &v->cut) : 0;
}

/* Updates the pages of inactive sets once, after all elements have been written. */
static void write_refresh_pages(const struct context *ctx, const struct cmd_vector *v)
{
	const struct evtset *last = ctx->active;

	for (unsigned i = 0; ctx->live.npages && i < v->nregs; i++) {
		const struct evtset *set = ctx_set(ctx, v->regs[i].set);

		if (set && set != ctx->active && set != last)
			live_refresh(ctx, set);
		last = set;
	}
}

int cmd_write(struct core_run *run, struct command *cmd, struct err *e)
{
	int rc = write_elements(run, cmd, e);

	write_refresh_pages(run->ctx, &cmd->vector);
	return rc;
}
