// SPDX-License-Identifier: MIT
#include "tools/pfm/load_pmu.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "tools/pfm/events/cpuinfo.h"
#include "tools/pfm/events/data_files.h"
#include "tools/pfm/events/event_file.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/cpu_types.h"

enum {
	PMCS = 3, /* of load_names */
	PMDS,
	NFILES = 6,
	CPUINFO_PIECE = 512, /* what matters of the first processor; the kernel makes no more */
};

static const char *const load_names[NFILES] = {
	"pmu/name", "pmu/model", "pmu/backend", "pmu/pmcs", "pmu/pmds", "pmu/events"};

/* Linux names its PMU cpu, or on CPUs of several types cpu_core. A virtual machine may lack it. */
static bool load_kernel_has_pmu(void)
{
	return access("/sys/bus/event_source/devices/cpu", F_OK) == 0 ||
	       access("/sys/bus/event_source/devices/cpu_core", F_OK) == 0;
}

/* The backend perf counts with the machine's PMU, of which the tree tells nothing. */
static struct pfm_cpu load_cpu(void)
{
	CLEANUP_CLOSE int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	struct pfm_cpu cpu = {PFM_ENCODING_NONE, -1, -1, false};
	char first[CPUINFO_PIECE];
	ssize_t n = fd < 0 ? -1 : read(fd, first, sizeof(first));

	if (n > 0)
		cpu = cpuinfo_parse((struct slice){first, (size_t)n});
	cpu.kernel_pmu = load_kernel_has_pmu();
	return cpu;
}

static int load_event_file(
	void *arg, struct slice text, const char *path, const char *name, struct err *e)
{
	return event_file_parse(text, path, name, arg, e);
}

static int load_texts(const struct tree *t, struct text texts[NFILES], struct err *e)
{
	int rc = 0;

	for (int i = 0; rc == 0 && i < NFILES; i++)
		rc = file_read(t->dir, load_names[i], &texts[i], e);
	return rc;
}

/* Adds @name of @type to @acc, which is empty, or reduces @acc to what both have. */
static int load_type(const struct tree *t, const char *type, const char *name, struct text *acc,
	bool first, struct err *e)
{
	TEXT_CLEANUP struct text text = {0};
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "pmu/%s/%s", type, name + strlen("pmu/"));
	rc = file_read(t->dir, path, first ? acc : &text, e);
	if (rc == 0 && !first)
		cpu_types_meet(acc, (struct slice){text.p, text.n});
	return rc;
}

/* What counts on each CPU, where these are of several types. */
static int load_common(const struct tree *t, struct text texts[NFILES], struct err *e)
{
	char types[CPU_TYPES_MAX][CPU_TYPES_NAME];
	int n = cpu_types_list(t, types, e), rc = n;

	if (n <= 0)
		return n;
	for (int file = PMCS; file <= PMDS; file++) {
		text_free(&texts[file]);
		rc = 0;
		for (int i = 0; rc == 0 && i < n; i++)
			rc = load_type(t, types[i], load_names[file], &texts[file], i == 0, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int load_parse(const struct text texts[NFILES], struct pfm_pmu *pmu, struct err *e)
{
	struct pfm_cpu cpu = load_cpu();
	struct slice s[NFILES];
	int rc;

	for (int i = 0; i < NFILES; i++)
		s[i] = (struct slice){texts[i].p, texts[i].n};
	rc = pfm_pmu_parse(&(struct pfm_pmu_text){.name = s[0],
				   .model = s[1],
				   .backend = s[2],
				   .pmcs = s[3],
				   .pmds = s[4],
				   .events = s[5]},
		&cpu, pmu, e);
	if (rc < 0)
		return rc;
	rc = data_files_each(data_files_directories(), ".events", load_event_file, pmu, e);
	if (rc < 0)
		pfm_pmu_free(pmu);
	return rc;
}

int load_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e)
{
	struct text texts[NFILES] = {0};
	int rc = load_texts(t, texts, e);

	if (rc == 0)
		rc = load_common(t, texts, e);
	if (rc == 0)
		rc = load_parse(texts, pmu, e);
	for (int i = 0; i < NFILES; i++)
		text_free(&texts[i]);
	return rc;
}

static int load_group_file(
	void *arg, struct slice text, const char *path, const char *name, struct err *e)
{
	(void)name;
	return group_parse(text, path, arg, e);
}

int load_groups(struct group_list *list, struct err *e)
{
	int rc;

	*list = (struct group_list){0};
	rc = data_files_each(data_files_directories(), ".group", load_group_file, list, e);
	if (rc < 0)
		group_free(list);
	return rc;
}

int load_pmu_of(const char *mount, struct pfm_pmu *pmu, struct err *e)
{
	struct tree t;
	int rc = tree_open(&t, mount, e);

	if (rc < 0)
		return rc;
	rc = load_pmu(&t, pmu, e);
	tree_close(&t);
	return rc;
}
