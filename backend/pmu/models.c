// SPDX-License-Identifier: MIT
/* The models: those compiled in, parsed once. */
#include <pthread.h>
#include <stddef.h>

#include "backend/pmu/model.h"

static struct pmu_model models[PMU_MAX_MODELS];
static unsigned models_n;
static pthread_once_t models_once = PTHREAD_ONCE_INIT;

static void models_parse(void)
{
	for (const struct pmu_builtin *b = pmu_builtins; b->name && models_n < PMU_MAX_MODELS;
		b++) {
		struct pmu pmu;
		struct err e;

		if (pmu_parse_model(b->text, NULL, &pmu, &models[models_n], &e) == 0)
			models_n++;
	}
}

const struct pmu_model *pmu_model_at(unsigned i)
{
	pthread_once(&models_once, models_parse);
	return i < models_n ? &models[i] : NULL;
}

const char *pmu_model_name(unsigned i)
{
	const struct pmu_model *m = pmu_model_at(i);

	return m ? m->name : NULL;
}

int pmu_build(
	const struct pmu_model *m, const struct pmu_features *f, struct pmu *out, struct err *e)
{
	return pmu_parse_model(m->text, f, out, NULL, e);
}
