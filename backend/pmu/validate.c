// SPDX-License-Identifier: MIT
/* Rules for descriptions, built in or loaded from a file: first for the whole, then for each
 * row. */
#include "perfmonfs/pmu.h"

#include <errno.h>

#include "backend/pmu/model.h"
#include "backend/pmu/validate_i.h"

/* Checks the numbers of rows, which all other rules rely on. */
static int validate_counts(const struct pmu *pmu, struct err *e)
{
	if (pmu->npmcs > PMU_MAX_PMCS || pmu->npmds > PMU_MAX_PMDS ||
		pmu->nevents > PMU_MAX_EVENTS || pmu->nvirtuals > PMU_MAX_VIRTUALS ||
		pmu->nfrees > PMU_MAX_FREES)
		return err_set(e, EINVAL,
			"%u PMCs, %u PMDs, %u virtual PMDs, %u free registers, %u events: one of "
			"these numbers is above its limit: leave some out",
			pmu->npmcs, pmu->npmds, pmu->nvirtuals, pmu->nfrees, pmu->nevents);
	return 0;
}

static int validate_head(const struct pmu *pmu, struct err *e)
{
	if (!validate_terminated(pmu->name, PMU_NAME) || !validate_is_word(pmu->name))
		return err_set(e, EINVAL,
			"the PMU's name is missing or not a plain word: write a line 'pmu NAME "
			"TITLE', its name with letters, digits, '_', '.' and '-'");
	if (!validate_terminated(pmu->model, PMU_MODEL) || !validate_is_line(pmu->model))
		return err_set(e, EINVAL,
			"%s: the title is not a line of plain text: write printable ASCII "
			"characters",
			pmu->name);
	return 0;
}

static int validate_rate(const struct pmu *pmu, struct err *e)
{
	if (!pmu->max_rate)
		return err_set(e, EINVAL,
			"the rate is missing, which polling requires: write a line 'rate N', the "
			"events per second that no counter exceeds");
	return 0;
}

static int validate_some(const struct pmu *pmu, struct err *e)
{
	if (!pmu->npmcs || !pmu->npmds)
		return err_set(e, EINVAL,
			"there is no %s: write a line '%s'; with of=, 'features' says how many "
			"there are",
			pmu->npmcs ? "PMD" : "PMC", pmu->npmcs ? "pmd" : "pmc");
	return 0;
}

static int validate_narrowest(const struct pmu *pmu, struct err *e)
{
	if (!pmu->npmds)
		return 0;
	for (unsigned i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].width == pmu->counter_width)
			return 0;
	return err_set(e, EINVAL, "the counter width %u is not the narrowest counter's",
		pmu->counter_width);
}

static int validate_global(const struct pmu *pmu, struct err *e)
{
	int rc = 0;

	if (!pmu->global_ctrl && (pmu->inuse || pmu->status || pmu->clear))
		return err_set(e, EINVAL,
			"global: inuse= or status= without ctrl=: write the address of the global "
			"control");
	if (!pmu->status != !pmu->clear)
		return err_set(e, EINVAL,
			"global: status= and clear= come together: write both, or neither");
	if (pmu->global_ctrl)
		rc = validate_role(pmu, pmu->global_ctrl, ROLE_GLOBAL, "global", e);
	if (rc == 0 && pmu->inuse)
		rc = validate_role(pmu, pmu->inuse, ROLE_INUSE, "global", e);
	if (rc == 0 && pmu->status)
		rc = validate_role(pmu, pmu->status, ROLE_STATUS, "global", e);
	if (rc == 0 && pmu->clear)
		rc = validate_role(pmu, pmu->clear, ROLE_CLEAR, "global", e);
	return rc;
}

/* Applies @rule to each row. False: @mistake ended the validation. */
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
		validate_head, validate_rate, validate_some, validate_narrowest};
	struct err e;

	if (validate_counts(pmu, &e) < 0) {
		mistake(arg, PMU_PART_WHOLE, 0, &e);
		return;
	}
	for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i](pmu, &e) < 0 && !mistake(arg, PMU_PART_WHOLE, 0, &e))
			return;
	if (validate_global(pmu, &e) < 0 && !mistake(arg, PMU_PART_GLOBAL, 0, &e))
		return;
	if (validate_rows(pmu, pmu->npmcs, validate_pmc, PMU_PART_PMC, mistake, arg) &&
		validate_rows(pmu, pmu->npmds, validate_pmd, PMU_PART_PMD, mistake, arg) &&
		validate_rows(
			pmu, pmu->nvirtuals, validate_virtual, PMU_PART_VIRTUAL, mistake, arg))
		validate_rows(pmu, pmu->nfrees, validate_free, PMU_PART_FREE, mistake, arg);
}

/* Ends the validation at the first mistake. @arg is the struct err of pmu_validate(). */
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
