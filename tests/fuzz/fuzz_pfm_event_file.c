// SPDX-License-Identifier: MIT
/* An event file: what it adds is in range, and is found again by its name. */
#include "tests/fuzz/fuzz.h"

#include "tools/pfm/events/event_file.h"

static void check_row(const struct pfm_pmu *pmu, const struct event_row *r)
{
	const struct event_table *t = &pmu->events;

	CHECK(r->name[0] && strlen(r->name) < sizeof(r->name));
	CHECK(strlen(r->desc) < sizeof(r->desc));
	CHECK(!(r->code & (r->escrs ? PFM_ESCR_STATE : PFM_SEL_STATE)));
	CHECK(r->counters == EVENT_ANY_COUNTER || (!r->escrs && !(r->counters & ~pmu->all)));
	CHECK(event_table_find(t, slice_of(r->name), slice_of("fuzz")) == r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pfm_pmu pmu = {.cpu = {ARCH_AMD, 26, 2, true},
		.name = "amd64_v2",
		.counters = {{.nums = {0}, .n = 1}, {.nums = {64, 68}, .n = 2, .umc = true}},
		.ncounters = 2,
		.general = 0x1,
		.umc = 0x2,
		.all = 0x3};
	struct err e;
	int rc = event_file_parse(slice_of_input(data, size), "file", "fuzz", &pmu, &e);

	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		CHECK(strncmp(e.text, "file:", 5) == 0);
	}
	for (unsigned i = 0; i < pmu.events.n; i++)
		check_row(&pmu, &pmu.events.rows[i]);
	pfm_pmu_free(&pmu);
	return 0;
}
