// SPDX-License-Identifier: MIT
#include "tools/pfm/machine.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/text.h"
#include "tools/pfm/events/data_files.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/event_file.h"
#include "tools/pfm/tree/file.h"

enum { MACHINE_FILES = 6 };

/* Of the first processor in /proc/cpuinfo. */
static struct pfm_cpu machine_cpu(void)
{
	CLEANUP_FCLOSE FILE *f = fopen("/proc/cpuinfo", "re");
	struct pfm_cpu cpu = {PFM_ENCODING_NONE, -1, -1};
	char line[256], vendor[32];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "vendor_id : %31s", vendor) == 1)
			cpu.encoding = strcmp(vendor, "GenuineIntel") == 0   ? PFM_ENCODING_INTEL
				       : strcmp(vendor, "AuthenticAMD") == 0 ? PFM_ENCODING_AMD
									     : PFM_ENCODING_NONE;
		else if (sscanf(line, "cpu family : %d", &cpu.family) != 1)
			found = sscanf(line, "model : %d", &cpu.model) == 1;
	}
	return cpu;
}

static int machine_add_file(
	void *arg, struct slice text, const char *path, const char *name, struct err *e)
{
	return event_file_parse(text, path, name, arg, e);
}

static struct slice machine_slice(const struct text *t)
{
	return t->p ? (struct slice){t->p, t->n} : slice_of("");
}

static int machine_parse(const struct text texts[MACHINE_FILES], struct pfm_pmu *pmu, struct err *e)
{
	const struct pfm_pmu_text text = {machine_slice(&texts[0]), machine_slice(&texts[1]),
		machine_slice(&texts[2]), machine_slice(&texts[3]), machine_slice(&texts[4]),
		machine_slice(&texts[5])};
	const struct pfm_cpu cpu = machine_cpu();
	int rc = pfm_pmu_parse(&text, &cpu, pmu, e);

	if (rc < 0)
		return rc;
	rc = data_files_each(data_files_directories(), ".events", machine_add_file, pmu, e);
	if (rc < 0)
		pfm_pmu_free(pmu);
	return rc;
}

int machine_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e)
{
	static const char *const files[MACHINE_FILES] = {
		"pmu/name", "pmu/model", "pmu/backend", "pmu/pmcs", "pmu/pmds", "pmu/events"};
	struct text texts[MACHINE_FILES] = {0};
	int rc = 0;

	for (int i = 0; rc == 0 && i < MACHINE_FILES; i++)
		rc = file_read(t->dir, files[i], &texts[i], e);
	if (rc == 0)
		rc = machine_parse(texts, pmu, e);
	for (int i = 0; i < MACHINE_FILES; i++)
		text_free(&texts[i]);
	return rc;
}

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
