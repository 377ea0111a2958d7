// SPDX-License-Identifier: MIT
/* What is to happen when a PMD overflows: as commands tell it, and as sets keep it. */
#include "daemon/core/core_i.h"
#include "daemon/core/random.h"

/* A LIST of PMDs, as the rows of the two tables that they stand in. */
struct listed {
	uint32_t pmds, virtuals;
};

static int rows_of(const struct pmu *pmu, const struct regset *nums, const char *what,
	struct listed *rows, struct err *e)
{
	*rows = (struct listed){0};
	for (unsigned num = 0; num < PMU_MAX_NUM; num++) {
		int pmd, virtual;

		if (!regset_has(nums, num))
			continue;
		pmd = pmu_find_pmd(pmu, num);
		virtual = pmu_find_virtual(pmu, num);
		if (pmd >= 0)
			rows->pmds |= ROW(pmd);
		else if (virtual >= 0)
			rows->virtuals |= ROW(virtual);
		else
			return err_set(
				e, EINVAL, "%s=: this PMU has no pmd%u: see pmu/pmds", what, num);
	}
	return 0;
}

static void nums_of(const struct pmu *pmu, struct listed rows, struct regset *nums)
{
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (rows.pmds & ROW(d))
			regset_add(nums, pmu->pmds[d].num);
	for (unsigned i = 0; i < pmu->nvirtuals; i++)
		if (rows.virtuals & ROW(i))
			regset_add(nums, pmu->virtuals[i].num);
}

int conf_check(const struct pmu *pmu, const struct pmd_conf *conf, struct err *e)
{
	struct listed rows;
	int rc = rows_of(pmu, &conf->smpl, "smpl", &rows, e);

	if (rc == 0)
		rc = rows_of(pmu, &conf->reset, "reset", &rows, e);
	if (rc == 0 && rows.virtuals)
		return err_set(e, EINVAL,
			"reset=: PMDs from %d on are virtual and cannot be reset: leave them out",
			PMU_FIRST_VIRTUAL);
	return rc;
}

static void store_notice(const struct pmu *pmu, const struct pmd_conf *c, struct pmd_state *s)
{
	struct listed smpl, reset;
	struct err none;

	rows_of(pmu, &c->smpl, "smpl", &smpl, &none);
	rows_of(pmu, &c->reset, "reset", &reset, &none);
	s->eventid = c->eventid;
	s->smpl = smpl.pmds;
	s->virtuals = smpl.virtuals;
	s->reset = reset.pmds;
}

void conf_store(
	const struct pmu *pmu, const struct pmd_conf *c, unsigned parts, struct pmd_state *s)
{
	unsigned flags = (parts & PMD_NOTICE ? PMD_NOTIFY | PMD_RANDOM : 0) |
			 (parts & PMD_EMULATION ? PMD_NO64 : 0);

	s->flags = (s->flags & ~flags) | (c->flags & flags);
	if (parts & PMD_RESETS) {
		s->long_reset = c->long_reset;
		s->short_reset = c->short_reset;
		s->thresh = c->thresh;
		s->mask = c->mask;
		s->seed = c->seed;
	}
	if (parts & PMD_NOTICE)
		store_notice(pmu, c, s);
}

void conf_write(const struct pmu *pmu, const struct cmd_reg *r, uint64_t now, unsigned d,
	struct pmd_state *s)
{
	conf_store(pmu, &r->conf, ~r->keep, s);
	s->n = (struct pmd_count){
		.value = r->value,
		.last_reset = r->value,
		.thresh_left = s->thresh,
		.random = random_seed(s->seed),
	};
	s->hw = r->value & pmu->pmds[d].wmask;
	s->looked = now;
	s->lost = LOST_NOT;
	s->overflows = 0;
}

void conf_fetch(const struct pmu *pmu, const struct evtset *set, unsigned d, struct cmd_reg *r)
{
	const struct pmd_state *s = &set->pmd[d];

	r->value = s->n.value;
	if (s->flags & PMD_NO64)
		r->value &= pmd_width_mask(&pmu->pmds[d]);
	r->conf = (struct pmd_conf){
		.long_reset = s->long_reset,
		.short_reset = s->short_reset,
		.thresh = s->thresh,
		.mask = s->mask,
		.eventid = s->eventid,
		.seed = s->seed,
		.flags = s->flags,
	};
	nums_of(pmu, (struct listed){s->smpl, s->virtuals}, &r->conf.smpl);
	nums_of(pmu, (struct listed){.pmds = s->reset}, &r->conf.reset);
	r->last_reset = s->n.last_reset;
	r->thresh_left = set->flags & SET_OVFL_SWITCH ? s->n.thresh_left : 0;
	r->overflows = s->overflows;
}
