// SPDX-License-Identifier: MIT
#include "tools/pfm/events/event_hint.h"

#include <string.h>

#include "tools/pfm/events/event_table.h"

/* Events of the kernel, which the perf backend has in pmu/events; names as in perf-list(1). */
static const char *const hint_software[] = {"cpu-clock", "task-clock", "page-faults",
	"minor-faults", "major-faults", "context-switches", "cpu-migrations", "alignment-faults",
	"emulation-faults"};

/* Prefixes of perf's cache events, which differ between CPU models. */
static const char *const hint_caches[] = {"L1-", "LLC-", "dTLB-", "iTLB-", "node-"};

static bool hint_is_software(struct slice name)
{
	for (unsigned i = 0; i < sizeof(hint_software) / sizeof(hint_software[0]); i++)
		if (event_name_is(name, hint_software[i]))
			return true;
	return false;
}

static bool hint_is_cache(struct slice name)
{
	for (unsigned i = 0; i < sizeof(hint_caches) / sizeof(hint_caches[0]); i++)
		if (slice_starts(name, hint_caches[i]))
			return true;
	return false;
}

/* Whether @name begins with the system of a tracepoint. */
static bool hint_is_tracepoint(struct slice name)
{
	static const char *const systems[] = {"sched:", "syscalls:", "raw_syscalls:", "block:",
		"net:", "irq:", "kmem:", "exceptions:", "timer:", "probe:"};

	for (unsigned i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
		if (slice_starts(name, systems[i]))
			return true;
	return false;
}

static bool hint_is_time(struct slice name)
{
	return slice_is(name, "duration_time") || slice_is(name, "user_time") ||
	       slice_is(name, "system_time");
}

const char *event_hint(const struct pfm_pmu *pmu, struct slice name)
{
	if (name.n && memchr(name.p, ' ', name.n))
		return "commas separate events, as in -e A,B";
	if (slice_starts(name, "{"))
		return "leave out the braces: the events of -e are counted at the same time or not "
		       "at all";
	if (hint_is_time(name))
		return "pfm stat shows the time at the end of each run";
	if (hint_is_tracepoint(name))
		return "pfm counts no tracepoints; perf stat does";
	if (strcmp(pmu->backend, "perf") != 0 && hint_is_software(name))
		return "the kernel counts it: mount with perfmonfs --backend=perf";
	if (!pmu->software_only && hint_is_cache(name))
		return "the names of cache and TLB events differ between CPU models: see pfm list";
	return NULL;
}
