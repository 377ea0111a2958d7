// SPDX-License-Identifier: MIT
/* Preparing for what the PMCs of a context ask for: they are claimed, tried and gauged. */
#include <errno.h>

#include "daemon/track/carrier_i.h"

enum { GAUGINGS = 8 }; /* of which the least counts */

static int write_regs(struct carrier *c, struct cmd_reg *regs, unsigned n, struct err *e)
{
	struct command write = {
		.verb = CMD_WRITE,
		.regs = regs,
		.nregs = n,
		.rights = {.kernel = true},
	};

	return carrier_scratch(c, &write, e);
}

/* @set NULL: as they are by default, which claims nothing. */
static int write_pmcs(struct carrier *c, const struct evtset *set, struct err *e)
{
	const struct pmu *pmu = c->tr->be->pmu;
	struct cmd_reg regs[PMU_MAX_PMCS] = {{0}};

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		regs[p].num = pmu->pmcs[p].num;
		regs[p].value = set ? set->pmc[p] : pmu->pmcs[p].def;
	}
	return write_regs(c, regs, pmu->npmcs, e);
}

/* So that none is lost any more. */
static int clear_pmds(struct carrier *c, struct err *e)
{
	const struct pmu *pmu = c->tr->be->pmu;
	struct cmd_reg regs[PMU_MAX_PMDS] = {{0}};

	for (unsigned d = 0; d < pmu->npmds; d++) {
		regs[d].pmd = true;
		regs[d].num = pmu->pmds[d].num;
	}
	return write_regs(c, regs, pmu->npmds, e);
}

/* What somebody has taken over, and given back since, can be claimed only by one who claims it
 * anew.
 */
static int start_over(struct carrier *c, struct err *e)
{
	struct command unload = {.verb = CMD_UNLOAD};
	int rc = carrier_scratch(c, &unload, e);

	if (rc == 0)
		rc = write_pmcs(c, NULL, e);
	if (rc == 0)
		rc = clear_pmds(c, e);
	return rc < 0 ? rc : carrier_load_scratch(c, e);
}

/* What one way in and out, with no thread in between, adds to each counter. */
static void ride_alone(struct carrier *c, uint64_t least[PMU_MAX_PMDS])
{
	struct evtset *set = c->scratch.active;
	uint64_t before[PMU_MAX_PMDS];
	struct timespec none = {0};

	for (unsigned d = 0; d < set->npmds; d++)
		before[d] = set->pmd[d].n.value;
	carrier_put_in(c, &c->scratch);
	carrier_ride(c, &c->scratch, &none);
	carrier_take_out(c, &c->scratch);
	for (unsigned d = 0; d < set->npmds; d++)
		if (set->pmd[d].n.value - before[d] < least[d])
			least[d] = set->pmd[d].n.value - before[d];
}

static int gauge(struct carrier *c, struct context *ctx, struct evtset *set, struct err *e)
{
	struct command start = {.verb = CMD_START}, stop = {.verb = CMD_STOP};
	uint32_t rows = ctx_gaugeable(ctx, set);
	uint64_t least[PMU_MAX_PMDS];
	int rc;

	for (unsigned d = 0; d < set->npmds; d++) {
		set->pmd[d].carry = 0;
		least[d] = UINT32_MAX;
	}
	set->gauged = !rows;
	if (!rows)
		return 0;
	rc = carrier_scratch(c, &start, e);
	if (rc < 0)
		return rc;
	exec_quiet(&c->x, &c->scratch);
	carrier_take_out(c, &c->scratch); /* from here on, all ways in and out are alike */
	for (unsigned i = 0; i < GAUGINGS; i++)
		ride_alone(c, least);
	rc = carrier_scratch(c, &stop, e);
	if (rc < 0)
		return rc;
	for (unsigned d = 0; d < set->npmds; d++) {
		if (!(rows & ROW(d)))
			continue;
		if (c->scratch.active->pmd[d].lost)
			return err_set(e, EBUSY,
				"pmd%u has been taken over on CPU %u just now: see cpus",
				c->tr->be->pmu->pmds[d].num, c->cpu);
		set->pmd[d].carry = (uint32_t)least[d];
		atomic_store(&c->tr->stats->carry, least[d]);
	}
	set->gauged = true;
	return 0;
}

/* Claims what the sets of @ctx need, tries it, and gauges it. */
static int claim(struct carrier *c, struct context *ctx, struct err *e)
{
	bool held = ctx_holds(ctx, &c->scratch.own);
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < ctx->nsets; i++) {
		struct evtset *set = ctx->sets[i];

		if (held && set->gauged)
			continue;
		rc = write_pmcs(c, set, e);
		if (rc == 0 && !set->gauged)
			rc = gauge(c, ctx, set, e);
	}
	return rc;
}

int carrier_hold(struct carrier *c, struct context *ctx, struct err *e)
{
	int rc = claim(c, ctx, e);

	if (rc == -EBUSY || (rc == 0 && !ctx_holds(ctx, &c->scratch.own))) {
		rc = start_over(c, e);
		if (rc == 0)
			rc = claim(c, ctx, e);
	}
	return rc;
}

int carrier_prepare(struct carrier *c, struct context *ctx, struct err *e)
{
	int rc = carrier_open_witness(c, ctx, e);

	return rc < 0 ? rc : carrier_hold(c, ctx, e);
}
