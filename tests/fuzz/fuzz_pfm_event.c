// SPDX-License-Identifier: MIT
/*
 * An event as a user writes it. One that is accepted has a counter, and the value that its counter
 * gets means the same event again.
 */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/pfm_pmus.h"
#include "tools/pfm/events/event.h"

static const struct pfm_pmu *fuzz_pmu(void)
{
	static const struct pfm_cpu cpu = {PFM_ENCODING_NONE, -1, -1, false};
	static struct pfm_pmu pmu;
	struct pfm_pmu_text text =
		pfm_pmus_text("intel_arch_v4", "sim", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds);
	struct err e;

	if (!pmu.ncounters)
		CHECK(pfm_pmu_parse(&text, &cpu, &pmu, &e) == 0);
	return &pmu;
}

static void check_again(const struct pfm_event *event)
{
	int row = __builtin_ctzll(event->counters);
	unsigned level = event->level ? event->level : EVENT_USER;
	struct event_setting out[EVENT_MAX_SETTINGS];
	struct pfm_event again;
	char text[64];
	struct err e;

	CHECK(event_program(fuzz_pmu(), event, 1, &row, level, out) == 1);
	snprintf(text, sizeof(text), "pmc%u=0x%llx", out[0].pmc, (unsigned long long)out[0].value);
	CHECK(event_resolve(fuzz_pmu(), text, &again, &e) == 0);
	CHECK(again.level == level);
	CHECK(again.counters & 1ULL << row);
	CHECK(!(fuzz_pmu()->general & 1ULL << row) || again.code == event->code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pfm_event event;
	char text[256];
	struct err e;
	int rc;

	if (size >= sizeof(text) || (size && memchr(data, '\0', size)))
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	rc = event_resolve(fuzz_pmu(), text, &event, &e);
	if (rc < 0) {
		check_refusal(rc, &e);
		CHECK(e.no == EINVAL || e.no == ERANGE || e.no == ENOENT || e.no == EOPNOTSUPP);
		return 0;
	}
	CHECK(strcmp(event.name, text) == 0);
	CHECK(event.counters && !(event.counters & ~fuzz_pmu()->all));
	CHECK(event.extra_pmc < 0);
	check_again(&event);
	return 0;
}
