// SPDX-License-Identifier: MIT
/* The registers that a loaded context has: which they are, and giving them up. */
#include "daemon/core/core_i.h"

void registers_image(const struct context *ctx, const struct evtset *set, struct image *im)
{
	struct image other;

	image_of(ctx->pmu, set->pmc, false, im);
	for (unsigned i = 0; i < ctx->nsets; i++) {
		image_of(ctx->pmu, ctx->sets[i]->pmc, false, &other);
		image_reserve(ctx->pmu, im, &other);
	}
}

/* Stops running counters. Restoring registers stops them, too, so a failure is only reported. */
static void registers_stop(struct core_run *run, enum ctx_state then, struct err *failed)
{
	struct context *ctx = run->ctx;

	if (stop_counters(run, failed) == 0)
		ctx_stopped(ctx, then, run->clock);
	account_overflows(run);
	if (failed->no == ENXIO)
		failed->no = 0; /* a CPU that is offline has no registers to restore */
}

/* Gives up the selectors that were taken over while the counters were stopped. */
static void registers_verify(struct core_run *run)
{
	struct context *ctx = run->ctx;
	const struct pmu *pmu = ctx->pmu;
	struct plan *plan = &run->plan;

	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (ctx->res->reserved_sel[p])
			plan_read(plan, pmu->pmcs[p].addr);
	do {
		plan_run(run, plan);
		for (unsigned p = 0; p < pmu->npmcs; p++) {
			const struct reg_op *op = plan_result(plan, pmu->pmcs[p].addr);
			uint64_t differ = reservation_differs(ctx, p, op);

			if (differ)
				reservation_lose(ctx, p, differ);
		}
	} while (plan_failed(plan) && plan_rest(plan));
}

/*
 * Bits that overflows have left in the overflow status. Those of a thread are on the CPUs where it
 * has run: the backend clears them when it closes a CPU.
 */
static uint64_t registers_status_bits(const struct context *ctx)
{
	if (!ctx->pmu->clear || ctx->status.unreadable || ctx->target.tid)
		return 0;
	return image_global_bits(ctx->pmu, ctx->status.set);
}

/*
 * Restores selectors first, the global control last. A counter whose selector was taken over has a
 * new user, and so has its bit of the global control: both are forgotten, which costs no access.
 */
static void registers_plan_release(const struct context *ctx, struct plan *plan)
{
	const struct pmu_reservation *res = ctx->res;
	const struct pmu *pmu = ctx->pmu;
	uint64_t kept = 0, released, status;

	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t bits = reservation_bits(pmu, p, res->reserved_sel[p]);

		if (bits)
			plan_add(plan, REG_RELEASE, pmu->pmcs[p].addr, 0, bits);
		if (res->hw.pmcs & ROW(p))
			plan_add(plan, REG_FORGET, pmu->pmcs[p].addr, 0, ~bits);
	}
	for (unsigned d = 0; d < pmu->npmds; d++) {
		bool reserved = res->reserved_sel[pmu->pmds[d].pmc] & image_field(pmu, d);

		if (reserved)
			kept |= image_global_bits(pmu, ROW(d));
		if (res->reserved_pmds & ROW(d))
			plan_add(plan, reserved ? REG_RELEASE : REG_FORGET, pmu->pmds[d].addr, 0,
				~0ULL);
	}
	released = res->reserved_global & kept;
	status = registers_status_bits(ctx) & kept;
	if (status)
		plan_add(plan, REG_WRITE, pmu->clear, status, ~0ULL);
	if (released)
		plan_add(plan, REG_RELEASE, pmu->global_ctrl, 0, released);
	if (res->reserved_global & ~released)
		plan_add(plan, REG_FORGET, pmu->global_ctrl, 0, res->reserved_global & ~released);
}

void registers_release(struct core_run *run, enum ctx_state then, struct err *failed)
{
	struct context *ctx = run->ctx;

	if (ctx->state == CTX_RUNNING)
		registers_stop(run, then, failed);
	else
		registers_verify(run);
	registers_plan_release(ctx, &run->plan);
	plan_run_all(run, failed);
	*ctx->res = (struct pmu_reservation){0};
	ctx->status.set = 0;
}
