// SPDX-License-Identifier: MIT
/* Finds out which free-running registers a CPU has, from the lines of free.pmu and its CPUID. */
#include <pthread.h>
#include <string.h>

#include "backend/pmu/parse_i.h"
#include "base/nsec.h"
#include "base/num.h"

enum {
	MSR_RAPL_UNIT = 0x606,
	ENERGY_UNIT_SHIFT = 8, /* Bits 12:8 of the unit registers. */
	ENERGY_UNIT_MASK = 0x1f,
	HWCR_IRPERF_EN = 30,
	FREE_MAX_LINES = 64,
};
#define MSR_AMD_RAPL_UNIT 0xc0010299u
#define MSR_AMD_HWCR      0xc0010015u

/* The lines of free.pmu, parsed once. */
static struct free_line free_lines[FREE_MAX_LINES];
static unsigned free_nlines;
static pthread_once_t free_once = PTHREAD_ONCE_INIT;

static void free_parse(void)
{
	struct slice text = pmu_free_text[0].text;
	struct err e;

	while (text.n && free_nlines < FREE_MAX_LINES) {
		struct slice line = slice_cut(&text, '\n');

		line = slice_cut(&line, '#');
		if (slice_is(slice_word(&line), "free") &&
			parse_free_line(line, true, &free_lines[free_nlines], &e) == 0)
			free_nlines++;
	}
}

/* Whether a bit of CPUID is set; false if the leaf does not exist. */
static bool free_cpuid_bit(
	const struct pmu_cpu *cpu, uint32_t max, uint32_t leaf, unsigned reg, unsigned bit)
{
	uint32_t r[4];
	struct err e;

	return leaf <= max && cpu->cpuid(cpu->arg, leaf, 0, r, &e) == 0 && r[reg] >> bit & 1;
}

static bool free_msr_bit(const struct pmu_cpu *cpu, uint32_t addr, unsigned bit)
{
	uint64_t v;

	return cpu->rdmsr(cpu->arg, addr, &v) == 0 && v >> bit & 1;
}

/* Whether the CPU has a feature, after Intel's SDM, volume 2, CPUID, and AMD's APM, volume 3,
 * appendix E. */
static bool free_has_feature(
	const struct pmu_cpu *cpu, const struct pmu_identity *id, enum free_feature feature)
{
	uint32_t ext[4] = {0}, max = id->leaf0[EAX], max_ext;
	struct err e;

	if (cpu->cpuid(cpu->arg, 0x80000000, 0, ext, &e) < 0)
		return false;
	max_ext = ext[EAX] >> 31 ? ext[EAX] : 0;
	switch (feature) {
	case FEATURE_TSC:
		return id->leaf1[EDX] >> 4 & 1;
	case FEATURE_APERFMPERF:
		return free_cpuid_bit(cpu, max, 6, ECX, 0);
	case FEATURE_THERMAL:
		return free_cpuid_bit(cpu, max, 6, EAX, 0);
	case FEATURE_PACKAGE_THERMAL:
		return free_cpuid_bit(cpu, max, 6, EAX, 6);
	case FEATURE_IRPERF: /* Without the bit, the register does not count. */
		return free_cpuid_bit(cpu, max_ext, 0x80000008, EBX, 1) &&
		       free_msr_bit(cpu, MSR_AMD_HWCR, HWCR_IRPERF_EN);
	case FEATURE_RAPL:
		return free_cpuid_bit(cpu, max_ext, 0x80000007, EDX, 14);
	case FEATURE_NONE:
	case FEATURES:
		break;
	}
	return true;
}

static bool free_applies(
	const struct free_line *f, const struct pmu_cpu *cpu, const struct pmu_identity *id)
{
	enum pmu_vendor vendor;

	if (f->by_vendor && (!detect_vendor_of(id, &vendor) || vendor != f->vendor))
		return false;
	return detect_matches(&f->match, id, 0) && free_has_feature(cpu, id, f->feature);
}

