// SPDX-License-Identifier: MIT
#include "tools/pfm/machine.h"

#include <grp.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/text.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"

uint64_t machine_counters(const struct pfm_pmu *pmu, unsigned pmc)
{
	uint64_t counters = 0;

	for (unsigned i = 0; i < pmu->ncounters; i++)
		for (unsigned k = 0; k < pmu->counters[i].n; k++)
			if (pfm_counter_pmc(&pmu->counters[i], k) == pmc)
				counters |= 1ULL << i;
	return counters;
}

/* Result of a search for counters that other software uses. */
struct machine_used {
	uint64_t counters; /* all counters in use */
	uint64_t wanted;   /* counters whose first user is to be found */
	char *room;        /* a text about that user; NULL: not wanted */
	bool found;
};

/* Names the user only: `pfm who` shows the rest of its sentence. */
static void machine_tell_user(struct machine_used *used, int cpu, unsigned pmc, struct slice by)
{
	size_t n = 0;

	while (n < by.n && by.p[n] != ':' && by.p[n] != '(')
		n++;
	by = slice_trim((struct slice){by.p, n});
	snprintf(used->room, MACHINE_USER_ROOM, "PMC %u of CPU %d is in use by %.*s", pmc, cpu,
		SLICE_ARG(by));
	used->found = true;
}

static void machine_find_used(
	const struct tree *t, const struct pfm_pmu *pmu, struct machine_used *used)
{
	TEXT_CLEANUP struct text text = {0};
	struct slice rest, line, by;
	struct cpus_line cpu;
	unsigned pmc;
	struct err e;

	if (file_read(t->dir, "cpus", &text, &e) < 0 || !text.p)
		return;
	rest = slice_of(text.p);
	while ((line = slice_cut(&rest, '\n')).n) {
		if (!cpus_parse(line, &cpu) || (pmu->type[0] && !slice_is(cpu.type, pmu->type)))
			continue;
		while (cpus_next_user(&cpu, &pmc, &by)) {
			uint64_t counters = machine_counters(pmu, pmc);

			used->counters |= counters;
			if (used->room && !used->found && counters & used->wanted)
				machine_tell_user(used, cpu.id, pmc, by);
		}
	}
}

uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu)
{
	struct machine_used used = {.counters = 0};

	machine_find_used(t, pmu, &used);
	return pmu->all & ~used.counters;
}

const char *machine_user(const struct tree *t, const struct pfm_pmu *pmu, uint64_t counters,
	char room[MACHINE_USER_ROOM])
{
	struct machine_used used = {.wanted = counters, .room = room};

	machine_find_used(t, pmu, &used);
	return used.found ? room : NULL;
}

static bool machine_in_group(const char *group)
{
	gid_t groups[NGROUPS_MAX];
	int n = getgroups(NGROUPS_MAX, groups);
	uint64_t gid;
	struct err e;

	if (strcmp(group, "any") == 0)
		return true;
	if (num_max(slice_of(group), UINT32_MAX, &gid, &e) < 0)
		return false;
	for (int i = 0; i < n; i++)
		if (groups[i] == gid)
			return true;
	return getegid() == gid;
}

/*
 * Ids are compared as seen in this user namespace: root of a container is not the machine's root.
 */
static bool machine_owns(const struct tree *t)
{
	struct stat st;

	return fstat(t->dir, &st) == 0 && st.st_uid == geteuid();
}

/* Whether the kernel limits this user to the user level. */
static bool machine_forbids_kernel(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
	};
	CLEANUP_CLOSE int fd =
		(int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0;
}

unsigned machine_levels(const struct tree *t)
{
	char allowed[32] = "", group[32] = "";
	struct err e;

	if (machine_owns(t))
		return t->users && machine_forbids_kernel() ? EVENT_USER
							    : EVENT_USER | EVENT_KERNEL;
	file_read_line(t->dir, "config/allow_kernel", allowed, sizeof(allowed), &e);
	file_read_line(t->dir, "config/sys_group", group, sizeof(group), &e);
	if (strcmp(allowed, "any") == 0 ||
		(strcmp(allowed, "group") == 0 && machine_in_group(group)))
		return EVENT_USER | EVENT_KERNEL;
	return EVENT_USER;
}
