// SPDX-License-Identifier: MIT
/*
 * Overflow with a sampling format (specification 3.5.14): the format's handler records it and
 * decides what follows. Overflow is found by reading counters, so one call stands for all overflows
 * of a PMD since the last reading. Each would have reset the PMD, so its value is what it has
 * counted since the last of them.
 */
#include "daemon/core/core_i.h"

static void sample_add(pfm_ovfl_arg_t *arg, unsigned num, uint64_t value, unsigned n)
{
	arg->smpl_pmds[num / 64] |= 1ULL << num % 64;
	arg->smpl_pmds_values[n] = value;
}

/*
 * Gathers the values for a sample of PMD row @d, from this reading; all ones where there is none.
 * Virtual PMDs have the highest numbers, so they come last.
 */
static void sample_gather(const struct context *ctx, unsigned d, const struct virtual_values *virt,
	pfm_ovfl_arg_t *arg)
{
	const struct pmu *pmu = ctx->pmu;
	const struct pmd_state *of = &ctx->active->pmd[d];
	unsigned n = 0;

	for_each_row (i, of->smpl) {
		const struct pmd_state *s = &ctx->active->pmd[i];
		uint64_t value = pmd_lost(s) ? UINT64_MAX : s->n.value;

		if (s->flags & PMD_NO64)
			value &= pmd_width_mask(&pmu->pmds[i]);
		sample_add(arg, pmu->pmds[i].num, value, n++);
	}
	for_each_row (i, of->virtuals)
		sample_add(arg, pmu->virtuals[i].num,
			virt->valid & ROW(i) ? virt->value[i] : UINT64_MAX, n++);
}

/* True unless the format has failed; @arg then holds its decisions. */
static bool sample_record(struct core_run *run, unsigned d, uint32_t overflows, pfm_ovfl_arg_t *arg)
{
	struct context *ctx = run->ctx;
	const struct pmd_state *s = &ctx->active->pmd[d];
	pfm_smpl_where_t where = core_where(run);

	arg->ovfl_pmd = ctx->pmu->pmds[d].num;
	arg->active_set = ctx->active->id;
	arg->ovfl_ctrl = (pfm_ovfl_ctrl_t){0};
	arg->pmd_last_reset = s->n.last_reset;
	arg->pmd_value = s->n.value;
	arg->pmd_eventid = s->eventid;
	arg->ovfl_notify = (s->flags & PMD_NOTIFY) != 0;
	arg->ovfl_count = overflows;
	for (unsigned i = 0; i < PFM_FMT_BV; i++)
		arg->smpl_pmds[i] = 0;
	sample_gather(ctx, d, &run->virt, arg);
	if (!run->interrupted)
		where.cpu = (uint16_t)ctx->target.cpu;
	return ctx->smpl.fmt->fmt_handler(ctx->smpl.buf, arg, ctx->samples.tstamp, &where) == 0;
}

/*
 * Counts the overflows of PMD row @d, and leaves it as after the last of them. @after: what a reset
 * makes it.
 */
static uint32_t sample_count(
	struct context *ctx, unsigned d, pmu_rows *triggers, uint64_t now, struct pmd_count *after)
{
	struct pmd_state *s = &ctx->active->pmd[d];
	struct pmd_count last;
	uint32_t n = 0;

	do {
		if (overflow_count(ctx, s, now))
			*triggers |= ROW(d);
		n++;
		last = s->n;
		pmd_reset(s, RESET_SHORT);
		s->n.value += last.value;
	} while (s->n.value < last.value && !ctx->ovfl.mask_due);
	*after = s->n;
	s->n = last;
	return n;
}

/* The format has failed: sampling ends until the user restarts it. */
static void sample_fail(struct context *ctx)
{
	ctx->ovfl.mask_due |= MASK_FORMAT;
	ctx->ovfl.notify = true;
}

/* Calls the format for PMD row @d. True if the PMD is to be reset, unless monitoring is masked. */
static bool sample_handle(struct core_run *run, unsigned d, uint32_t overflows)
{
	struct context *ctx = run->ctx;
	pfm_ovfl_arg_t arg;

	if ((ctx->ovfl.mask_due & MASK_FORMAT) || !sample_record(run, d, overflows, &arg)) {
		sample_fail(ctx);
		return false;
	}
	if (arg.ovfl_ctrl.notify_user && (ctx->active->pmd[d].flags & PMD_NOTIFY))
		ctx->ovfl.notify = true;
	if (arg.ovfl_ctrl.block_thread && (ctx->flags & CTX_NOTIFY_BLOCK))
		ctx->ovfl.block = true;
	if (arg.ovfl_ctrl.mask_monitoring)
		ctx->ovfl.mask_due |= MASK_NOTIFY;
	return arg.ovfl_ctrl.reset_ovfl_pmds;
}

/* Resets follow all samples: if the format masks for one PMD, every PMD stays as it is. */
pmu_rows sample_overflows(struct core_run *run, pmu_rows rows, pmu_rows *triggers)
{
	struct context *ctx = run->ctx;
	struct evtset *set = ctx->active;
	struct pmd_count after[PMU_MAX_PMDS];
	uint32_t n[PMU_MAX_PMDS];
	pmu_rows resets = 0, others = 0;

	ctx->samples.tstamp =
		run->clock > ctx->samples.tstamp ? run->clock : ctx->samples.tstamp + 1;
	for_each_row (d, rows)
		n[d] = sample_count(ctx, d, triggers, run->now, &after[d]);
	for_each_row (d, rows)
		if (sample_handle(run, d, n[d]))
			resets |= ROW(d);
	if (ctx->ovfl.mask_due)
		resets = 0;
	for_each_row (d, resets) {
		set->pmd[d].n = after[d];
		others |= set->pmd[d].reset;
	}
	set->pending |= rows & ~resets;
	return others;
}

void ctx_event(struct context *ctx, const pfm_smpl_event_t *event)
{
	if ((ctx->ovfl.mask_due & MASK_FORMAT) ||
		ctx->smpl.fmt->fmt_event(ctx->smpl.buf, event) == 0)
		return;
	sample_fail(ctx);
}
