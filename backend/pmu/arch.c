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

/* Whether the CPU lacks an event. @lacks has a bit for each of them in the order of CPUID.0AH:EBX.
 */
static bool arch_event_is_lacking(const struct arch_event *a, uint32_t lacks)
{
	static const uint16_t codes[] = {0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5};

	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (a->encoding == ARCH_INTEL && a->code == codes[i])
			return lacks >> i & 1;
	return false;
}

void pmu_add_arch_events(const struct pmu_model *m, uint32_t lacks, struct pmu *pmu)
{
	enum arch_encoding encoding = arch_encoding_of(m);
	const struct arch_event *a;

	for (unsigned i = 0; (a = arch_event_at(i)) && pmu->nevents < PMU_MAX_EVENTS; i++)
		if (a->encoding == encoding && !arch_event_is_fixed(a) &&
			!arch_event_is_lacking(a, lacks))
			pmu->events[pmu->nevents++] = (struct pmu_event){
				.name = a->name,
				.value = a->code | EVTSEL_USR | EVTSEL_OS | EVTSEL_EN,
				.desc = a->desc,
			};
}
