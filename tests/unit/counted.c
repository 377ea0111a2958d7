// SPDX-License-Identifier: MIT
#include "tests/unit/counted.h"

#include "backend/sim/hw_ipf.h"

/* One enables and chooses, the other one has event and levels. */
static uint64_t select_netburst(const struct pmu *pmu, const uint64_t *pmc, unsigned cccr)
{
	int escr = pmu_escr_of(pmu, cccr, pmc[cccr]);

	return escr >= 0 && pmc[cccr] >> 12 & 1 ? hw_netburst_select(pmc[escr], 0) : 0;
}

/* The event select by which counter row @d counts, 0 if it does not count. */
static uint64_t selected(const struct world *w, const uint64_t *pmc, unsigned d)
{
	static const uint64_t fixed_event[] = {0xc0, 0x3c, 0x13c, 0x1a4};
	const struct pmu_pmd *pmd = &w->pmu->pmds[d];
	uint64_t value = pmc[pmd->pmc];

	if (w->pmu->pmcs[pmd->pmc].escr_select)
		return select_netburst(w->pmu, pmc, pmd->pmc);
	if (w->pmu->pmcs[pmd->pmc].shared) {
		unsigned n = pmd->num - 16;
		uint64_t field = value >> 4 * n & 3;

		return fixed_event[n] | (field & 1 ? EVTSEL_OS : 0) | (field & 2 ? EVTSEL_USR : 0);
	}
	/* Other counters have the event. */
	if (!(pmu_event_pmcs(w->pmu, pmd->pmc, value) >> (w->pmu->pmcs[pmd->pmc].num & 63) & 1))
		return 0;
	/* P6's second selector has no enable bit. */
	if (w->model->one_enable && pmd->num == 1)
		return value;
	return value & EVTSEL_EN ? value : 0;
}

/* PMC0 freezes all; the others restrict. Buffers do not count. */
static uint64_t counted_ipf(
	const struct pmu *pmu, const uint64_t *pmc, unsigned d, uint64_t from, uint64_t to)
{
	const struct pmu_pmd *pmd = &pmu->pmds[d];
	struct hw_ipf r = {0};

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint32_t addr = pmu->pmcs[p].addr, i = addr & PMU_IPF_INDEX;

		*(addr >= PMU_IPF_DBR         ? &r.dbr[i]
			: addr >= PMU_IPF_IBR ? &r.ibr[i]
					      : &r.pmc[i]) = pmc[p];
	}
	if (r.pmc[0] & 1 || pmd->buffer)
		return 0;
	return hw_ipf_events(&r, pmc[pmd->pmc], to) - hw_ipf_events(&r, pmc[pmd->pmc], from);
}

uint64_t counted(const struct world *w, const uint64_t *pmc, unsigned d, uint64_t from, uint64_t to)
{
	uint64_t select;

	if (w->pmu->space == PMU_SPACE_IPF)
		return counted_ipf(w->pmu, pmc, d, from, to);
	select = selected(w, pmc, d);
	return select ? hw_truth(w->hw, select, to) - hw_truth(w->hw, select, from) : 0;
}
