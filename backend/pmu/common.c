// SPDX-License-Identifier: MIT
/*
 * The intersection of two descriptions. Removing rows changes row numbers, so references by row
 * (gate, pmc) are renumbered. Registers of the two are matched by logical number.
 */
#include "backend/pmu/detect.h"

#include <errno.h>
#include <string.h>

enum { GONE = PMU_MAX_PMCS };

static bool common_pmc(struct pmu_pmc *pmc, const struct pmu *other)
{
	int i = pmu_find_pmc(other, pmc->num);
	const struct pmu_pmc *o = &other->pmcs[i < 0 ? 0 : i];

	if (i < 0 || o->addr != pmc->addr || o->shared != pmc->shared || o->wide != pmc->wide)
		return false;
	pmc->rsvd |= o->rsvd;
	pmc->enable &= ~pmc->rsvd;
	pmc->kernel = (pmc->kernel | o->kernel) & ~pmc->rsvd;
	pmc->user = (pmc->user | o->user) & ~pmc->rsvd;
	return true;
}

static bool common_pmd(struct pmu_pmd *pmd, const struct pmu *other)
{
	int i = pmu_find_pmd(other, pmd->num);
	const struct pmu_pmd *o = &other->pmds[i < 0 ? 0 : i];

	if (i < 0 || o->addr != pmd->addr || o->field != pmd->field || o->global != pmd->global)
		return false;
	if (o->width < pmd->width)
		pmd->width = o->width;
	/* The PMU without the alias has the narrower mask, which is valid for both. */
	if (o->waddr != pmd->waddr)
		pmd->waddr = pmd->addr;
	pmd->wmask &= o->wmask;
	if (o->rdpmc != pmd->rdpmc)
		pmd->rdpmc = -1;
	return true;
}

static void common_rows(struct pmu *acc, const struct pmu *other)
{
	uint16_t moved[PMU_MAX_PMCS];
	uint16_t n = 0;

	for (unsigned i = 0; i < acc->npmcs; i++) {
		struct pmu_pmc pmc = acc->pmcs[i];

		moved[i] = n;
		if (common_pmc(&pmc, other) && (pmc.gate == i || moved[pmc.gate] != GONE)) {
			pmc.gate = moved[pmc.gate];
			acc->pmcs[n++] = pmc;
		} else {
			moved[i] = GONE;
		}
	}
	acc->npmcs = n;
	n = 0;
	acc->counter_width = 64;
	for (unsigned i = 0; i < acc->npmds; i++) {
		struct pmu_pmd pmd = acc->pmds[i];

		if (moved[pmd.pmc] == GONE || !common_pmd(&pmd, other))
			continue;
		pmd.pmc = moved[pmd.pmc];
		acc->pmds[n++] = pmd;
		if (pmd.width < acc->counter_width)
			acc->counter_width = pmd.width;
	}
	acc->npmds = n;
}

int pmu_common(struct pmu *acc, const struct pmu *other, struct err *e)
{
	if (strcmp(acc->name, other->name) != 0 || acc->global_ctrl != other->global_ctrl)
		return err_set(e, ENODEV,
			"the CPUs' PMUs are of different models, %s and %s: use --backend=perf",
			acc->name, other->name);
	common_rows(acc, other);
	if (acc->inuse != other->inuse)
		acc->inuse = 0;
	if (acc->status != other->status || acc->clear != other->clear)
		acc->status = acc->clear = 0;
	if (other->max_rate > acc->max_rate)
		acc->max_rate = other->max_rate;
	if (!acc->npmds)
		return err_set(e, ENODEV,
			"the CPUs' PMUs (%s) have no counter in common: use --backend=perf",
			acc->name);
	return 0;
}

int pmu_covers(const struct pmu *cpu, const struct pmu *desc, struct err *e)
{
	struct pmu both = *desc;
	bool same;
	int rc = pmu_common(&both, cpu, e);

	if (rc < 0)
		return rc;
	same = both.npmcs == desc->npmcs && both.npmds == desc->npmds &&
	       both.inuse == desc->inuse && both.status == desc->status;
	for (unsigned i = 0; same && i < desc->npmcs; i++)
		same = both.pmcs[i].rsvd == desc->pmcs[i].rsvd;
	for (unsigned i = 0; same && i < desc->npmds; i++)
		same = both.pmds[i].width == desc->pmds[i].width &&
		       both.pmds[i].waddr == desc->pmds[i].waddr &&
		       both.pmds[i].wmask == desc->pmds[i].wmask;
	if (!same)
		return err_set(e, ENODEV,
			"its PMU has fewer than the %u PMCs and %u PMDs of the description %s: "
			"restart perfmonfs to detect what all CPUs have",
			desc->npmcs, desc->npmds, desc->name);
	return 0;
}
