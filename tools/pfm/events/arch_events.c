// SPDX-License-Identifier: MIT
/*
 * Intel: SDM volume 3, chapter 20, "architectural performance monitoring events". AMD: APM volume 2
 * and the processor references, which keep these codes from K7 to Zen 5. P6: SDM, "P6 family".
 */
#include "tools/pfm/events/arch_events.h"

#include <stdio.h>

struct arch_event {
	enum pfm_encoding encoding;
	const char *name;
	uint64_t code;
	const char *desc;
};

static const struct arch_event arch_events[] = {
	{PFM_ENCODING_INTEL, "instructions", 0x00c0, "instructions retired"},
	{PFM_ENCODING_INTEL, "cycles", 0x003c, "core cycles while not halted"},
	{PFM_ENCODING_INTEL, "ref-cycles", 0x0300, "cycles of the TSC while not halted"},
	{PFM_ENCODING_INTEL, "bus-cycles", 0x013c, "reference cycles while not halted"},
	{PFM_ENCODING_INTEL, "cache-references", 0x4f2e, "references to the last-level cache"},
	{PFM_ENCODING_INTEL, "cache-misses", 0x412e, "misses of the last-level cache"},
	{PFM_ENCODING_INTEL, "branches", 0x00c4, "branch instructions retired"},
	{PFM_ENCODING_INTEL, "branch-misses", 0x00c5, "mispredicted branches retired"},
	{PFM_ENCODING_INTEL, "slots", 0x0400, "issue slots of the pipeline"},
	{PFM_ENCODING_P6, "instructions", 0x00c0, "instructions retired"},
	{PFM_ENCODING_P6, "cycles", 0x0079, "cycles while not halted"},
	{PFM_ENCODING_P6, "branches", 0x00c4, "branch instructions retired"},
	{PFM_ENCODING_P6, "branch-misses", 0x00c5, "mispredicted branches retired"},
	{PFM_ENCODING_AMD, "instructions", 0x00c0, "instructions retired"},
	{PFM_ENCODING_AMD, "cycles", 0x0076, "core cycles while not halted"},
	{PFM_ENCODING_AMD, "branches", 0x00c2, "branch instructions retired"},
	{PFM_ENCODING_AMD, "branch-misses", 0x00c3, "mispredicted branches retired"},
};

const char *arch_events_name(unsigned i)
{
	return i < sizeof(arch_events) / sizeof(arch_events[0]) ? arch_events[i].name : NULL;
}

int arch_events_add(enum pfm_encoding encoding, struct event_table *t, struct err *e)
{
	for (unsigned i = 0; i < sizeof(arch_events) / sizeof(arch_events[0]); i++) {
		const struct arch_event *a = &arch_events[i];
		struct event_row row = {.code = a->code,
			.counters = EVENT_ANY_COUNTER,
			.source = "architectural",
			.active = true};
		int rc;

		if (a->encoding != encoding)
			continue;
		snprintf(row.name, sizeof(row.name), "%s", a->name);
		snprintf(row.desc, sizeof(row.desc), "%s", a->desc);
		rc = event_table_add(t, &row, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}
