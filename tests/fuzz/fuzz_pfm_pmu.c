// SPDX-License-Identifier: MIT
/*
 * The files of pmu/, one after another with a line of "=" between: a PMU that is accepted has only
 * counters that some PMC selects for.
 */
#include "tests/fuzz/fuzz.h"

#include "tools/pfm/events/pfm_pmu.h"

enum { NFILES = 6 };

static void cut_files(struct slice all, struct slice files[NFILES])
{
	for (unsigned i = 0; i < NFILES; i++)
		files[i] = slice_cut(&all, '=');
}

static void check_pmu(const struct pfm_pmu *pmu)
{
	uint64_t all = 0;

	CHECK(strlen(pmu->name) < sizeof(pmu->name));
	CHECK(!(pmu->general & ~pmu->all));
	for (unsigned i = 0; i < pmu->npmds; i++) {
		const struct pfm_pmd *d = &pmu->pmds[i];

		CHECK(d->num < 64 && !(all >> d->num & 1));
		CHECK(pfm_pmu_pmc(pmu, d->pmc));
		CHECK((d->fixed < 0) == (pmu->general >> d->num & 1));
		CHECK(d->fixed < 16);
		all |= 1ULL << d->num;
	}
	CHECK(all == pmu->all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pfm_cpu cpu = {PFM_ENCODING_INTEL, 6, 94, true};
	struct slice f[NFILES];
	struct pfm_pmu pmu;
	struct err e;
	int rc;

	cut_files(slice_of_input(data, size), f);
	rc = pfm_pmu_parse(
		&(struct pfm_pmu_text){f[0], f[1], f[2], f[3], f[4], f[5]}, &cpu, &pmu, &e);
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(strncmp(e.text, "pmu/", 4) == 0);
		return 0;
	}
	check_pmu(&pmu);
	pfm_pmu_free(&pmu);
	return 0;
}
