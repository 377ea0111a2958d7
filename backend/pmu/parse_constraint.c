// SPDX-License-Identifier: MIT
/* Lines "constraint": events that only some counters can count. */
#include <errno.h>

#include "backend/pmu/parse_i.h"
#include "base/num.h"

enum { CONSTRAINT_MAX_EVENT = 0xff, CONSTRAINT_MAX_CODE = 0xffff };

static int constraint_parse_pmcs(struct slice list, struct pmu_constraint *c, struct err *e)
{
	uint64_t first, last;

	while (list.n) {
		if (num_range(&list, PMU_MAX_PMCS - 1, &first, &last, e) < 0)
			return err_prefix(e, "constraint: PMCS");
		for (; first <= last; first++)
			c->pmcs |= 1ULL << first;
	}
	return 0;
}

/* Parses CODE or FIRST-LAST. */
static int constraint_parse_codes(struct slice word, struct pmu_constraint *c, struct err *e)
{
	struct slice first = slice_cut(&word, '-');
	uint64_t v, last;

	if (num_within(first, 1, CONSTRAINT_MAX_CODE, &v, e) < 0)
		return err_prefix(e, "constraint: EVENT");
	last = v;
	if (word.n && num_within(word, v, CONSTRAINT_MAX_EVENT, &last, e) < 0)
		return err_prefix(e, "constraint: FIRST-LAST, without unit masks");
	c->first = (uint16_t)v;
	c->last = (uint16_t)last;
	return 0;
}

int parse_constraint(struct parse *p, struct slice line, struct err *e)
{
	struct pmu *pmu = &p->pmu;
	struct pmu_constraint c = {0};
	struct slice pmcs = slice_word(&line), word = slice_word(&line);
	int rc;

	if (pmu->space != PMU_SPACE_MSR)
		return err_set(e, EINVAL,
			"constraint: it does not go with a line 'space ipf': leave it out");
	if (!word.n)
		return err_set(e, EINVAL,
			"constraint: write 'constraint PMCS EVENT...', as in 'constraint 0-1 "
			"0x48'");
	rc = constraint_parse_pmcs(pmcs, &c, e);
	for (; rc == 0 && word.n; word = slice_word(&line)) {
		rc = constraint_parse_codes(word, &c, e);
		if (rc < 0)
			break;
		if (pmu->nconstraints == PMU_MAX_CONSTRAINTS)
			return err_set(e, EINVAL,
				"the lines constraint have more than %d events: leave some out",
				PMU_MAX_CONSTRAINTS);
		pmu->constraints[pmu->nconstraints++] = c;
	}
	return rc;
}
