// SPDX-License-Identifier: MIT
/*
 * The PMUs of a machine whose CPUs differ. All descriptions get the same rows, the union of all
 * registers by logical number, so that the state that a context keeps by row is valid on every CPU.
 * A row that a type lacks is blank: only the default value is allowed, and no access is made.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/pmu/detect.h"
#include "backend/pmu/low_bits.h"
#include "base/cleanup.h"
#include "perfmonfs/pmu.h"

#define TYPES_ROW(i) (1ULL << (i))

static void types_blank_pmc(struct pmu *pmu, unsigned p)
{
	const struct pmu_pmc *old = &pmu->pmcs[p];
	struct pmu_pmc blank = {
		.num = old->num, .def = old->def, .rsvd = UINT64_MAX, .gate = (uint16_t)p};

	memcpy(blank.name, old->name, sizeof(blank.name));
	pmu->pmcs[p] = blank;
	pmu->by_type.lacks_pmcs |= TYPES_ROW(p);
}

static void types_blank_pmd(struct pmu *pmu, unsigned d)
{
	const struct pmu_pmd *old = &pmu->pmds[d];
	struct pmu_pmd blank = {
		.num = old->num, .pmc = old->pmc, .width = 64, .global = -1, .rdpmc = -1};

	memcpy(blank.name, old->name, sizeof(blank.name));
	pmu->pmds[d] = blank;
	pmu->by_type.lacks_pmds |= TYPES_ROW(d);
}

/* Converts references from rows of @from to rows of @to. */
static void types_move_pmc(const struct pmu *from, struct pmu *to, unsigned p)
{
	struct pmu_pmc *pmc = &to->pmcs[p];

	pmc->gate = (uint16_t)pmu_find_pmc(to, from->pmcs[pmc->gate].num);
	for (unsigned i = 0; pmc->escr_select && i < PMU_ESCRS; i++)
		if (pmc->escr[i] != PMU_NO_ROW)
			pmc->escr[i] = (uint16_t)pmu_find_pmc(to, from->pmcs[pmc->escr[i]].num);
	if (pmc->with)
		pmc->with = (uint16_t)(1 + pmu_find_pmc(to, from->pmcs[pmc->with - 1].num));
}

static void types_move_pmd(const struct pmu *from, struct pmu *to, unsigned d)
{
	to->pmds[d].pmc = (uint16_t)pmu_find_pmc(to, from->pmcs[to->pmds[d].pmc].num);
}

static void types_set_width(struct pmu *pmu)
{
	pmu->counter_width = 64;
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].width < pmu->counter_width)
			pmu->counter_width = pmu->pmds[d].width;
}

/* --- The registers of all types */

static int types_add_pmc(const struct pmu *raw, unsigned row, struct pmu *all, struct err *e)
{
	const struct pmu_pmc *pmc = &raw->pmcs[row];
	int there = pmu_find_pmc(all, pmc->num);
	struct pmu_pmc *to;

	if (there < 0) {
		if (all->npmcs == PMU_MAX_PMCS)
			return err_set(e, ENODEV, "the CPUs' PMUs together have more than %d PMCs",
				PMU_MAX_PMCS);
		all->pmcs[all->npmcs++] = *pmc;
		types_move_pmc(raw, all, all->npmcs - 1U);
		return 0;
	}
	to = &all->pmcs[there];
	if (to->def != pmc->def)
		return err_set(e, ENODEV,
			"pmc%u has different defaults on the CPUs, 0x%" PRIx64 " and 0x%" PRIx64,
			pmc->num, to->def, pmc->def);
	to->rsvd &= pmc->rsvd;
	to->enable |= pmc->enable;
	to->kernel |= pmc->kernel;
	to->user |= pmc->user;
	return 0;
}

