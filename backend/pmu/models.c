// SPDX-License-Identifier: MIT
/* The models: the ones compiled in, which are parsed once, and the ones that the catalog adds. */
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "backend/pmu/model.h"

static struct pmu_model models[PMU_MAX_MODELS];
static unsigned models_n;
static pthread_once_t models_once = PTHREAD_ONCE_INIT;

static void models_parse(void)
{
	for (const struct embedded *b = pmu_builtins; b->name && models_n < PMU_MAX_MODELS; b++) {
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

int pmu_models_add(struct slice text, struct err *e)
{
	const struct pmu_model *m;
	struct pmu_model new;
	struct pmu pmu;

	if (pmu_parse_model(text, NULL, &pmu, &new, e) < 0)
		return -e->no;
	for (unsigned i = 0; (m = pmu_model_at(i)); i++) {
		if (strcmp(m->name, new.name) == 0)
			return err_set(e, EEXIST, "another PMU is named %s: choose another name",
				new.name);
		if (new.sim.name[0] && strcmp(m->sim.name, new.sim.name) == 0)
			return err_set(e, EEXIST,
				"another CPU model of the simulator is named %s: choose another "
				"name",
				new.sim.name);
	}
	if (models_n == PMU_MAX_MODELS)
		return err_set(
			e, ENOSPC, "there are %d PMUs already, which is the limit", PMU_MAX_MODELS);
	models[models_n++] = new;
	return 0;
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
