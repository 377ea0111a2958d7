// SPDX-License-Identifier: MIT
/*
 * CPUID of the models: the leaves that describe the PMU, and the ones that say which CPUs form a
 * core, a CCX and a package. Other existing leaves are zero.
 */
#include "backend/sim/hw_i.h"

#include <string.h>

#include "backend/pmu/low_bits.h"

#define CPUID1_ECX_PDCM             (1U << 15)
#define CPUID1_EDX_TSC              (1U << 4)
#define CPUID1_EDX_MSR              (1U << 5)
#define CPUID1_EDX_HTT              (1U << 28) /* EBX 23:16: APIC ids of a package. */
#define CPUID6_EAX_THERMAL          (1U << 0)
#define CPUID6_EAX_PACKAGE_THERMAL  (1U << 6)
#define CPUID6_ECX_APERFMPERF       (1U << 0)
#define CPUID7_EDX_HYBRID           (1U << 15)
#define CPUIDA_EDX_ANY_DEPRECATED   (1U << 15)
#define CPUID7_1_EAX_PERFMON_EXT    (1U << 8)
#define CPUID80000001_ECX_PERF_CORE (1U << 23)
#define CPUID80000001_ECX_PERF_NB   (1U << 24)
#define CPUID80000001_ECX_PERF_LLC  (1U << 28)
#define CPUID80000007_EDX_RAPL      (1U << 14)
#define CPUID80000008_EBX_IRPERF    (1U << 1)
#define CPUID80000022_EAX_V2        (1U << 0)

/* The vendor string is in EBX, EDX, ECX. */
static void cpuid_vendor(const char *vendor, uint32_t out[4])
{
	memcpy(&out[1], vendor, 4);
	memcpy(&out[3], vendor + 4, 4);
	memcpy(&out[2], vendor + 8, 4);
}

static void cpuid_leaf_1(
	const struct hw *hw, const struct pmu_model *m, unsigned cpu, uint32_t out[4])
{
	out[0] = m->sim.signature;
	out[1] = (cpu & 0xff) << 24; /* Initial APIC id. */
	out[2] = hw_has_capabilities(m) ? CPUID1_ECX_PDCM : 0;
	out[3] = CPUID1_EDX_TSC | CPUID1_EDX_MSR;
	if (hw->rules == &hw_netburst) { /* Each package is a core. */
		out[1] |= 1u << HW_CORE_BITS << 16;
		out[3] |= CPUID1_EDX_HTT;
	}
}

static void cpuid_leaf_a(const struct pmu_model *m, uint32_t out[4])
{
	/* EBX: the bit of an architectural event is 0 if it exists. All exist. */
	uint32_t nevents = m->features.version >= 5 ? 8 : 7;
	uint32_t fixed_width = hw_nfixed(m) ? m->features.gp_width : 0;

	out[0] = m->features.version | (uint32_t)m->features.gp << 8 |
		 (uint32_t)m->features.gp_width << 16 | nevents << 24;
	out[3] = hw_nfixed(m) | fixed_width << 5;
	if (m->features.version < 5)
		return;
	/* A fixed counter exists if the bitmap or the number includes it. Here the number does not
	 * include the last one. */
	out[2] = m->features.fixed;
	out[3] = (out[3] - 1) | CPUIDA_EDX_ANY_DEPRECATED;
}

/* Version 6: which counters exist; subleaf 0 says which subleaves do. */
static void cpuid_leaf_23(const struct pmu_model *m, uint32_t subleaf, uint32_t out[4])
{
	if (subleaf == 0)
		out[0] = 1u << 0 | 1u << 1;
	if (subleaf == 1) {
		out[0] = (1u << m->features.gp) - 1;
		out[1] = m->features.fixed;
	}
}

/* Describes the threads of a core, then the threads of a package, then no more levels. */
static void cpuid_leaf_b(unsigned cpu, uint32_t subleaf, uint32_t out[4])
{
	static const unsigned bits[] = {HW_CORE_BITS, HW_PACKAGE_BITS};

	out[2] = subleaf & 0xff;
	out[3] = cpu;
	if (subleaf >= 2)
		return;
	out[0] = bits[subleaf];
	out[1] = 1u << bits[subleaf];
	out[2] |= (subleaf + 1) << 8;
}

