// SPDX-License-Identifier: MIT
/* Computing images from logical registers, with gates and shared selectors taken into account. */
#include "daemon/core/image.h"

uint64_t image_global_bits(const struct pmu *pmu, pmu_rows pmds)
{
	uint64_t bits = 0;

	for_each_row (d, pmds)
		if (pmu->pmds[d].global >= 0)
			bits |= 1ULL << pmu->pmds[d].global;
	return bits;
}

uint64_t image_field(const struct pmu *pmu, unsigned d)
{
	const struct pmu_pmd *pmd = &pmu->pmds[d];

	return pmu->pmcs[pmd->pmc].shared ? pmd->field : ~0ULL;
}

bool image_counts(const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], unsigned d)
{
	const struct pmu_pmd *pmd = &pmu->pmds[d];

	return (pmc[pmd->pmc] ^ pmu->pmcs[pmd->pmc].def) & pmd->field;
}

unsigned image_levels_row(const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], unsigned d)
{
	unsigned own = pmu->pmds[d].pmc;
	int escr = pmu_escr_of(pmu, own, pmc[own]);

	return escr < 0 ? own : (unsigned)escr;
}

static void image_use_pmc(const struct pmu *pmu, struct image *im, unsigned p, uint64_t mask)
{
	im->pmcs |= ROW(p);
	im->mask[p] |= mask;
	if (pmu->pmcs[p].gate != p) {
		im->pmcs |= ROW(pmu->pmcs[p].gate);
		im->mask[pmu->pmcs[p].gate] = ~0ULL;
	}
}

/* A gate would start all selectors behind it: those not in use are held at their defaults. */
static void image_use_gated(const struct pmu *pmu, struct image *im)
{
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (im->pmcs & ROW(pmu->pmcs[p].gate))
			image_use_pmc(pmu, im, p, pmu->pmcs[p].shared ? 0 : ~0ULL);
}

bool image_restricts(const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], unsigned p)
{
	unsigned with = pmu->pmcs[p].with;

	return pmu->pmcs[p].restricts || (with && pmc[with - 1] != pmu->pmcs[with - 1].def);
}

/* A value that another program has left in such a PMC must not restrict the counts. */
static void image_use_restricting(
	const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], struct image *im)
{
	for (unsigned p = 0; im->pmds && p < pmu->npmcs; p++)
		if (image_restricts(pmu, pmc, p))
			image_use_pmc(pmu, im, p, pmu->pmcs[p].shared ? ~pmu->pmcs[p].rsvd : ~0ULL);
}

static bool image_gates_another(const struct pmu *pmu, const struct image *im, unsigned p)
{
	for (unsigned q = 0; q < pmu->npmcs; q++)
		if (q != p && (im->pmcs & ROW(q)) && pmu->pmcs[q].gate == p)
			return true;
	return false;
}

/*
 * A gate (P6) is enabled while any selector behind it is in use. If its own event is not to count,
 * it is written without an event.
 */
static uint64_t image_selector_value(
	const struct pmu *pmu, const struct image *im, uint64_t value, unsigned p, bool running)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[p];

	if (!image_gates_another(pmu, im, p))
		return running ? value : value & ~pmc->enable;
	if (!(value & pmc->enable))
		value = pmc->def;
	return running ? value | pmc->enable : value & ~pmc->enable;
}

void image_of(
	const struct pmu *pmu, const uint64_t pmc[PMU_MAX_PMCS], bool running, struct image *im)
{
	*im = (struct image){0};
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (pmc[p] != pmu->pmcs[p].def)
			image_use_pmc(pmu, im, p, pmu->pmcs[p].shared ? 0 : ~0ULL);
	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (!image_counts(pmu, pmc, d))
			continue;
		im->pmds |= ROW(d);
		image_use_pmc(pmu, im, pmu->pmds[d].pmc, image_field(pmu, d));
		/* Without an event of its own, the counter would count another user's. */
		if (pmu->pmcs[pmu->pmds[d].pmc].escr_select)
			image_use_pmc(pmu, im, image_levels_row(pmu, pmc, d), ~0ULL);
	}
	image_use_restricting(pmu, pmc, im);
	image_use_gated(pmu, im);
	for_each_row (p, im->pmcs)
		im->sel[p] = image_selector_value(pmu, im, pmc[p], p, running);
	im->running = running;
	if (running)
		im->global = image_global_bits(pmu, im->pmds);
}

void image_reserve(const struct pmu *pmu, struct image *im, const struct image *other)
{
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (!(im->pmcs & ROW(p)))
			im->sel[p] = pmu->pmcs[p].def;
		im->mask[p] |= other->mask[p];
	}
	im->pmcs |= other->pmcs;
	im->spare |= other->pmds & ~im->pmds;
}
