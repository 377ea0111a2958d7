// SPDX-License-Identifier: MIT
/* Finds a model and its description by CPUID. Results are used only if pmu_validate() accepts
 * them. */
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

int detect_identity(const struct pmu_cpu *cpu, struct pmu_identity *id, struct err *e)
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
	int (*no_model)(const struct pmu_identity *id, struct err *e);
} detect_vendors[] = {
	{"GenuineIntel", PMU_INTEL, intel_features, intel_no_model},
	{"AuthenticAMD", PMU_AMD, amd_features, amd_no_model},
	{"HygonGenuine", PMU_AMD, amd_features, amd_no_model},
};

bool detect_vendor_of(const struct pmu_identity *id, enum pmu_vendor *vendor)
{
	for (unsigned i = 0; i < sizeof(detect_vendors) / sizeof(detect_vendors[0]); i++) {
		*vendor = detect_vendors[i].vendor;
		if (strcmp(id->vendor, detect_vendors[i].id) == 0)
			return true;
	}
	return false;
}

static bool detect_in(const uint64_t *bits, unsigned words, unsigned n)
{
	return n < 64 * words && bits[n / 64] >> n % 64 & 1;
}

bool detect_matches(const struct pmu_match *m, const struct pmu_identity *id, unsigned version)
{
	if (!m->given || version < m->version || version > m->max_version)
		return false;
	if (m->bare && id->leaf1[ECX] & ECX1_HYPERVISOR)
		return false;
	if (m->by_family && !detect_in(m->families, PMU_FAMILY_WORDS, id->family))
		return false;
	return !m->by_model || detect_in(m->models, PMU_CPU_MODEL_WORDS, id->model);
}

/* Chooses among the matching models. A model that names the CPU's model wins over one that does
 * not; then the highest version wins, then the last model: administrators' files come after the
 * models compiled in. */
static const struct pmu_model *detect_model(
	enum pmu_vendor vendor, const struct pmu_identity *id, unsigned version)
{
	const struct pmu_model *best = NULL, *m;

	for (unsigned i = 0; (m = pmu_model_at(i)); i++) {
		if (m->vendor != vendor || !detect_matches(&m->detect, id, version))
			continue;
		if (!best || m->detect.by_model > best->detect.by_model ||
			(m->detect.by_model == best->detect.by_model &&
				m->detect.version >= best->detect.version))
			best = m;
	}
	return best;
}

static int detect_choose(const struct pmu_cpu *cpu, const struct pmu_identity *id,
	struct pmu_detected *out, struct err *e)
{
	for (unsigned i = 0; i < sizeof(detect_vendors) / sizeof(detect_vendors[0]); i++) {
		int rc;

		if (strcmp(id->vendor, detect_vendors[i].id) != 0)
			continue;
		rc = detect_vendors[i].features(cpu, id, &out->features, e);
		if (rc < 0)
			return rc;
		out->model = detect_model(detect_vendors[i].vendor, id, out->features.version);
		return out->model ? 0 : detect_vendors[i].no_model(id, e);
	}
	return err_set(e, ENODEV,
		"CPU vendor '%s' is unknown: describe its PMU with --pmu=FILE, or use perfmonfs "
		"--backend=perf",
		id->vendor);
}

int pmu_detect(const struct pmu_cpu *cpu, struct pmu_detected *out, struct err *e)
{
	struct pmu_identity id;
	int rc = detect_identity(cpu, &id, e);

	return rc < 0 ? rc : detect_choose(cpu, &id, out, e);
}

bool pmu_detected_same(const struct pmu_detected *a, const struct pmu_detected *b)
{
	const struct pmu_features *f = &a->features, *g = &b->features;

	return a->model == b->model && f->version == g->version && f->gp == g->gp &&
	       f->gp_map == g->gp_map && f->gp_width == g->gp_width && f->fixed == g->fixed &&
	       f->fixed_width == g->fixed_width && f->full_width == g->full_width &&
	       f->core == g->core && f->no_events == g->no_events && f->l3 == g->l3 &&
	       f->df == g->df && f->umc == g->umc && f->umcs == g->umcs;
}

int pmu_describe(const struct pmu_detected *d, struct pmu *out, struct err *e)
{
	const struct pmu_features *f = d->features.version ? &d->features : &d->model->features;
	int rc = pmu_build(d->model, f, out, e);

	if (rc < 0)
		return rc;
	out->core = d->features.core;
	if (pmu_validate(out, e) < 0) {
		e->no = ENODEV;
		return err_prefix(e, "CPUID describes no usable PMU: use perfmonfs --backend=perf");
	}
	return 0;
}