static void cpuid_leaf_intel(
	const struct pmu_model *m, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	if (leaf == 0xa)
		cpuid_leaf_a(m, out);
	if (leaf == 6 && m->features.version >= 2) {
		out[0] = CPUID6_EAX_THERMAL |
			 (m->features.version >= 3 ? CPUID6_EAX_PACKAGE_THERMAL : 0);
		out[2] = CPUID6_ECX_APERFMPERF;
	}
	if (m->features.version < 6)
		return;
	if (leaf == 7)
		out[0] = subleaf == 0 ? 1 : CPUID7_1_EAX_PERFMON_EXT;
	if (leaf == 0x23)
		cpuid_leaf_23(m, subleaf, out);
}

/* Whether the model is Zen or later. */
static bool cpuid_is_zen(const struct pmu_model *m)
{
	return (m->sim.signature >> 20 & 0xff) >= 8;
}

static void cpuid_leaf_amd(const struct hw *hw, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	const struct pmu_model *m = hw->model;

	switch (leaf) {
	case 0x80000000:
		cpuid_vendor(hw->rules->vendor, out);
		break;
	case 0x80000001:
		out[0] = m->sim.signature;
		out[2] = (m->features.version >= 1 ? CPUID80000001_ECX_PERF_CORE : 0) |
			 (m->features.df ? CPUID80000001_ECX_PERF_NB : 0) |
			 (m->features.l3 ? CPUID80000001_ECX_PERF_LLC : 0);
		break;
	case 6:
		out[2] = cpuid_is_zen(m) ? CPUID6_ECX_APERFMPERF : 0;
		break;
	case 0x80000007:
		out[3] = cpuid_is_zen(m) ? CPUID80000007_EDX_RAPL : 0;
		break;
	case 0x80000008:
		out[1] = cpuid_is_zen(m) ? CPUID80000008_EBX_IRPERF : 0;
		out[2] = HW_PACKAGE_BITS << 12 | ((1u << HW_PACKAGE_BITS) - 1);
		break;
	case 0x8000001d:
		if (subleaf == 3) /* A unified level-3 cache, and the CPUs that share it. */
			out[0] = 0x63 | ((1u << HW_CCX_BITS) - 1) << 14;
		break;
	case 0x80000022:
		if (m->features.version < 2)
			break;
		out[0] = CPUID80000022_EAX_V2;
		out[1] = m->features.gp | m->features.df << 10 | m->features.umc << 16;
		out[2] = (uint32_t)pmu_low_bits(m->features.umcs);
		break;
	}
}

/* Adds the leaves of a hybrid processor. */
static void cpuid_hybrid(bool atom, uint32_t leaf, uint32_t out[4])
{
	if (leaf == 7)
		out[3] = CPUID7_EDX_HYBRID;
	else if (leaf == 0x1a)
		out[0] = (uint32_t)(atom ? PMU_CORE_ATOM : PMU_CORE_CORE) << 24 | 1;
}

void hw_cpuid_leaf(
	const struct hw *hw, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	const struct pmu_model *m = hw_model_of(hw, &hw->cpus[cpu]);
	bool intel = hw->model->vendor == PMU_INTEL;

	memset(out, 0, 4 * sizeof(out[0]));
	if (hw->model->space != PMU_SPACE_MSR) /* Without MSRs, there is no CPUID either. */
		return;
	if (leaf > (leaf >> 31 ? m->sim.max_ext : m->sim.max_leaf)) {
		/* A leaf above the last is zero on AMD, and the last basic one on Intel. */
		if (!intel)
			return;
		leaf = m->sim.max_leaf;
	}
	if (leaf == 0) {
		out[0] = m->sim.max_leaf;
		cpuid_vendor(hw->rules->vendor, out);
	} else if (leaf == 0x80000000) {
		out[0] = m->sim.max_ext;
	} else if (leaf == 1) {
		cpuid_leaf_1(hw, m, cpu, out);
	} else if (leaf == 0xb) {
		cpuid_leaf_b(cpu, subleaf, out);
	} else if (intel) {
		cpuid_leaf_intel(m, leaf, subleaf, out);
		if (m->atom.gp)
			cpuid_hybrid(m == &hw->atom, leaf, out);
	}
	if (!intel)
		cpuid_leaf_amd(hw, leaf, subleaf, out);
}
