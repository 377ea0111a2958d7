// SPDX-License-Identifier: MIT
/*
 * The files of pmu/, one after another with "%" between: a PMU that is accepted has only
 * counters that some PMC selects for.
 */
#include "tests/fuzz/fuzz.h"

#include "tools/pfm/events/pfm_pmu.h"

enum { NFILES = 6 };

static void cut_files(struct slice all, struct slice files[NFILES])
{
	for (unsigned i = 0; i < NFILES; i++)
		files[i] = slice_cut(&all, '%');
}

/* No number is that of two counters. */
static void check_numbers(const struct pfm_counter *d, uint64_t taken[5])
{
	CHECK(d->n >= 1 && d->n <= PFM_PMU_UMCS && (d->umc || d->n == 1));
	for (unsigned i = 0; i < d->n; i++) {
		CHECK(d->nums[i] < 320 && !(taken[d->nums[i] / 64] >> d->nums[i] % 64 & 1));
		taken[d->nums[i] / 64] |= 1ULL << d->nums[i] % 64;
	}
}

/* @pmc is one of the PMU's, or there is none. */
static void check_selector(const struct pfm_pmu *pmu, const struct pfm_pmc *pmc)
{
	CHECK(!pmc || pfm_pmu_pmc(pmu, pmc->num) == pmc);
}

static void check_pmu(const struct pfm_pmu *pmu)
{
	uint64_t all = 0, taken[5] = {0};
	unsigned umcs = 0;

	CHECK(strlen(pmu->name) < sizeof(pmu->name));
	CHECK(!((pmu->general | pmu->umc) & ~pmu->all) && !(pmu->general & pmu->umc));
	for (unsigned i = 0; i < pmu->ncounters; i++) {
		const struct pfm_counter *d = &pmu->counters[i];

		check_numbers(d, taken);
		for (unsigned k = 0; k < d->n; k++)
			CHECK(pfm_pmu_pmc(pmu, pfm_counter_pmc(d, k)));
		CHECK(d->umc == (pmu->umc >> i & 1));
		CHECK((d->fixed < 0 && !d->umc) == (pmu->general >> i & 1));
		CHECK(d->fixed < 16);
		CHECK(!d->umc || !umcs || d->n == umcs);
		umcs = d->umc ? d->n : umcs;
		for (uint64_t value = 0; value < 1 << 16; value += 1 << 12)
			check_selector(pmu, pfm_pmu_selector(pmu, d, value));
		all |= 1ULL << i;
	}
	CHECK(all == pmu->all);
	for (unsigned s = 0; s < 64; s++)
		if (pmu->escrs >> s & 1)
			CHECK(pfm_pmu_pmc(pmu, s) && pfm_pmu_escr_counters(pmu, s));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct pfm_cpu cpu = {ARCH_INTEL, 6, 94, true};
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
