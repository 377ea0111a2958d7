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
#include "tools/pfm/tree/file.h"

/* The number X of "pmcX" in a line of MNT/cpus; -1: it has none. */
static int machine_used_pmc(const char *line)
{
	const char *at = strstr(line, " pmc");
	int pmc;

	return at && strstr(at, " in use ") && sscanf(at, " pmc%d", &pmc) == 1 ? pmc : -1;
}

uint64_t machine_free_counters(const struct tree *t, const struct pfm_pmu *pmu)
{
	TEXT_CLEANUP struct text text = {0};
	uint64_t free = pmu->all;
	struct err e;
	char *line, *rest = NULL;

	if (file_read(t->dir, "cpus", &text, &e) < 0 || !text.p)
		return free;
	for (line = strtok_r(text.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		int pmc = machine_used_pmc(line);

		for (unsigned i = 0; pmc >= 0 && i < pmu->npmds; i++)
			if (pmu->pmds[i].pmc == (unsigned)pmc)
				free &= ~(1ULL << pmu->pmds[i].num);
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
