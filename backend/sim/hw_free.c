// SPDX-License-Identifier: MIT
/*
 * Free-running registers: the ones of free.pmu for the model's CPUID, family and model. Their
 * values are a function of time, with a different start for each CPU, core or package. Registers
 * that wrap do so soon: energy after half a second. The smaller cores of a hybrid processor lack
 * PPERF, so that the types differ; on actual processors they have it.
 */
#include "backend/sim/hw_i.h"

#include "backend/pmu/low_bits.h"

enum {
	MSR_TSC = 0x10,
	MSR_SMI = 0x34,
	MSR_MPERF = 0xe7,
	MSR_APERF = 0xe8,
	MSR_PPERF = 0x64e,
	MSR_RAPL_UNIT = 0x606,
	RAPL_UNIT = 0xa0e03,     /* 2^-14 joules. */
	RAPL_UNIT_AMD = 0xa1003, /* 2^-16 joules. */
	FREE_WATTS = 150,
	FREE_LEFT_US = 500000, /* Time until energy wraps. */
	/* Period of SMIs: so short that the count wraps while model time lasts. */
	FREE_SMI_NS = 10000,
	FREE_MARGIN = 40,      /* Degrees below the limit. */
	FREE_UNIT_STEP = 1000, /* Difference between the counts of one unit and the next. */
};
#define MSR_AMD_RAPL_UNIT 0xc0010299u
#define MSR_AMD_HWCR      0xc0010015u
#define MSR_AMD_IRPERF    0xc00000e9u
#define HWCR_IRPERF_EN    (1ULL << 30)

static bool free_constant(const struct hw *hw, uint32_t addr, uint64_t *value)
{
	bool intel = hw->model->vendor == PMU_INTEL;

	if (addr == MSR_RAPL_UNIT && intel)
		*value = RAPL_UNIT;
	else if (addr == MSR_AMD_RAPL_UNIT && !intel)
		*value = RAPL_UNIT_AMD;
	else if (addr == MSR_AMD_HWCR && !intel)
		*value = HWCR_IRPERF_EN;
	else
		return false;
	return true;
}

static uint64_t free_rate(uint32_t addr)
{
	switch (addr) {
	case MSR_TSC:
	case MSR_MPERF:
		return HW_TSC_RATE;
	case MSR_APERF:
	case MSR_AMD_IRPERF:
		return 3000;
	case MSR_PPERF:
		return 2000;
	default: /* A C-state. */
		return 100;
	}
}

static uint64_t free_energy(const struct pmu_free *reg, uint64_t ns)
{
	uint64_t uj = ns / 1000 * FREE_WATTS;
	uint64_t left = (((uint64_t)FREE_LEFT_US * FREE_WATTS) << reg->uj_shift) / reg->uj;

	return pmu_low_bits(reg->width) - left + (uj / reg->uj << reg->uj_shift) +
	       (uj % reg->uj << reg->uj_shift) / reg->uj;
}

/* The count before it is truncated to the register's width. */
static uint64_t free_count(const struct pmu_free *reg, uint64_t ns)
{
	if (pmu_unit_is_energy(reg->unit))
		return free_energy(reg, ns);
	if (reg->unit == PMU_UNIT_DEGREES)
		return FREE_MARGIN;
	if (reg->addr == MSR_SMI)
		return UINT32_MAX + ns / FREE_SMI_NS;
	return hw_ticks(free_rate(reg->addr), ns);
}

bool hw_free_read(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value)
{
	if (free_constant(hw, addr, value))
		return true;
	for (unsigned i = 0; i < hw->pmu.nfrees; i++) {
		const struct pmu_free *reg = &hw->pmu.frees[i];
		uint64_t n, unit = cpu >> hw_scope_bits(reg->scope);

		if (reg->addr != addr || (addr == MSR_PPERF && cpu >= hw->first_atom))
			continue;
		n = free_count(reg, hw->now);
		/* One TSC for all CPUs, as in hardware. */
		if (addr != MSR_TSC && reg->unit != PMU_UNIT_DEGREES)
			n += FREE_UNIT_STEP * unit;
		*value = (n & pmu_low_bits(reg->width)) << reg->shift | reg->valid;
		return true;
	}
	return false;
}

static int free_cpuid(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e)
{
	(void)e;
	hw_cpuid_leaf(arg, 0, leaf, subleaf, out);
	return 0;
}

/* Reads a register for pmu_free_detect(). All can be read, so CPUID and free.pmu decide which ones
 * exist; only constants have their real values. */
static int free_rdmsr(void *arg, uint32_t addr, uint64_t *value)
{
	if (!free_constant(arg, addr, value))
		*value = 1;
	return 0;
}

void hw_free_init(struct hw *hw)
{
	const struct pmu_cpu cpu = {.cpuid = free_cpuid, .rdmsr = free_rdmsr, .arg = hw};

	pmu_free_detect(&cpu, &hw->pmu);
}
