// SPDX-License-Identifier: MIT
/*
 * The feature leaves read here: Intel 0xA (SDM volume 3, 20.2) with 0x345, AMD 0x80000022 and
 * 0x80000001 (APM volume 3, appendix E). What they say is trusted no further than pmu_validate().
 */
#include "backend/pmu/detect.h"

#include <errno.h>
#include <string.h>

#include "backend/pmu/families.h"
#include "backend/pmu/regs.h"
#include "backend/pmu/row.h"

enum { EAX, EBX, ECX, EDX };

enum {
	LEAF_PERFMON = 0xa,
	ECX1_PDCM = 1u << 15, /* IA32_PERF_CAPABILITIES exists */
	PERF_CAP_FW_WRITE = 1u << 13,
	ECX80000001_PERFCTR = 1u << 23, /* PerfCtrExtCore */
	EAX80000022_V2 = 1u << 0,
};

#define ECX1_HYPERVISOR (1u << 31)

struct identity {
	uint32_t leaf0[4], leaf1[4];
	unsigned family, model;
	char vendor[13];
};

static int cpuid(const struct pmu_cpu *cpu, uint32_t leaf, uint32_t out[4], struct err *e)
{
	return cpu->cpuid(cpu->arg, leaf, 0, out, e);
}

static void identity_vendor(struct identity *id)
{
	memcpy(id->vendor, &id->leaf0[EBX], 4);
	memcpy(id->vendor + 4, &id->leaf0[EDX], 4);
	memcpy(id->vendor + 8, &id->leaf0[ECX], 4);
	id->vendor[12] = '\0';
	for (unsigned i = 0; i < 12; i++)
		if (id->vendor[i] < ' ' || id->vendor[i] > '~')
			id->vendor[i] = '?';
}

static int identify(const struct pmu_cpu *cpu, struct identity *id, struct err *e)
{
	uint32_t eax;
	int rc = cpuid(cpu, 0, id->leaf0, e);

	if (rc < 0)
		return rc;
	rc = cpuid(cpu, 1, id->leaf1, e);
	if (rc < 0)
		return rc;
	identity_vendor(id);
	eax = id->leaf1[EAX];
	id->family = eax >> 8 & 0xf;
	id->model = eax >> 4 & 0xf;
	if (id->family == 6 || id->family == 15)
		id->model |= (eax >> 16 & 0xf) << 4;
	if (id->family == 15)
		id->family += eax >> 20 & 0xff;
	return 0;
}

/* A register that faults means a hypervisor that hides it: the narrow write always works. */
static int intel_fw_write(
	const struct pmu_cpu *cpu, const struct identity *id, bool *fw, struct err *e)
{
	uint64_t caps;
	int rc;

	*fw = false;
	if (!(id->leaf1[ECX] & ECX1_PDCM))
		return 0;
	rc = cpu->rdmsr(cpu->arg, MSR_PERF_CAPABILITIES, &caps);
	if (rc == -EIO)
		return 0;
	if (rc < 0)
		return err_set(
			e, -rc, "cannot read IA32_PERF_CAPABILITIES (0x345): %s", err_name(-rc));
	*fw = caps & PERF_CAP_FW_WRITE;
	return 0;
}

/*
 * From version 5 on ECX has a bitmap, before that only EDX's number counts. Some firmware
 * reports none from version 2 to 4 though every such CPU has three; a hypervisor that reports
 * none means it. Linux decides likewise (arch/x86/events/intel/core.c, intel_pmu_init).
 */
static void intel_fixed(const struct identity *id, const uint32_t leaf[4], struct intel_params *p)
{
	unsigned n = leaf[EDX] & 0x1f;

	p->fixed = (uint32_t)pmu_low_bits(n);
	p->fixed_width = leaf[EDX] >> 5 & 0xff;
	if (p->version >= 5) {
		p->fixed |= leaf[ECX];
	} else if (!n && p->version >= 2 && !(id->leaf1[ECX] & ECX1_HYPERVISOR)) {
		p->fixed = 7;
		p->fixed_width = p->gp_width;
	}
}

