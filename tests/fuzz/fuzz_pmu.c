// SPDX-License-Identifier: MIT
/*
 * Descriptions of PMUs: a text that parses is valid, prints as the same description, and permits no
 * write to a register that does not belong to a PMU.
 */
#include "tests/fuzz/fuzz.h"

#include "backend/pmu/model.h"
#include "perfmonfs/pmu.h"
#include "tests/pmu_attacks.h"
#include "tests/pmu_print.h"

static void check_harmless(const struct pmu *pmu)
{
	for (unsigned i = 0; i < PMU_ATTACKS; i++) {
		CHECK(pmu_attack_is_uncore(pmu, pmu_attacks[i]) ||
			!pmu_writable(pmu, pmu_attacks[i]));
		for (unsigned k = 0; k < pmu->nfrees; k++)
			CHECK(pmu->frees[k].addr != pmu_attacks[i]);
	}
	for (unsigned i = 0; i < pmu->nfrees; i++)
		CHECK(!pmu_writable(pmu, pmu->frees[i].addr));
	for (uint32_t sel = 0x186; sel <= 0x18d; sel++)
		CHECK(!(pmu_writable(pmu, sel) & EVTSEL_INT));
	CHECK(!(pmu_writable(pmu, 0x38d) & 0x88888888)); /* PMI of the fixed counters. */
	for (unsigned i = 0; i < pmu->npmcs; i++) {
		const struct pmu_pmc *pmc = &pmu->pmcs[i];

		CHECK(pmu_find_pmc(pmu, pmc->num) == (int)i);
		CHECK(!(pmc->def & pmu_enable_bits(pmu, pmc->addr)));
		CHECK(!pmc->node || pmc->wide);
		CHECK(!(pmc->wide & pmc->rsvd));
	}
	for (unsigned i = 0; i < pmu->npmds; i++) {
		CHECK(pmu_find_pmd(pmu, pmu->pmds[i].num) == (int)i);
		CHECK(pmu->pmds[i].pmc < pmu->npmcs);
		CHECK(pmu->counter_width <= pmu->pmds[i].width);
		CHECK(pmu->pmds[i].num < PMU_FIRST_VIRTUAL);
	}
	for (unsigned i = 0; i < pmu->nvirtuals; i++) {
		const struct pmu_virtual *v = &pmu->virtuals[i];

		CHECK(pmu_find_virtual(pmu, v->num) == (int)i);
		CHECK(pmu_find_pmd(pmu, v->num) < 0 && v->num >= PMU_FIRST_VIRTUAL);
		CHECK(v->kind != PMU_VIRTUAL_FILE || v->path[0] == '/');
	}
}

static void count_mistake(void *arg, unsigned line, const char *text)
{
	unsigned *n = arg;

	CHECK(line > 0 && text[0]);
	++*n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TEXT_CLEANUP struct text printed = {0}, twice = {0};
	struct pmu pmu, again;
	struct err e;
	int rc = pmu_parse(slice_of_input(data, size), &pmu, &e);

	unsigned mistakes = 0;

	CHECK((pmu_parse_check(slice_of_input(data, size), count_mistake, &mistakes) > 0) ==
		(rc < 0));
	CHECK((mistakes > 0) == (rc < 0));
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		return 0;
	}
	CHECK(pmu_validate(&pmu, &e) == 0);
	check_harmless(&pmu);
	pmu_print(&pmu, &printed);
	CHECK(pmu_parse(slice_of_text(&printed), &again, &e) == 0);
	CHECK(again.counter_width == pmu.counter_width);
	CHECK(again.nvirtuals == pmu.nvirtuals);
	pmu_print(&again, &twice);
	CHECK(text_equal(&printed, &twice));
	return 0;
}
