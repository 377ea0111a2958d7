// SPDX-License-Identifier: MIT
/* Walking the models of all vendors. */
#include "backend/pmu/model.h"

#include <stddef.h>
#include <stdio.h>

static const struct {
	const struct pmu_model *models;
	void (*build)(const struct pmu_features *f, struct pmu *pmu);
} model_vendors[] = {
	[PMU_INTEL] = {pmu_intel_models, intel_build},
	[PMU_AMD] = {pmu_amd_models, amd_build},
};

const struct pmu_model *pmu_model_at(unsigned i)
{
	for (unsigned v = 0; v < sizeof(model_vendors) / sizeof(model_vendors[0]); v++)
		for (const struct pmu_model *m = model_vendors[v].models; m->name; m++)
			if (i-- == 0)
				return m;
	return NULL;
}

const char *pmu_model_name(unsigned i)
{
	const struct pmu_model *m = pmu_model_at(i);

	return m ? m->name : NULL;
}

void pmu_build(const struct pmu_model *m, const struct pmu_features *f, struct pmu *out)
{
	*out = (struct pmu){.space = PMU_SPACE_MSR, .max_rate = 1ULL << 36, .counter_width = 64};
	snprintf(out->name, sizeof(out->name), "%s", m->name);
	snprintf(out->model, sizeof(out->model), "%s", m->title);
	pmu_add_virtuals(out);
	model_vendors[m->vendor].build(f, out);
}
