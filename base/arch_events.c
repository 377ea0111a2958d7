// SPDX-License-Identifier: MIT
/*
 * Intel: SDM volume 3, chapter 20, "architectural performance monitoring events". AMD: APM volume 2
 * and the processor references, which keep these codes from K7 to Zen 5. P6: SDM, "P6 family".
 */
#include "base/arch_events.h"

#include <stddef.h>

static const struct arch_event arch_events[] = {
	{ARCH_INTEL, "instructions", 0x00c0, "instructions retired"},
	{ARCH_INTEL, "cycles", 0x003c, "core cycles while not halted"},
	{ARCH_INTEL, "ref-cycles", 0x0300, "cycles of the TSC while not halted"},
	{ARCH_INTEL, "bus-cycles", 0x013c, "reference cycles while not halted"},
	{ARCH_INTEL, "cache-references", 0x4f2e, "references to the last-level cache"},
	{ARCH_INTEL, "cache-misses", 0x412e, "misses of the last-level cache"},
	{ARCH_INTEL, "branches", 0x00c4, "branch instructions retired"},
	{ARCH_INTEL, "branch-misses", 0x00c5, "mispredicted branches retired"},
	{ARCH_INTEL, "slots", 0x0400, "issue slots of the pipeline"},
	{ARCH_P6, "instructions", 0x00c0, "instructions retired"},
	{ARCH_P6, "cycles", 0x0079, "cycles while not halted"},
	{ARCH_P6, "branches", 0x00c4, "branch instructions retired"},
	{ARCH_P6, "branch-misses", 0x00c5, "mispredicted branches retired"},
	{ARCH_AMD, "instructions", 0x00c0, "instructions retired"},
	{ARCH_AMD, "cycles", 0x0076, "core cycles while not halted"},
	{ARCH_AMD, "branches", 0x00c2, "branch instructions retired"},
	{ARCH_AMD, "branch-misses", 0x00c3, "mispredicted branches retired"},
};

const struct arch_event *arch_event_at(unsigned i)
{
	return i < sizeof(arch_events) / sizeof(arch_events[0]) ? &arch_events[i] : NULL;
}

const struct arch_event *arch_event_named(enum arch_encoding encoding, struct slice name)
{
	const struct arch_event *a;

	for (unsigned i = 0; (a = arch_event_at(i)); i++)
		if (a->encoding == encoding && slice_is(name, a->name))
			return a;
	return NULL;
}
