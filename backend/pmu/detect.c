// SPDX-License-Identifier: MIT
/* From CPUID to a model and its description. Results are only used if pmu_validate() agrees. */
#include "backend/pmu/detect.h"

#include <errno.h>
#include <string.h>

#include "backend/pmu/model.h"

static void detect_vendor(struct pmu_identity *id)
{
	memcpy(id->vendor, &id->leaf0[EBX], 4);
	memcpy(id->vendor + 4, &id->leaf0[EDX], 4);
	memcpy(id->vendor + 8, &id->leaf0[ECX], 4);
	id->vendor[12] = '\0';
	for (unsigned i = 0; i < 12; i++)
		if (id->vendor[i] < ' ' || id->vendor[i] > '~')
			id->vendor[i] = '?';
}

static int detect_identity(const struct pmu_cpu *cpu, struct pmu_identity *id, struct err *e)
{
	uint32_t eax;
	int rc = cpu->cpuid(cpu->arg, 0, 0, id->leaf0, e);

	if (rc == 0)
		rc = cpu->cpuid(cpu->arg, 1, 0, id->leaf1, e);
	if (rc < 0)
		return rc;
	detect_vendor(id);
	eax = id->leaf1[EAX];
	id->family = eax >> 8 & 0xf;
	id->model = eax >> 4 & 0xf;
	if (id->family == 6 || id->family == 15)
		id->model |= (eax >> 16 & 0xf) << 4;
	if (id->family == 15)
		id->family += eax >> 20 & 0xff;
	return 0;
}

static const struct {
	const char *id; /* The vendor string of CPUID leaf 0. */
	enum pmu_vendor vendor;
	int (*features)(const struct pmu_cpu *cpu, const struct pmu_identity *id,
		struct pmu_features *out, struct err *e);
} detect_vendors[] = {
	{"GenuineIntel", PMU_INTEL, intel_features},
	{"AuthenticAMD", PMU_AMD, amd_features},
	{"HygonGenuine", PMU_AMD, amd_features},
};

/* The model with the highest version up to @version; each vendor has one for version 0. */
static const struct pmu_model *detect_model(enum pmu_vendor vendor, unsigned version)
{
	const struct pmu_model *best = NULL, *m;

	for (unsigned i = 0; (m = pmu_model_at(i)); i++)
		if (m->vendor == vendor && m->features.version <= version &&
			(!best || m->features.version > best->features.version))
			best = m;
	return best;
}

static int detect_build(
	const struct pmu_cpu *cpu, const struct pmu_identity *id, struct pmu *out, struct err *e)
{
	for (unsigned i = 0; i < sizeof(detect_vendors) / sizeof(detect_vendors[0]); i++) {
		struct pmu_features f;
		int rc;

		if (strcmp(id->vendor, detect_vendors[i].id) != 0)
			continue;
		rc = detect_vendors[i].features(cpu, id, &f, e);
		if (rc == 0)
			pmu_build(detect_model(detect_vendors[i].vendor, f.version), &f, out);
		return rc;
	}
	return err_set(e, ENODEV,
		"CPU vendor '%s' is unknown: describe its PMU with --pmu=FILE, or use "
		"--backend=perf",
		id->vendor);
}

int pmu_detect(const struct pmu_cpu *cpu, struct pmu *out, struct err *e)
{
	struct pmu_identity id;
	int rc = detect_identity(cpu, &id, e);

	if (rc == 0)
		rc = detect_build(cpu, &id, out, e);
	if (rc < 0)
		return rc;
	if (pmu_validate(out, e) < 0) {
		e->no = ENODEV;
		return err_prefix(e, "CPUID describes no usable PMU (use --backend=perf)");
	}
	return 0;
}