static int detect_intel_arch(const struct pmu_cpu *cpu, const struct identity *id,
	const uint32_t leaf[4], struct pmu *out, struct err *e)
{
	struct intel_params p = {
		.version = leaf[EAX] & 0xff,
		.gp = leaf[EAX] >> 8 & 0xff,
		.gp_width = leaf[EAX] >> 16 & 0xff,
	};
	int rc = intel_fw_write(cpu, id, &p.fw_write, e);

	if (rc < 0)
		return rc;
	if (p.version > 5)
		p.version = 5;
	intel_fixed(id, leaf, &p);
	intel_arch_build(&p, out);
	return 0;
}

static int detect_intel(
	const struct pmu_cpu *cpu, const struct identity *id, struct pmu *out, struct err *e)
{
	uint32_t leaf[4] = {0};

	if (id->leaf0[EAX] >= LEAF_PERFMON) {
		int rc = cpuid(cpu, LEAF_PERFMON, leaf, e);

		if (rc < 0)
			return rc;
	}
	if (leaf[EAX] & 0xff)
		return detect_intel_arch(cpu, id, leaf, out, e);
	if (id->family == 6 && id->model <= 13) {
		p6_build(out);
		return 0;
	}
	if (id->family < 6 || id->family == 15)
		return err_set(e, ENODEV,
			"the PMU of Intel family %u model %u is not supported: use --backend=perf",
			id->family, id->model);
	return err_set(e, ENODEV,
		"this CPU reports no PMU (CPUID leaf 0xA is version 0), as in a virtual machine "
		"without one: use --backend=perf, or give the VM a PMU");
}

static int detect_amd(
	const struct pmu_cpu *cpu, const struct identity *id, struct pmu *out, struct err *e)
{
	uint32_t max[4], v2[4] = {0}, ext[4] = {0};
	int rc;

	if (id->family < 6)
		return err_set(e, ENODEV, "%s family %u has no PMU: use --backend=perf", id->vendor,
			id->family);
	rc = cpuid(cpu, 0x80000000, max, e);
	if (rc == 0 && max[EAX] >= 0x80000001)
		rc = cpuid(cpu, 0x80000001, ext, e);
	if (rc == 0 && max[EAX] >= 0x80000022)
		rc = cpuid(cpu, 0x80000022, v2, e);
	if (rc < 0)
		return rc;
	if (v2[EAX] & EAX80000022_V2)
		amd64_v2_build(v2[EBX] & 0xf, out);
	else if (ext[ECX] & ECX80000001_PERFCTR)
		amd64_ext_build(out);
	else
		amd64_build(out);
	return 0;
}

static int detect_vendor(
	const struct pmu_cpu *cpu, const struct identity *id, struct pmu *out, struct err *e)
{
	if (strcmp(id->vendor, "GenuineIntel") == 0)
		return detect_intel(cpu, id, out, e);
	if (strcmp(id->vendor, "AuthenticAMD") == 0 || strcmp(id->vendor, "HygonGenuine") == 0)
		return detect_amd(cpu, id, out, e);
	return err_set(e, ENODEV,
		"CPU vendor '%s' is unknown: describe its PMU with --pmu=FILE, or use "
		"--backend=perf",
		id->vendor);
}

int pmu_detect(const struct pmu_cpu *cpu, struct pmu *out, struct err *e)
{
	struct identity id;
	int rc = identify(cpu, &id, e);

	if (rc < 0)
		return rc;
	rc = detect_vendor(cpu, &id, out, e);
	if (rc < 0)
		return rc;
	if (pmu_validate(out, e) < 0) {
		e->no = ENODEV;
		return err_prefix(e, "CPUID describes no usable PMU (use --backend=perf)");
	}
	return 0;
}
