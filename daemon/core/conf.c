// SPDX-License-Identifier: MIT
/* What is to happen when a PMD overflows: as commands tell it, and as sets keep it. */
#include "daemon/core/core_i.h"
#include "daemon/core/random.h"

static int rows_of(const struct pmu *pmu, const struct regset *nums, const char *what,
	uint32_t *rows, struct err *e)
{
	*rows = 0;
	for (unsigned num = 0; num < PMU_MAX_NUM; num++) {
		int row;

		if (!regset_has(nums, num))
			continue;
		row = pmu_find_pmd(pmu, num);
		if (row < 0)
			return err_set(e, EINVAL, "%s=: this PMU has no pmd%u: see pmu/pmds", what,
				num);
		*rows |= ROW(row);
	}
	return 0;
}

static void nums_of(const struct pmu *pmu, uint32_t rows, struct regset *nums)
{
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (rows & ROW(d))
			regset_add(nums, pmu->pmds[d].num);
}

int conf_check(const struct pmu *pmu, const struct pmd_conf *conf, struct err *e)
{
	uint32_t rows;

	int rc = rows_of(pmu, &conf->smpl, "smpl", &rows, e);

	return rc < 0 ? rc : rows_of(pmu, &conf->reset, "reset", &rows, e);
}

void conf_store(const struct pmu *pmu, const struct cmd_reg *r, uint64_t now, unsigned d,
	struct pmd_state *s)
{
	const struct pmd_conf *c = &r->conf;
	struct err none;

	*s = (struct pmd_state){
		.n =
			{
				.value = r->value,
				.last_reset = r->value,
				.thresh_left = c->thresh,
				.random = random_seed(c->seed),
			},
		.hw = r->value & pmu->pmds[d].wmask,
		.looked = now,
		.long_reset = c->long_reset,
		.short_reset = c->short_reset,
		.thresh = c->thresh,
		.mask = c->mask,
		.eventid = c->eventid,
		.seed = c->seed,
		.flags = c->flags,
	};
	rows_of(pmu, &c->smpl, "smpl", &s->smpl, &none);
	rows_of(pmu, &c->reset, "reset", &s->reset, &none);
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
	nums_of(pmu, s->smpl, &r->conf.smpl);
	nums_of(pmu, s->reset, &r->conf.reset);
	r->last_reset = s->n.last_reset;
	r->thresh_left = set->flags & SET_OVFL_SWITCH ? s->n.thresh_left : 0;
	r->overflows = s->overflows;
}
