// SPDX-License-Identifier: MIT
#include "tools/pfm/load_pmu.h"

#include <errno.h>
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
	BACKEND = 2, /* index in load_names; it is the same for all types */
	PMCS,
	PMDS,
	NFILES = 6,
	/* enough for what is needed of the first processor; the kernel returns no more */
	CPUINFO_PIECE = 512,
};

static const char *const load_names[NFILES] = {
	"pmu/name", "pmu/model", "pmu/backend", "pmu/pmcs", "pmu/pmds", "pmu/events"};

/*
 * Linux names its PMU cpu, or cpu_core if CPUs are of several types. A virtual machine may lack it.
 */
static bool load_kernel_has_pmu(void)
{
	return access("/sys/bus/event_source/devices/cpu", F_OK) == 0 ||
	       access("/sys/bus/event_source/devices/cpu_core", F_OK) == 0;
}

/* The machine's CPU. The perf backend counts with its PMU, which the tree does not describe. */
static struct pfm_cpu load_cpu(void)
{
	CLEANUP_CLOSE int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	struct pfm_cpu cpu = {ARCH_NONE, -1, -1, false};
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

/*
 * Adds the file @name of @type to @acc if it is the first, or else reduces @acc to what both have.
 */
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

/* The files of the tree, and the types of CPUs. */
struct load {
	struct text texts[NFILES];
	struct text words; /* the types, one word each */
	char types[CPU_TYPES_MAX][CPU_TYPES_NAME];
	int ntypes;
	bool users; /* as in struct pfm_pmu */
};

/* Replaces a file by what all types of CPUs have. */
static int load_common(const struct tree *t, struct load *l, int file, struct err *e)
{
	int rc = 0;

	text_free(&l->texts[file]);
	for (int i = 0; rc == 0 && i < l->ntypes; i++)
		rc = load_type(t, l->types[i], load_names[file], &l->texts[file], i == 0, e);
	return rc;
}

static void load_free(struct load *l)
{
	for (int i = 0; i < NFILES; i++)
		text_free(&l->texts[i]);
	text_free(&l->words);
}

/* Parses the files. @type "": all CPUs. */
static int load_parse(const struct load *l, const char *type, struct pfm_pmu *pmu, struct err *e)
{
	struct pfm_cpu cpu = load_cpu();
	struct slice s[NFILES];
	int rc;

	for (int i = 0; i < NFILES; i++)
		s[i] = (struct slice){l->texts[i].p, l->texts[i].n};
	rc = pfm_pmu_parse(&(struct pfm_pmu_text){.name = s[0],
				   .model = s[1],
				   .backend = s[2],
				   .pmcs = s[PMCS],
				   .pmds = s[PMDS],
				   .events = s[5],
				   .types = {l->words.p, l->words.n},
				   .type = slice_of(type)},
		&cpu, pmu, e);
	if (rc < 0)
		return rc;
	pmu->users = l->users;
	rc = data_files_each(data_files_directories(), ".events", load_event_file, pmu, e);
	if (rc < 0)
		pfm_pmu_free(pmu);
	return rc;
}

/* Reads the common files and the list of types. */
static int load_begin(const struct tree *t, struct load *l, struct err *e)
{
	int rc = load_texts(t, l->texts, e);

	l->users = t->users;
	if (rc == 0)
		rc = l->ntypes = cpu_types_list(t, l->types, e);
	for (int i = 0; i < l->ntypes; i++)
		text_printf(&l->words, "%s ", l->types[i]);
	return rc < 0 ? rc : 0;
}

static int load_all_types(const struct tree *t, struct load *l, struct pfm_pmu *pmu, struct err *e)
{
	int rc = 0;

	for (int file = PMCS; rc == 0 && l->ntypes && file <= PMDS; file++)
		rc = load_common(t, l, file, e);
	return rc < 0 ? rc : load_parse(l, "", pmu, e);
}

static int load_one_type(
	const struct tree *t, struct load *l, const char *type, struct pfm_pmu *pmu, struct err *e)
{
	int rc = 0;

	for (int file = 0; rc == 0 && file < NFILES; file++) {
		if (file == BACKEND)
			continue;
		text_free(&l->texts[file]);
		rc = load_type(t, type, load_names[file], &l->texts[file], true, e);
	}
	return rc < 0 ? rc : load_parse(l, type, pmu, e);
}

int load_pmu(const struct tree *t, struct pfm_pmu *pmu, struct err *e)
{
	__attribute__((cleanup(load_free))) struct load l = {.ntypes = 0};
	int rc = load_begin(t, &l, e);

	return rc < 0 ? rc : load_all_types(t, &l, pmu, e);
}

int load_pmus(const struct tree *t, struct pmus *p, struct err *e)
{
	__attribute__((cleanup(load_free))) struct load l = {.ntypes = 0};
	int rc = load_begin(t, &l, e);

	*p = (struct pmus){.ntypes = 0};
	if (rc == 0)
		rc = load_all_types(t, &l, &p->common, e);
	for (int i = 0; rc == 0 && i < l.ntypes; i++) {
		rc = load_one_type(t, &l, l.types[i], &p->types[i], e);
		p->ntypes += rc == 0;
	}
	if (rc < 0)
		pmus_free(p);
	return rc;
}

void pmus_free(struct pmus *p)
{
	pfm_pmu_free(&p->common);
	for (unsigned i = 0; i < p->ntypes; i++)
		pfm_pmu_free(&p->types[i]);
	p->ntypes = 0;
}

const struct pfm_pmu *pmus_of_type(const struct pmus *p, struct slice type)
{
	for (unsigned i = 0; i < p->ntypes; i++)
		if (slice_is(type, p->types[i].type))
			return &p->types[i];
	return NULL;
}

int pmus_find(const struct pmus *p, const char *type, const struct pfm_pmu **pmu, struct err *e)
{
	TEXT_CLEANUP struct text known = {0};
	char prefix[PFM_PREFIX_ROOM];

	for (unsigned i = 0; i < p->ntypes; i++) {
		*pmu = &p->types[i];
		if (strcmp(type, (*pmu)->type) == 0 ||
			strcmp(type, pfm_pmu_prefix(prefix, (*pmu)->type)) == 0)
			return 0;
		text_printf(&known, "%s%s", i ? ", " : "", (*pmu)->type);
	}
	if (!p->ntypes)
		return err_set(
			e, EINVAL, "'%.40s': all CPUs here have the same PMU: give no type", type);
	return err_set(e, EINVAL, "'%.40s': no such CPU type: the types are %s", type,
		known.p ? known.p : "others");
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

int load_pmus_of(const char *mount, struct pmus *p, struct err *e)
{
	struct tree t;
	int rc = tree_open(&t, mount, e);

	if (rc < 0)
		return rc;
	rc = load_pmus(&t, p, e);
	tree_close(&t);
	return rc;
}
