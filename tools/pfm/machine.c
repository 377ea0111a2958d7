// SPDX-License-Identifier: MIT
#include "tools/pfm/machine.h"

#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"

uint64_t machine_counters(const struct pfm_pmu *pmu, unsigned pmc)
{
	uint64_t counters = 0;

	for (unsigned i = 0; i < pmu->npmds; i++)
		if (pmu->pmds[i].pmc == pmc)
			counters |= 1ULL << pmu->pmds[i].num;
	return counters;
}

uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu)
{
	TEXT_CLEANUP struct text text = {0};
	uint64_t free = pmu->all;
	struct slice rest, line, by;
	struct cpus_line cpu;
	unsigned pmc;
	struct err e;

	if (file_read(t->dir, "cpus", &text, &e) < 0 || !text.p)
		return free;
	rest = slice_of(text.p);
	while ((line = slice_cut(&rest, '\n')).n) {
		if (!cpus_parse(line, &cpu) || (pmu->type[0] && !slice_is(cpu.type, pmu->type)))
			continue;
		while (cpus_next_user(&cpu, &pmc, &by))
			free &= ~machine_counters(pmu, pmc);
	}
	return free;
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

unsigned machine_levels(const struct tree *t)
{
	char allowed[32] = "", group[32] = "";
	struct err e;

	if (geteuid() == 0)
		return EVENT_USER | EVENT_KERNEL;
	file_read_line(t->dir, "config/allow_kernel", allowed, sizeof(allowed), &e);
	file_read_line(t->dir, "config/sys_group", group, sizeof(group), &e);
	if (strcmp(allowed, "any") == 0 ||
		(strcmp(allowed, "group") == 0 && machine_in_group(group)))
		return EVENT_USER | EVENT_KERNEL;
	return EVENT_USER;
}
