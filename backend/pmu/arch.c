// SPDX-License-Identifier: MIT
/* The architectural events of a description, for names in pmc/N. */
#include "backend/pmu/model.h"

/* Only MSRs of a known vendor have these events. NetBurst, family 15, has its own event selects. */
static enum arch_encoding arch_encoding_of(const struct pmu_model *m)
{
	bool p6 = m->detect.by_family && m->detect.families[0] >> 6 & 1;

	if (!m->detect.given)
		return ARCH_NONE;
	if (m->vendor == PMU_AMD)
		return ARCH_AMD;
	return m->features.version ? ARCH_INTEL : p6 ? ARCH_P6 : ARCH_NONE;
}

void pmu_add_arch_events(const struct pmu_model *m, struct pmu *pmu)
{
	enum arch_encoding encoding = arch_encoding_of(m);
	const struct arch_event *a;

	for (unsigned i = 0; (a = arch_event_at(i)) && pmu->nevents < PMU_MAX_EVENTS; i++)
		if (a->encoding == encoding && !arch_event_is_fixed(a))
			pmu->events[pmu->nevents++] = (struct pmu_event){
				.name = a->name,
				.value = a->code | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN,
				.desc = a->desc,
			};
}
