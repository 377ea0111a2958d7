// SPDX-License-Identifier: MIT
/* The configuration of a PMD's overflow: from struct pmd_conf to struct pmd_state and back. */
#include "daemon/core/core_i.h"
#include "daemon/core/random.h"

/* A list of PMDs: a bit per row of each table. */
struct conf_rows {
	pmu_rows pmds, virtuals;
};

static int conf_add_row(const struct pmu *pmu, unsigned num, const char *what,
	struct conf_rows *rows, struct err *e)
{
	int pmd = pmu_find_pmd(pmu, num), virtual = pmu_find_virtual(pmu, num);

	if (pmd >= 0)
		rows->pmds |= ROW(pmd);
	else if (virtual >= 0)
		rows->virtuals |= ROW(virtual);
	else
		return err_set(e, EINVAL, "%s=: this PMU has no pmd%u: see pmu/pmds", what, num);
	return 0;
}

/* Most lists are empty: a write may have hundreds. */
static int conf_rows_of(const struct pmu *pmu, const struct regset *nums, const char *what,
	struct conf_rows *rows, struct err *e)
{
	*rows = (struct conf_rows){0};
	for (unsigned i = 0; i < CMD_BV; i++)
		for_each_row (bit, nums->bits[i])
			if (conf_add_row(pmu, 64 * i + bit, what, rows, e) < 0)
				return -e->no;
	return 0;
}

static void conf_nums_of(const struct pmu *pmu, struct conf_rows rows, struct regset *nums)
{
	for_each_row (d, rows.pmds)
		regset_add(nums, pmu->pmds[d].num);
	for_each_row (i, rows.virtuals)
		regset_add(nums, pmu->virtuals[i].num);
}

int conf_check(const struct pmu *pmu, const struct pmd_conf *conf, struct err *e)
{
	struct conf_rows rows;
	int rc = conf_rows_of(pmu, &conf->smpl, "smpl", &rows, e);

	if (rc == 0)
		rc = conf_rows_of(pmu, &conf->reset, "reset", &rows, e);
	if (rc == 0 && rows.virtuals)
		return err_set(e, EINVAL,
			"reset=: PMDs from %d on are virtual and cannot be reset: leave them out",
			PMU_FIRST_VIRTUAL);
	return rc;
}

static void conf_store_notice(const struct pmu *pmu, const struct pmd_conf *c, struct pmd_state *s)
{
	struct conf_rows smpl, reset;
	struct err none;

	conf_rows_of(pmu, &c->smpl, "smpl", &smpl, &none);
	conf_rows_of(pmu, &c->reset, "reset", &reset, &none);
	s->eventid = c->eventid;
	s->smpl = smpl.pmds;
	s->virtuals = smpl.virtuals;
	s->reset = reset.pmds;
}

void conf_store(
	const struct pmu *pmu, const struct pmd_conf *c, unsigned parts, struct pmd_state *s)
{
	unsigned flags = (parts & PMD_NOTICE ? PMD_NOTIFY | PMD_RANDOM : 0) |
			 (parts & PMD_EMULATION ? PMD_NO64 : 0) |
			 (parts & PMD_RESETS ? PMD_BARE : 0);

	s->flags = (s->flags & ~flags) | (c->flags & flags);
	if (parts & PMD_RESETS) {
		s->long_reset = c->long_reset;
		s->short_reset = c->short_reset;
		s->thresh = c->thresh;
		s->mask = c->mask;
		s->seed = c->seed;
	}
	if (parts & PMD_NOTICE)
		conf_store_notice(pmu, c, s);
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
	s->read_at = now;
	s->overflows = 0;
	s->gaps = (struct gaps){0};
}

void conf_default_resets(const struct context *ctx, struct pmd_state *s)
{
	uint64_t written = s->n.last_reset;

	if (s->flags & PMD_BARE)
		s->long_reset = s->short_reset = ctx->smpl.fmt && written >> 63 ? written : 0;
}

void conf_fetch(const struct pmu *pmu, const struct evtset *set, unsigned d, struct cmd_reg *r)
{
	const struct pmd_state *s = &set->pmd[d];

	r->value = pmd_value(pmu, set, d);
	r->conf = (struct pmd_conf){
		.long_reset = s->long_reset,
		.short_reset = s->short_reset,
		.thresh = s->thresh,
		.mask = s->mask,
		.eventid = s->eventid,
		.seed = s->seed,
		.flags = s->flags,
	};
	conf_nums_of(pmu, (struct conf_rows){s->smpl, s->virtuals}, &r->conf.smpl);
	conf_nums_of(pmu, (struct conf_rows){.pmds = s->reset}, &r->conf.reset);
	r->last_reset = s->n.last_reset;
	r->thresh_left = set->flags & SET_OVFL_SWITCH ? s->n.thresh_left : 0;
	r->overflows = s->overflows;
	r->gaps = s->gaps;
	r->counts = image_counts(pmu, set->pmc, d);
}