static int types_add_pmd(const struct pmu *raw, unsigned row, struct pmu *all, struct err *e)
{
	const struct pmu_pmd *pmd = &raw->pmds[row];
	int there = pmu_find_pmd(all, pmd->num);
	struct pmu_pmd *to;

	if (there < 0) {
		if (all->npmds == PMU_MAX_PMDS)
			return err_set(e, ENODEV, "the CPUs' PMUs together have more than %d PMDs",
				PMU_MAX_PMDS);
		all->pmds[all->npmds++] = *pmd;
		types_move_pmd(raw, all, all->npmds - 1U);
		return 0;
	}
	to = &all->pmds[there];
	if (pmd->width > to->width)
		to->width = pmd->width;
	to->wmask |= pmd->wmask;
	to->field |= pmd->field;
	if (to->rdpmc != pmd->rdpmc)
		to->rdpmc = -1;
	if (to->umc != pmd->umc)
		to->umc = 0;
	return 0;
}

/* The row of free-running register @f; -1: none. */
static int types_find_free(const struct pmu *pmu, const struct pmu_free *f)
{
	for (unsigned i = 0; i < pmu->nfrees; i++) {
		const struct pmu_free *o = &pmu->frees[i];

		if (strcmp(o->name, f->name) == 0 && o->addr == f->addr && o->shift == f->shift &&
			o->width == f->width && o->valid == f->valid && o->unit == f->unit &&
			o->scope == f->scope && o->uj == f->uj && o->uj_shift == f->uj_shift)
			return (int)i;
	}
	return -1;
}

static int types_add_frees(const struct pmu *raw, struct pmu *all, struct err *e)
{
	for (unsigned i = 0; i < raw->nfrees; i++) {
		if (types_find_free(all, &raw->frees[i]) >= 0)
			continue;
		if (all->nfrees == PMU_MAX_FREES)
			return err_set(e, ENODEV,
				"the CPUs together have more than %d free-running registers",
				PMU_MAX_FREES);
		all->frees[all->nfrees++] = raw->frees[i];
	}
	pmu_free_add_virtuals(all);
	return 0;
}

/* Unites the registers of all types in rising order of logical numbers. */
static int types_unite(const struct pmu *const raw[], unsigned n, struct pmu *all, struct err *e)
{
	int rc = 0;

	*all = *raw[0];
	all->npmcs = all->npmds = 0;
	for (unsigned num = 0; rc == 0 && num < PMU_MAX_NUM; num++)
		for (unsigned i = 0; rc == 0 && i < n; i++) {
			int row = pmu_find_pmc(raw[i], num);

			if (row >= 0)
				rc = types_add_pmc(raw[i], (unsigned)row, all, e);
		}
	for (unsigned num = 0; rc == 0 && num < PMU_MAX_NUM; num++)
		for (unsigned i = 0; rc == 0 && i < n; i++) {
			int row = pmu_find_pmd(raw[i], num);

			if (row >= 0)
				rc = types_add_pmd(raw[i], (unsigned)row, all, e);
		}
	for (unsigned i = 1; rc == 0 && i < n; i++) {
		rc = types_add_frees(raw[i], all, e);
		if (raw[i]->max_rate > all->max_rate)
			all->max_rate = raw[i]->max_rate;
		if (raw[i]->counter_width < all->counter_width)
			all->counter_width = raw[i]->counter_width;
	}
	return rc;
}

/* --- One type */

/* Makes a description of @raw that has the rows of @all. */
static void types_align(const struct pmu *raw, const struct pmu *all, struct pmu *out)
{
	*out = *raw;
	out->npmcs = all->npmcs;
	out->npmds = all->npmds;
	memcpy(out->pmcs, all->pmcs, sizeof(out->pmcs));
	memcpy(out->pmds, all->pmds, sizeof(out->pmds));
	memcpy(out->virtuals, all->virtuals, sizeof(out->virtuals));
	out->nvirtuals = all->nvirtuals;
	memcpy(out->frees, all->frees, sizeof(out->frees));
	out->nfrees = all->nfrees;
	for (unsigned i = 0; i < all->nfrees; i++)
		if (types_find_free(raw, &all->frees[i]) < 0)
			out->by_type.lacks_frees |= TYPES_ROW(i);
	for (unsigned p = 0; p < all->npmcs; p++) {
		int row = pmu_find_pmc(raw, all->pmcs[p].num);

		if (row < 0) {
			types_blank_pmc(out, p);
			continue;
		}
		out->pmcs[p] = raw->pmcs[row];
		types_move_pmc(raw, out, p);
	}
	for (unsigned d = 0; d < all->npmds; d++) {
		int row = pmu_find_pmd(raw, all->pmds[d].num);

		if (row < 0) {
			types_blank_pmd(out, d);
			continue;
		}
		out->pmds[d] = raw->pmds[row];
		types_move_pmd(raw, out, d);
	}
}

