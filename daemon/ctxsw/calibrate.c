// SPDX-License-Identifier: MIT
/* Preparing a CPU for the PMCs of a context: reserving, trying and calibrating them. */
#include <errno.h>

#include "daemon/ctxsw/ctxsw_i.h"

enum { CALIBRATE_RUNS = 8 }; /* the minimum is used */

static int calibrate_write_regs(
	struct ctxsw_thread *ct, struct cmd_reg *regs, unsigned n, struct err *e)
{
	struct command write = {
		.verb = CMD_WRITE,
		.vector.regs = regs,
		.vector.nregs = n,
		.rights = {.kernel = true},
	};

	return ctxsw_exec_cpu_ctx(ct, &write, e);
}

/* Writes the PMCs of @set or, if it is NULL, their defaults, which reserve nothing. */
static int calibrate_write_pmcs(struct ctxsw_thread *ct, const struct evtset *set, struct err *e)
{
	const struct pmu *pmu = ct->shared->be->pmu;
	struct cmd_reg regs[PMU_MAX_PMCS] = {{0}};

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		regs[p].num = pmu->pmcs[p].num;
		regs[p].value = set ? set->pmc[p] : pmu->pmcs[p].def;
	}
	return calibrate_write_regs(ct, regs, pmu->npmcs, e);
}

/* Writing a PMD makes it valid again. */
static int calibrate_clear_pmds(struct ctxsw_thread *ct, struct err *e)
{
	const struct pmu *pmu = ct->shared->be->pmu;
	struct cmd_reg regs[PMU_MAX_PMDS] = {{0}};

	for (unsigned d = 0; d < pmu->npmds; d++) {
		regs[d].pmd = true;
		regs[d].num = pmu->pmds[d].num;
	}
	return calibrate_write_regs(ct, regs, pmu->npmds, e);
}

/* Drops and renews the CPU's reservation: registers that another user of the PMU took over and gave
 * back since can only be reserved again from scratch. */
static int calibrate_start_over(struct ctxsw_thread *ct, struct err *e)
{
	struct command unload = {.verb = CMD_UNLOAD};
	int rc = ctxsw_exec_cpu_ctx(ct, &unload, e);

	if (rc == 0)
		rc = calibrate_write_pmcs(ct, NULL, e);
	if (rc == 0)
		rc = calibrate_clear_pmds(ct, e);
	return rc < 0 ? rc : ctxsw_load_cpu_ctx(ct, e);
}

/* Lowers @least to what switching in and out, with no thread in between, adds to each counter. */
static void calibrate_once(struct ctxsw_thread *ct, uint64_t least[PMU_MAX_PMDS])
{
	struct evtset *set = ct->cpu_ctx.active;
	uint64_t before[PMU_MAX_PMDS];
	struct timespec none = {0};

	for (unsigned d = 0; d < set->npmds; d++)
		before[d] = set->pmd[d].n.value;
	ctxsw_sched_in(ct, &ct->cpu_ctx);
	ctxsw_run_window(ct, &none);
	ctxsw_sched_out(ct, &ct->cpu_ctx);
	for (unsigned d = 0; d < set->npmds; d++)
		if (set->pmd[d].n.value - before[d] < least[d])
			least[d] = set->pmd[d].n.value - before[d];
}

static int calibrate_measure(struct ctxsw_thread *ct, uint64_t least[PMU_MAX_PMDS], struct err *e)
{
	struct command start = {.verb = CMD_START, .rights = {.kernel = true}};
	struct command stop = {.verb = CMD_STOP};
	int rc;

	for (unsigned d = 0; d < PMU_MAX_PMDS; d++)
		least[d] = UINT32_MAX;
	rc = ctxsw_exec_cpu_ctx(ct, &start, e);
	if (rc < 0)
		return rc;
	exec_freeze(&ct->x, &ct->cpu_ctx);
	/* From here on, all switches are alike. */
	ctxsw_sched_out(ct, &ct->cpu_ctx);
	for (unsigned i = 0; i < CALIBRATE_RUNS; i++)
		calibrate_once(ct, least);
	return ctxsw_exec_cpu_ctx(ct, &stop, e);
}

static int calibrate_set(
	struct ctxsw_thread *ct, struct context *ctx, struct evtset *set, struct err *e)
{
	pmu_rows pmds = ctx_calibratable(ctx, set);
	uint64_t least[PMU_MAX_PMDS];
	int rc;

	for (unsigned d = 0; d < set->npmds; d++)
		set->pmd[d].switch_overhead = 0;
	set->calibrated = !pmds;
	if (!pmds)
		return 0;
	rc = calibrate_measure(ct, least, e);
	if (rc < 0)
		return rc;
	for_each_row (d, pmds) {
		if (ct->cpu_ctx.active->pmd[d].lost)
			return err_set(e, EBUSY,
				"pmd%u has just been taken over on CPU %u: see cpus",
				ct->shared->be->pmu->pmds[d].num, ct->cpu);
		set->pmd[d].switch_overhead = (uint32_t)least[d];
		atomic_store(&ct->shared->stats->ctxsw_overhead, least[d]);
	}
	set->calibrated = true;
	return 0;
}

/* Reserves what the sets of @ctx need, tries it, and calibrates the sets that are not yet
 * calibrated. */
static int calibrate_sets(struct ctxsw_thread *ct, struct context *ctx, struct err *e)
{
	bool reserved = ctx_has_reserved(ctx, &ct->cpu_ctx.own);
	int rc = 0;

	if (reserved && ctx->needs.calibrated)
		return 0;
	for (unsigned i = 0; rc == 0 && i < ctx->nsets; i++) {
		struct evtset *set = ctx->sets[i];

		if (reserved && set->calibrated)
			continue;
		rc = calibrate_write_pmcs(ct, set, e);
		if (rc == 0 && !set->calibrated)
			rc = calibrate_set(ct, ctx, set, e);
	}
	ctx->needs.calibrated = rc == 0;
	return rc;
}

int ctxsw_reserve(struct ctxsw_thread *ct, struct context *ctx, struct err *e)
{
	int rc = calibrate_sets(ct, ctx, e);

	if (rc == -EBUSY || (rc == 0 && !ctx_has_reserved(ctx, &ct->cpu_ctx.own))) {
		rc = calibrate_start_over(ct, e);
		if (rc == 0)
			rc = calibrate_sets(ct, ctx, e);
	}
	return rc;
}

int ctxsw_release_shared(struct ctxsw_thread *ct, const struct context *ctx, struct err *e)
{
	return ctx_shares_registers(ctx) ? calibrate_start_over(ct, e) : 0;
}

int ctxsw_prepare(struct ctxsw_thread *ct, struct context *ctx, struct err *e)
{
	int rc = ctxsw_open_sampler(ct, ctx, e);

	if (rc == 0)
		rc = ctxsw_reserve(ct, ctx, e);
	return rc < 0 ? rc : ctxsw_release_shared(ct, ctx, e);
}
