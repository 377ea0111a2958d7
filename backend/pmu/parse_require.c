// SPDX-License-Identifier: MIT
/* Lines "require": bits of several PMCs, at least one of which must be set. */
#include <errno.h>
#include <inttypes.h>

#include "backend/pmu/parse_i.h"
#include "base/num.h"

/* Parses NUM:BITS. */
static int require_parse_bits(
	const struct parse *p, struct slice word, struct pmu_require *r, struct err *e)
{
	const struct pmu *pmu = &p->pmu;
	struct slice num = slice_cut(&word, ':');
	const struct pmu_pmc *pmc;
	uint64_t n;
	int row;

	if (num_max(num, PMU_MAX_NUM - 1, &n, e) < 0 || num_u64(word, &r->bits[r->n], e) < 0)
		return err_prefix(e, "require: NUM:BITS");
	row = pmu_find_pmc(pmu, (unsigned)n);
	if (row < 0 && p->lost[n])
		return err_set(e, ECANCELED, "the line of PMC %" PRIu64 " has a mistake", n);
	if (row < 0)
		return err_set(e, EINVAL, "require: no line above describes PMC %" PRIu64, n);
	pmc = &pmu->pmcs[row];
	if (!r->bits[r->n] || r->bits[r->n] & pmc->rsvd)
		return err_set(e, EINVAL,
			"require: of PMC %u, name bits that are not reserved, from 0x%" PRIx64,
			pmc->num, ~pmc->rsvd);
	r->pmc[r->n++] = (uint16_t)row;
	return 0;
}

static bool require_is_default(const struct pmu *pmu, const struct pmu_require *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (pmu->pmcs[r->pmc[i]].def & r->bits[i])
			return true;
	return false;
}

int parse_require(struct parse *p, struct slice line, struct err *e)
{
	struct pmu *pmu = &p->pmu;
	struct pmu_require r = {0};
	struct slice word;
	int rc = 0;

	if (pmu->space != PMU_SPACE_IPF)
		return err_set(
			e, EINVAL, "require: it needs a line 'space ipf' above: leave it out");
	if (pmu->nrequires == PMU_MAX_REQUIRES)
		return err_set(e, EINVAL, "there are more than %d lines require: leave some out",
			PMU_MAX_REQUIRES);
	while (rc == 0 && (word = slice_word(&line)).n)
		rc = r.n < PMU_REQUIRE_PMCS
			     ? require_parse_bits(p, word, &r, e)
			     : err_set(e, EINVAL,
				       "require: it takes at most %d PMCs: leave some out",
				       PMU_REQUIRE_PMCS);
	if (rc < 0)
		return rc;
	if (!require_is_default(pmu, &r))
		return err_set(e, EINVAL,
			"require: no PMC has one of these bits by default, so that no event set "
			"could be made: set one in its default=");
	pmu->requires[pmu->nrequires++] = r;
	return 0;
}