/* --- What several types have in common */

/* Reduces @pmc to what @o has, too. False: they are not the same register. */
static bool types_meet_pmc(struct pmu_pmc *pmc, const struct pmu_pmc *o)
{
	if (o->addr != pmc->addr || o->shared != pmc->shared || o->wide != pmc->wide ||
		o->node != pmc->node || o->gate != pmc->gate || o->scope != pmc->scope ||
		o->ovf != pmc->ovf || o->with != pmc->with || o->restricts != pmc->restricts ||
		o->busy != pmc->busy || o->latched != pmc->latched || o->second != pmc->second ||
		o->escr_select != pmc->escr_select ||
		memcmp(o->escr, pmc->escr, sizeof(o->escr)) != 0)
		return false;
	pmc->rsvd |= o->rsvd;
	pmc->enable &= ~pmc->rsvd;
	pmc->kernel = (pmc->kernel | o->kernel) & ~pmc->rsvd;
	pmc->user = (pmc->user | o->user) & ~pmc->rsvd;
	return true;
}

static bool types_meet_pmd(struct pmu_pmd *pmd, const struct pmu_pmd *o)
{
	if (o->addr != pmd->addr || o->field != pmd->field || o->global != pmd->global ||
		o->pmc != pmd->pmc || o->scope != pmd->scope || o->twice != pmd->twice ||
		o->buffer != pmd->buffer)
		return false;
	if (o->width < pmd->width)
		pmd->width = o->width;
	/* The PMU without the alias has the narrower mask, which is valid for both. */
	if (o->waddr != pmd->waddr)
		pmd->waddr = pmd->addr;
	pmd->wmask &= o->wmask;
	if (o->rdpmc != pmd->rdpmc)
		pmd->rdpmc = -1;
	if (o->umc != pmd->umc)
		pmd->umc = 0;
	return true;
}

static bool types_widths_differ(const struct pmu *a, const struct pmu *b)
{
	for (unsigned d = 0; d < a->npmds; d++)
		if (!((a->by_type.lacks_pmds | b->by_type.lacks_pmds) & TYPES_ROW(d)) &&
			a->pmds[d].width != b->pmds[d].width)
			return true;
	return false;
}

/* Reduces @acc to what @other has, too. Both have the same rows. */
static void types_meet(struct pmu *acc, const struct pmu *other)
{
	bool global = acc->global_ctrl == other->global_ctrl;

	acc->by_type.lacks_frees |= other->by_type.lacks_frees;
	/* The status shows wraps of the actual counter, not of the narrower one. */
	if (acc->status != other->status || acc->clear != other->clear ||
		types_widths_differ(acc, other))
		acc->status = acc->clear = 0;
	if (acc->inuse != other->inuse)
		acc->inuse = 0;
	if (other->max_rate > acc->max_rate)
		acc->max_rate = other->max_rate;
	for (unsigned p = 0; p < acc->npmcs; p++) {
		unsigned gate = acc->pmcs[p].gate;

		if (!global ||
			(acc->by_type.lacks_pmcs | other->by_type.lacks_pmcs) & TYPES_ROW(p) ||
			!types_meet_pmc(&acc->pmcs[p], &other->pmcs[p]) ||
			acc->by_type.lacks_pmcs & TYPES_ROW(gate))
			types_blank_pmc(acc, p);
	}
	for (unsigned d = 0; d < acc->npmds; d++)
		if ((acc->by_type.lacks_pmds | other->by_type.lacks_pmds) & TYPES_ROW(d) ||
			acc->by_type.lacks_pmcs & TYPES_ROW(acc->pmds[d].pmc) ||
			!types_meet_pmd(&acc->pmds[d], &other->pmds[d]))
			types_blank_pmd(acc, d);
}

static void types_common(struct pmu_types *t, unsigned set)
{
	struct pmu *out = &t->of[set];
	unsigned first = (unsigned)__builtin_ctz(set);

	*out = t->of[1U << first];
	for (unsigned i = first + 1; i < t->n; i++)
		if (set & 1U << i)
			types_meet(out, &t->of[1U << i]);
	types_set_width(out);
}

