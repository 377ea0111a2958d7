// SPDX-License-Identifier: MIT
/* Lookups in a description. Searches are linear, because the tables are short. */
#include "perfmonfs/pmu.h"

int pmu_find_pmc(const struct pmu *pmu, unsigned num)
{
	for (int i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].num == num)
			return i;
	return -1;
}

int pmu_find_pmd(const struct pmu *pmu, unsigned num)
{
	for (int i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].num == num)
			return i;
	return -1;
}

uint64_t pmu_event_pmcs(const struct pmu *pmu, unsigned p, uint64_t value)
{
	/* AMD's event codes have four more bits. */
	if (pmu->pmcs[p].shared || pmu->pmcs[p].scope != PMU_SCOPE_THREAD || value >> 32 & 0xf)
		return UINT64_MAX;
	for (unsigned i = 0; i < pmu->nconstraints; i++) {
		const struct pmu_constraint *c = &pmu->constraints[i];
		uint64_t event = value & (c->first > 0xff ? 0xffff : 0xff);

		if (event >= c->first && event <= c->last)
			return c->pmcs;
	}
	return UINT64_MAX;
}

int pmu_escr_of(const struct pmu *pmu, unsigned p, uint64_t value)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[p];
	uint16_t row;

	if (!pmc->escr_select)
		return -1;
	row = pmc->escr[(value & pmc->escr_select) >> __builtin_ctzll(pmc->escr_select)];
	return row == PMU_NO_ROW ? -1 : row;
}

const char *pmu_scope_word(enum pmu_scope scope)
{
	static const char *const words[PMU_SCOPES] = {[PMU_SCOPE_THREAD] = "cpu",
		[PMU_SCOPE_CORE] = "core",
		[PMU_SCOPE_CCX] = "ccx",
		[PMU_SCOPE_PACKAGE] = "package"};

	return words[scope];
}

const char *pmu_reg_type(const struct pmu *pmu, uint32_t addr)
{
	if (pmu->space != PMU_SPACE_IPF)
		return pmu->space == PMU_SPACE_MSR ? "msr" : "perf";
	switch (addr & ~(uint32_t)PMU_IPF_INDEX) {
	case PMU_IPF_PMD:
		return "pmd";
	case PMU_IPF_IBR:
		return "ibr";
	case PMU_IPF_DBR:
		return "dbr";
	default:
		return "pmc";
	}
}

uint32_t pmu_reg_index(const struct pmu *pmu, uint32_t addr)
{
	return pmu->space == PMU_SPACE_IPF ? addr & PMU_IPF_INDEX : addr;
}

const struct pmu_event *pmu_event_named(const struct pmu *pmu, struct slice name)
{
	for (unsigned i = 0; i < pmu->nevents; i++)
		if (slice_is(name, pmu->events[i].name))
			return &pmu->events[i];
	return NULL;
}

bool pmu_names_events(const struct pmu *pmu, unsigned p)
{
	return pmu->pmcs[p].user == EVTSEL_USR;
}

const struct pmu_event *pmu_event_of(const struct pmu *pmu, unsigned p, uint64_t value)
{
	const struct pmu_pmc *pmc = &pmu->pmcs[p];
	uint64_t any = pmc->user | pmc->kernel | pmc->enable;

	for (unsigned i = 0; pmu_names_events(pmu, p) && i < pmu->nevents; i++)
		if (((value ^ (pmu->events[i].value & ~pmc->rsvd)) & ~any) == 0)
			return &pmu->events[i];
	return NULL;
}

static uint64_t pmu_global_bits(const struct pmu *pmu)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].global >= 0)
			bits |= 1ULL << pmu->pmds[i].global;
	return bits;
}

uint64_t pmu_writable(const struct pmu *pmu, uint32_t addr)
{
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].addr == addr)
			return ~pmu->pmcs[i].rsvd | pmu->pmcs[i].def;
	for (unsigned i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].addr == addr)
			return pmu->pmds[i].wmask;
	return addr && (addr == pmu->global_ctrl || addr == pmu->clear) ? pmu_global_bits(pmu) : 0;
}

uint64_t pmu_enable_bits(const struct pmu *pmu, uint32_t addr)
{
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].addr == addr)
			return pmu->pmcs[i].enable;
	return 0;
}
