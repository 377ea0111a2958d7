// SPDX-License-Identifier: MIT
/* Rules for descriptions, built in or loaded from a file: of the whole, then of each row. */
#include "perfmonfs/pmu.h"

#include <errno.h>
#include <inttypes.h>

#include "backend/pmu/model.h"
#include "backend/pmu/validate_i.h"

static int validate_head(const struct pmu *pmu, struct err *e)
{
	if (!validate_terminated(pmu->name, PMU_NAME) || !validate_is_word(pmu->name))
		return err_set(e, EINVAL, "the PMU's name is missing or not a plain word");
	if (!validate_terminated(pmu->model, PMU_MODEL) || !validate_is_line(pmu->model))
		return err_set(e, EINVAL, "%s: the model is not a line of plain text", pmu->name);
	if (!pmu->npmcs || pmu->npmcs > PMU_MAX_PMCS || !pmu->npmds || pmu->npmds > PMU_MAX_PMDS ||
		pmu->nevents > PMU_MAX_EVENTS || pmu->nvirtuals > PMU_MAX_VIRTUALS ||
		pmu->nfrees > PMU_MAX_FREES)
		return err_set(e, EINVAL,
			"%s: %u PMCs, %u PMDs, %u virtual ones, %u free ones, %u events: none, or "
			"too "
			"many",
			pmu->name, pmu->npmcs, pmu->npmds, pmu->nvirtuals, pmu->nfrees,
			pmu->nevents);
	if (!pmu->max_rate)
		return err_set(
			e, EINVAL, "%s: the rate is missing, which polling requires", pmu->name);
	return 0;
}

/* Two rows for one register would have two different write masks. */
static int validate_distinct(const struct pmu *pmu, struct err *e)
{
	const uint32_t globals[] = {pmu->global_ctrl, pmu->inuse, pmu->status, pmu->clear};
	uint32_t seen[PMU_MAX_PMCS + PMU_MAX_PMDS + 4];
	unsigned n = 0;

	for (unsigned i = 0; i < pmu->npmcs; i++)
		seen[n++] = known_unalias(pmu, pmu->pmcs[i].addr);
	for (unsigned i = 0; i < pmu->npmds; i++)
		seen[n++] = known_unalias(pmu, pmu->pmds[i].addr);
	for (unsigned i = 0; i < sizeof(globals) / sizeof(globals[0]); i++)
		if (globals[i])
			seen[n++] = globals[i];
	for (unsigned i = 0; i < n; i++)
		for (unsigned j = 0; j < i; j++)
			if (seen[i] == seen[j])
				return err_set(e, EINVAL, "%s: two registers at %#" PRIx32,
					pmu->name, seen[i]);
	return 0;
}

static int validate_narrowest(const struct pmu *pmu, struct err *e)
{
	for (unsigned i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].width == pmu->counter_width)
			return 0;
	return err_set(e, EINVAL, "%s: counter width %u is not the narrowest counter's", pmu->name,
		pmu->counter_width);
}

static int validate_global(const struct pmu *pmu, struct err *e)
{
	int rc = 0;

	if (!pmu->global_ctrl && (pmu->inuse || pmu->status || pmu->clear))
		return err_set(e, EINVAL,
			"%s: an in-use or overflow status register without global control",
			pmu->name);
	if (!pmu->status != !pmu->clear)
		return err_set(e, EINVAL, "%s: status= and clear= come together", pmu->name);
	if (pmu->global_ctrl)
		rc = validate_role(pmu, pmu->global_ctrl, ROLE_GLOBAL, pmu->name, e);
	if (rc == 0 && pmu->inuse)
		rc = validate_role(pmu, pmu->inuse, ROLE_INUSE, pmu->name, e);
	if (rc == 0 && pmu->status)
		rc = validate_role(pmu, pmu->status, ROLE_STATUS, pmu->name, e);
	if (rc == 0 && pmu->clear)
		rc = validate_role(pmu, pmu->clear, ROLE_CLEAR, pmu->name, e);
	return rc;
}

/* Applies @rule to each row. False: @mistake has ended the validation. */
static bool validate_rows(const struct pmu *pmu, unsigned n,
	int (*rule)(const struct pmu *pmu, unsigned row, struct err *e), enum pmu_part part,
	pmu_mistake *mistake, void *arg)
{
	struct err e;

	for (unsigned i = 0; i < n; i++)
		if (rule(pmu, i, &e) < 0 && !mistake(arg, part, i, &e))
			return false;
	return true;
}

void pmu_validate_all(const struct pmu *pmu, pmu_mistake *mistake, void *arg)
{
	int (*const rules[])(const struct pmu *pmu, struct err *e) = {
		validate_narrowest, validate_global, validate_distinct};
	struct err e;

	/* The other rules rely on the numbers of rows that it checks. */
	if (validate_head(pmu, &e) < 0) {
		mistake(arg, PMU_PART_WHOLE, 0, &e);
		return;
	}
	if (!validate_rows(pmu, pmu->npmcs, validate_pmc, PMU_PART_PMC, mistake, arg) ||
		!validate_rows(pmu, pmu->npmds, validate_pmd, PMU_PART_PMD, mistake, arg) ||
		!validate_rows(
			pmu, pmu->nvirtuals, validate_virtual, PMU_PART_VIRTUAL, mistake, arg) ||
		!validate_rows(pmu, pmu->nfrees, validate_free, PMU_PART_FREE, mistake, arg))
		return;
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i](pmu, &e) < 0 && !mistake(arg, PMU_PART_WHOLE, 0, &e))
			return;
}

/* @arg is the struct err of pmu_validate(). */
static bool validate_first(void *arg, enum pmu_part part, unsigned row, const struct err *e)
{
	(void)part;
	(void)row;
	err_copy(arg, e);
	return false;
}

int pmu_validate(const struct pmu *pmu, struct err *e)
{
	e->no = 0;
	pmu_validate_all(pmu, validate_first, e);
	return -e->no;
}
