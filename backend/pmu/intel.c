// SPDX-License-Identifier: MIT
/* Intel's CPUID rules of architectural performance monitoring (SDM volume 3, chapter 20). */
#include "backend/pmu/model.h"

#include <errno.h>

#include "backend/pmu/regs.h"
#include "backend/pmu/low_bits.h"

enum {
	LEAF_FEATURES = 7,
	LEAF_PERFMON = 0xa,
	LEAF_CORE = 0x1a,
	LEAF_PERFMON_EXT = 0x23,
	EDX7_HYBRID = 1u << 15,
	EAX7_1_PERFMON_EXT = 1u << 8, /* Subleaf 1: there is a leaf 0x23. */
	EAX23_COUNTERS = 1u << 1,     /* There is a subleaf 1, with bitmaps of counters. */
	ECX1_PDCM = 1u << 15,         /* IA32_PERF_CAPABILITIES exists. */
	PERF_CAP_FULL_WIDTH = 1u << 13,
};

/* Finds out whether counters can be written at full width. If a hypervisor hides the register,
 * reading it faults; narrow writes always work. */
static int intel_full_width(
	const struct pmu_cpu *cpu, const struct pmu_identity *id, bool *full, struct err *e)
{
	uint64_t caps;
	int rc;

	*full = false;
	if (!(id->leaf1[ECX] & ECX1_PDCM))
		return 0;
	rc = cpu->rdmsr(cpu->arg, MSR_PERF_CAPABILITIES, &caps);
	if (rc == -EIO)
		return 0;
	if (rc < 0)
		return err_set(
			e, -rc, "cannot read IA32_PERF_CAPABILITIES (0x345): %s", err_name(-rc));
	*full = caps & PERF_CAP_FULL_WIDTH;
	return 0;
}

/*
 * From version 5 on, ECX is a bitmap of fixed counters; before, only their number in EDX counts.
 * Some firmware reports none for versions 2 to 4, although every such CPU has three; a hypervisor
 * that reports none has none. Linux does the same (intel_pmu_init() in
 * arch/x86/events/intel/core.c).
 */
static void intel_fixed(
	const struct pmu_identity *id, const uint32_t leaf[4], struct pmu_features *f)
{
	unsigned n = leaf[EDX] & 0x1f;

	f->fixed = (uint32_t)pmu_low_bits(n);
	f->fixed_width = leaf[EDX] >> 5 & 0xff;
	if (f->version >= 5) {
		f->fixed |= leaf[ECX];
	} else if (!n && f->version >= 2 && !(id->leaf1[ECX] & ECX1_HYPERVISOR)) {
		f->fixed = 7;
		f->fixed_width = f->gp_width;
	}
}

/* Reads leaf 0x23, which describes this CPU, whereas leaf 0xA may describe what all CPUs have in
 * common. */
static int intel_extended(const struct pmu_cpu *cpu, struct pmu_features *f, struct err *e)
{
	uint32_t leaf[4];
	int rc = cpu->cpuid(cpu->arg, LEAF_FEATURES, 1, leaf, e);

	if (rc < 0 || !(leaf[EAX] & EAX7_1_PERFMON_EXT))
		return rc;
	rc = cpu->cpuid(cpu->arg, LEAF_PERFMON_EXT, 0, leaf, e);
	if (rc < 0 || !(leaf[EAX] & EAX23_COUNTERS))
		return rc;
	rc = cpu->cpuid(cpu->arg, LEAF_PERFMON_EXT, 1, leaf, e);
	if (rc < 0 || !leaf[EAX])
		return rc;
	f->gp_map = leaf[EAX];
	f->gp = (unsigned)__builtin_popcount(leaf[EAX]);
	f->fixed = leaf[EBX];
	return 0;
}

/* Alder Lake and Raptor Lake, which have no leaf 0x23. */
static bool intel_is_alder_lake(const struct pmu_identity *id)
{
	return id->family == 6 && (id->model == 0x97 || id->model == 0x9a || id->model == 0xb7 ||
					  id->model == 0xba || id->model == 0xbf);
}

/*
 * Finds the kind of core. On Alder Lake, leaf 0xA describes the smaller kind on all CPUs. The
 * larger kind has two more general-purpose counters and one more fixed counter, unless the leaf
 * already includes them, as it does if the smaller cores are disabled. Linux does the same
 * (intel_pmu_init() in arch/x86/events/intel/core.c).
 */
static int intel_core(const struct pmu_cpu *cpu, const struct pmu_identity *id,
	struct pmu_features *f, struct err *e)
{
	uint32_t leaf[4];
	bool hybrid;
	int rc = cpu->cpuid(cpu->arg, LEAF_FEATURES, 0, leaf, e);

	if (rc < 0)
		return rc;
	hybrid = leaf[EDX] & EDX7_HYBRID;
	rc = cpu->cpuid(cpu->arg, LEAF_CORE, 0, leaf, e);
	if (rc < 0)
		return rc;
	f->core = leaf[EAX];
	if (hybrid && f->core >> 24 == PMU_CORE_CORE && intel_is_alder_lake(id) && f->gp <= 6 &&
		f->fixed == 7) {
		f->gp += 2;
		f->fixed = 0xf;
	}
	return 0;
}

int intel_features(const struct pmu_cpu *cpu, const struct pmu_identity *id,
	struct pmu_features *out, struct err *e)
{
	uint32_t leaf[4] = {0};
	int rc = 0;

	if (id->leaf0[EAX] >= LEAF_PERFMON)
		rc = cpu->cpuid(cpu->arg, LEAF_PERFMON, 0, leaf, e);
	if (rc < 0)
		return rc;
	*out = (struct pmu_features){
		.version = leaf[EAX] & 0xff,
		.gp = leaf[EAX] >> 8 & 0xff,
		.gp_width = leaf[EAX] >> 16 & 0xff,
		.no_events = leaf[EBX] | ~(uint32_t)pmu_low_bits(leaf[EAX] >> 24),
	};
	if (!out->version)
		return 0;
	intel_fixed(id, leaf, out);
	if (id->leaf0[EAX] >= LEAF_PERFMON_EXT)
		rc = intel_extended(cpu, out, e);
	if (rc == 0 && id->leaf0[EAX] >= LEAF_CORE)
		rc = intel_core(cpu, id, out, e);
	return rc < 0 ? rc : intel_full_width(cpu, id, &out->full_width, e);
}

int intel_no_model(const struct pmu_identity *id, struct err *e)
{
	if (id->family < 6 || id->family == 15)
		return err_set(e, ENODEV,
			"the PMU of Intel family %u model %u is not supported: use perfmonfs "
			"--backend=perf",
			id->family, id->model);
	return err_set(e, ENODEV,
		"this CPU reports no PMU (CPUID leaf 0xA is version 0), as in a virtual machine "
		"without one: use perfmonfs --backend=perf, or give the VM a PMU");
}