/* Sets the energy of a count. False: the unit is not known. */
static bool free_find_unit(const struct pmu_cpu *cpu, struct pmu_free *reg)
{
	uint32_t addr = reg->unit == PMU_UNIT_RAPL_AMD ? MSR_AMD_RAPL_UNIT : MSR_RAPL_UNIT;
	uint64_t v = 0;
	unsigned n;

	reg->uj = 1000000;
	reg->uj_shift = reg->unit == PMU_UNIT_RAPL_16 ? 16 : 0;
	if (reg->unit == PMU_UNIT_RAPL_16 || reg->unit == PMU_UNIT_RAPL_0)
		return true;
	if (cpu->rdmsr(cpu->arg, addr, &v) < 0)
		return false;
	n = v >> ENERGY_UNIT_SHIFT & ENERGY_UNIT_MASK;
	if (reg->unit == PMU_UNIT_RAPL_ATOM)
		reg->uj = 1ULL << n;
	else
		reg->uj_shift = (uint8_t)n;
	return n;
}

static bool free_is_there(const struct pmu_cpu *cpu, struct pmu_free *reg)
{
	uint64_t v;

	if (cpu->rdmsr(cpu->arg, reg->addr, &v) < 0)
		return false;
	if (!pmu_unit_is_energy(reg->unit))
		return true;
	return v && free_find_unit(cpu, reg);
}

static bool free_is_listed(const struct pmu *pmu, const struct pmu_free *reg)
{
	for (unsigned i = 0; i < pmu->nfrees; i++)
		if (pmu->frees[i].addr == reg->addr)
			return true;
	return false;
}

/* The number of the virtual PMD of @reg. Only registers of a single CPU that never wrap have
 * one. */
static bool free_find_num(const struct pmu_free *reg, uint16_t *num)
{
	static const char *const names[] = {"tsc", "mperf", "aperf", "pperf", "irperf"};

	if (reg->scope != PMU_SCOPE_THREAD || reg->width < 64)
		return false;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*num = (uint16_t)(PMU_FIRST_READING + i);
		if (strcmp(reg->name, names[i]) == 0)
			return true;
	}
	return false;
}

/* Inserts @v in rising order of numbers. */
static void free_insert_virtual(struct pmu *pmu, const struct pmu_virtual *v)
{
	unsigned at = pmu->nvirtuals;

	if (at == PMU_MAX_VIRTUALS || pmu_find_virtual(pmu, v->num) >= 0)
		return;
	while (at && pmu->virtuals[at - 1].num > v->num) {
		pmu->virtuals[at] = pmu->virtuals[at - 1];
		at--;
	}
	pmu->virtuals[at] = *v;
	pmu->nvirtuals++;
}

void pmu_free_add_virtuals(struct pmu *pmu)
{
	for (unsigned i = 0; i < pmu->nfrees; i++) {
		struct pmu_virtual v = {.kind = PMU_VIRTUAL_READING, .free = (uint8_t)i};

		memcpy(v.name, pmu->frees[i].name, sizeof(v.name));
		if (free_find_num(&pmu->frees[i], &v.num))
			free_insert_virtual(pmu, &v);
	}
}

static void free_find(const struct pmu_cpu *cpu, struct pmu *pmu)
{
	struct pmu_identity id;
	unsigned n = pmu->nfrees;
	struct err e;

	pmu->nfrees = 0;
	for (unsigned i = 0; i < n; i++)
		if (free_is_there(cpu, &pmu->frees[i]))
			pmu->frees[pmu->nfrees++] = pmu->frees[i];
	if (detect_identity(cpu, &id, &e) < 0)
		return;
	pthread_once(&free_once, free_parse);
	for (unsigned i = 0; i < free_nlines; i++) {
		/* A copy, because the unit depends on the CPU. */
		struct free_line f = free_lines[i];

		if (!free_is_listed(pmu, &f.reg) && free_applies(&f, cpu, &id) &&
			free_is_there(cpu, &f.reg) && parse_free_add(pmu, &f.reg, &e) < 0)
			return;
	}
}

void pmu_free_detect(const struct pmu_cpu *cpu, struct pmu *pmu)
{
	free_find(cpu, pmu);
	pmu_free_add_virtuals(pmu);
}

uint64_t pmu_free_wrap_ns(const struct pmu_free *reg)
{
	if (reg->width >= 64 || reg->unit == PMU_UNIT_DEGREES)
		return UINT64_MAX;
	if (pmu_unit_is_energy(reg->unit)) /* uJ / W = us. */
		return num_scale(
			1ULL << reg->width, reg->uj * 1000 / PMU_FREE_WATTS, reg->uj_shift);
	return num_scale(1ULL << reg->width, NSEC_PER_SEC / PMU_FREE_EVENTS_PER_S, 0);
}
