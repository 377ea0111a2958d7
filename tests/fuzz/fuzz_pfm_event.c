// SPDX-License-Identifier: MIT
/*
 * An event as a user writes it. One that is accepted has a counter, and the value that its counter
 * gets means the same event again.
 */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/pfm_pmus.h"
#include "tools/pfm/events/assign.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/event_file.h"

static void parse_once(struct pfm_pmu *pmu, struct pfm_pmu_text text, const char *events)
{
	static const struct pfm_cpu cpu = {ARCH_NONE, -1, -1, false};
	struct err e;

	if (!pmu->ncounters)
		CHECK(pfm_pmu_parse(&text, &cpu, pmu, &e) == 0 &&
			event_file_parse(slice_of(events), "file", "f", pmu, &e) == 0);
}

static const struct pfm_pmu *fuzz_pmu(void)
{
	static struct pfm_pmu pmu;

	parse_once(&pmu,
		pfm_pmus_text("intel_arch_v4", "sim", pfm_pmus_intel_pmcs, pfm_pmus_intel_pmds),
		"");
	return &pmu;
}

static const struct pfm_pmu *fuzz_netburst(void)
{
	static const char events[] = "cycles 0x26000200 pmc6,38\nir:A 0x04000200 pmc20,51\n"
				     "ir:B 0x04000400 pmc20,51\n64bit_uop 0x04010000 pmc20\n";
	static struct pfm_pmu pmu;

	parse_once(&pmu,
		pfm_pmus_text("netburst", "sim", pfm_pmus_netburst_pmcs, pfm_pmus_netburst_pmds),
		events);
	return &pmu;
}

static void check_again(const struct pfm_event *event)
{
	int row = __builtin_ctzll(event->counters);
	struct event_place place = {row, -1};
	unsigned level = event->level ? event->level : EVENT_USER;
	struct event_setting out[EVENT_MAX_SETTINGS];
	struct pfm_event again;
	char text[64];
	struct err e;

	CHECK(event_program(fuzz_pmu(), event, 1, &place, level, out) == 1);
	snprintf(text, sizeof(text), "pmc%u=0x%llx", out[0].pmc, (unsigned long long)out[0].value);
	CHECK(event_resolve(fuzz_pmu(), text, &again, &e) == 0);
	CHECK(again.level == level);
	CHECK(again.counters & 1ULL << row);
	CHECK(!(fuzz_pmu()->general & 1ULL << row) || again.code == event->code);
}

/* An event of NetBurst has an ESCR, whose value means the same event again. */
static void check_netburst(const char *text)
{
	struct event_setting out[EVENT_MAX_SETTINGS];
	struct pfm_event event, again;
	struct event_place place;
	char escr[64];
	struct err e;

	if (event_resolve(fuzz_netburst(), text, &event, &e) < 0)
		return;
	CHECK(event.escrs && event.counters);
	CHECK(assign_events(fuzz_netburst(), &event, 1, UINT64_MAX, &place, &e) == 0);
	CHECK(event_program(fuzz_netburst(), &event, 1, &place, EVENT_USER, out) == 2);
	CHECK((int)out[0].pmc == place.escr && event.escrs >> place.escr & 1);
	snprintf(escr, sizeof(escr), "pmc%u=0x%llx", out[0].pmc, (unsigned long long)out[0].value);
	CHECK(event_resolve(fuzz_netburst(), escr, &again, &e) == 0);
	CHECK(again.code == event.code && again.escrs == 1ULL << place.escr);
	CHECK(again.level == (event.level ? event.level : EVENT_USER));
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
	check_netburst(text);
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