/* --- Names */

/* The name of a kind of core, as in Linux's PMU names cpu_core and cpu_atom. */
static const char *types_kind(const struct pmu *raw)
{
	return raw->core >> 24 == PMU_CORE_CORE   ? "core"
	       : raw->core >> 24 == PMU_CORE_ATOM ? "atom"
						  : "cpu";
}

/* Names type @i. The second type of a kind has a 2 after its name. */
static void types_name(const struct pmu *const raw[], unsigned i, char name[PMU_NAME])
{
	unsigned same = 1;

	for (unsigned k = 0; k < i; k++)
		same += strcmp(types_kind(raw[k]), types_kind(raw[i])) == 0;
	snprintf(name, PMU_NAME, same > 1 ? "%s%u" : "%s", types_kind(raw[i]), same);
}

/* The name of a set of types: their names with + between. */
static void types_join(struct pmu_types *t, unsigned set, char name[PMU_NAME])
{
	size_t n = 0;

	name[0] = '\0';
	for (unsigned i = 0; i < t->n; i++)
		if (set & 1U << i && n < PMU_NAME)
			n += (size_t)snprintf(name + n, PMU_NAME - n, "%s%s", n ? "+" : "",
				t->of[1U << i].by_type.name);
}

int pmu_types_new(const struct pmu *const raw[], unsigned n, struct pmu_types **out, struct err *e)
{
	CLEANUP_FREE struct pmu_types *t = calloc(1, sizeof(*t) + (sizeof(t->of[0]) << n));
	int rc;

	if (!t)
		return err_set(e, ENOMEM, "no memory to describe the PMUs");
	t->n = n;
	rc = types_unite(raw, n, &t->of[0], e);
	if (rc < 0)
		return err_prefix(
			e, "describe one with --pmu=FILE, or use perfmonfs --backend=perf");
	for (unsigned i = 0; i < n; i++) {
		struct pmu *type = &t->of[1U << i];

		types_align(raw[i], &t->of[0], type);
		types_name(raw, i, type->by_type.name);
	}
	for (unsigned set = 0; set < 1U << n; set++) {
		if (set & (set - 1))
			types_common(t, set);
		t->of[set].by_type.types = set;
		if (!set || set & (set - 1))
			types_join(t, set ? set : (1U << n) - 1, t->of[set].by_type.name);
	}
	*out = take_ptr(&t);
	return 0;
}

static bool types_same_pmc(const struct pmu_pmc *a, const struct pmu_pmc *b)
{
	return strcmp(a->name, b->name) == 0 && a->num == b->num && a->addr == b->addr &&
	       a->def == b->def && a->rsvd == b->rsvd && a->enable == b->enable &&
	       a->kernel == b->kernel && a->user == b->user && a->wide == b->wide &&
	       a->node == b->node && a->gate == b->gate && a->shared == b->shared &&
	       a->scope == b->scope;
}

static bool types_same_pmd(const struct pmu_pmd *a, const struct pmu_pmd *b)
{
	return strcmp(a->name, b->name) == 0 && a->num == b->num && a->pmc == b->pmc &&
	       a->field == b->field && a->addr == b->addr && a->waddr == b->waddr &&
	       a->wmask == b->wmask && a->width == b->width && a->global == b->global &&
	       a->rdpmc == b->rdpmc && a->scope == b->scope && a->umc == b->umc;
}

bool pmu_same(const struct pmu *a, const struct pmu *b)
{
	bool same = strcmp(a->name, b->name) == 0 && a->core == b->core && a->npmcs == b->npmcs &&
		    a->npmds == b->npmds && a->global_ctrl == b->global_ctrl &&
		    a->inuse == b->inuse && a->status == b->status && a->clear == b->clear &&
		    a->max_rate == b->max_rate;

	for (unsigned p = 0; same && p < a->npmcs; p++)
		same = types_same_pmc(&a->pmcs[p], &b->pmcs[p]);
	for (unsigned d = 0; same && d < a->npmds; d++)
		same = types_same_pmd(&a->pmds[d], &b->pmds[d]);
	return same;
}
