// SPDX-License-Identifier: MIT
/* Notes: why a command that succeeds will probably not measure anything. */
#include "daemon/core/core_i.h"

#include <inttypes.h>

/* Why counter @d of @set, whose event was chosen, will stay 0; @note is left alone if it counts. */
static void note_counter(
	const struct pmu *pmu, const struct evtset *set, unsigned d, struct err *note)
{
	const struct pmu_pmd *pmd = &pmu->pmds[d];
	const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];
	uint64_t value = set->pmc[pmd->pmc] & pmd->field;
	uint64_t enable = pmc->enable & pmd->field;
	unsigned row = image_levels_row(pmu, set->pmc, d);
	const struct pmu_pmc *select = &pmu->pmcs[row];
	uint64_t chosen = set->pmc[row] & pmd->field;
	uint64_t levels = (select->user | select->kernel) & pmd->field;
	uint64_t able = pmu_event_pmcs(pmu, row, chosen);

	/* Without other enable bits, the bits of the levels enable the counter. */
	if (enable & ~levels && !(value & enable))
		err_set(note, 0,
			"pmd%u does not count: 0x%" PRIx64 " in pmc%u of set %u lacks the enable "
			"bit 0x%" PRIx64 ": write 0x%" PRIx64,
			pmd->num, value, pmc->num, set->id, enable, value | enable);
	else if (select->user && !(chosen & levels))
		err_set(note, 0,
			"pmd%u does not count: 0x%" PRIx64 " in pmc%u of set %u has no level: add "
			"0x%" PRIx64 " (user) or 0x%" PRIx64 " (kernel)",
			pmd->num, chosen, select->num, set->id, select->user & levels,
			select->kernel & levels);
	else if (select->num < PMU_MAX_PMCS && !(able >> select->num & 1))
		err_set(note, 0,
			"pmd%u does not count: 0x%" PRIx64
			" in pmc%u of set %u selects an event that only other counters have: write "
			"it to pmc%d",
			pmd->num, chosen, select->num, set->id, __builtin_ctzll(able));
}

/* The PMD overflows within 2^63 events. */
static bool note_overflows(const struct pmd_state *s)
{
	return s->n.value >> 63 && !(s->flags & PMD_NO64);
}

/* Why there will be one sample of counter @d at most, although it starts below 0. */
static void note_samples(
	const struct context *ctx, const struct evtset *set, unsigned d, struct err *note)
{
	const struct pmd_state *s = &set->pmd[d];
	unsigned num = ctx->pmu->pmds[d].num;

	if (note->text[0] || !ctx->smpl.fmt || s->short_reset || !note_overflows(s))
		return;
	err_set(note, 0,
		"pmd%u of set %u gives one sample and then none for 2^64 events: to sample every "
		"N events, write -N short=-N",
		num, set->id);
}

static bool note_set_overflows(const struct pmu *pmu, const struct evtset *set)
{
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (image_counts(pmu, set->pmc, d) && !pmu->pmds[d].buffer &&
			(note_overflows(&set->pmd[d]) || set->pending & ROW(d)))
			return true;
	return false;
}

/* The other sets become active without a start. */
static bool note_any_overflows(const struct context *ctx)
{
	for (unsigned i = 0; i < ctx->nsets; i++)
		if (note_set_overflows(ctx->pmu, ctx->sets[i]))
			return true;
	return false;
}

/* A PMD that was written, but whose PMC was not, may be meant for the event. */
static void note_nothing(const struct pmu *pmu, const struct evtset *set, struct err *note)
{
	unsigned d = 0;

	while (d < pmu->npmds && (pmu->pmds[d].buffer || !set->pmd[d].n.value))
		d++;
	if (d < pmu->npmds)
		err_set(note, 0,
			"nothing counts, as set %u has no event: write one to its pmc/N; pmd/%u, "
			"which was written, only holds the count",
			set->id, pmu->pmds[d].num);
	else
		err_set(note, 0, "nothing counts, as set %u has no event: write one to its pmc/N",
			set->id);
}

void note_start(const struct context *ctx, const struct evtset *set, struct err *note)
{
	const struct pmu *pmu = ctx->pmu;
	bool any = false;

	for (unsigned d = 0; d < pmu->npmds && !note->text[0]; d++) {
		if (!image_counts(pmu, set->pmc, d))
			continue;
		any = true;
		note_counter(pmu, set, d, note);
		if (!pmu->pmds[d].buffer)
			note_samples(ctx, set, d, note);
	}
	if (!any)
		note_nothing(pmu, set, note);
	else if (!note->text[0] && ctx->smpl.fmt && !note_any_overflows(ctx))
		err_set(note, 0,
			"%s will record no overflow, as each PMD that counts is more than 2^63 "
			"events away from one: to sample every N events, write '-N short=-N' to a "
			"pmd/N",
			ctx->smpl.fmt->fmt_name);
}

void note_period(const struct pmu_pmd *pmd, const struct pmd_state *s, struct err *note)
{
	uint64_t value = s->n.value;

	if (note->text[0] || !(s->flags & PMD_NOTIFY) || value >> 63 || pmd->buffer)
		return;
	if (value)
		err_set(note, 0,
			"pmd%u overflows and notifies only after %" PRIu64
			" events: for every %" PRIu64 " events, write -%" PRIu64,
			pmd->num, -value, value, value);
	else
		err_set(note, 0,
			"pmd%u overflows and notifies only after 2^64 events: for every N events, "
			"write -N",
			pmd->num);
}
