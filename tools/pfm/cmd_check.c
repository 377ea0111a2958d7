// SPDX-License-Identifier: MIT
/* Finds out what can be counted by trying it: for each line, a context is created, programmed and
 * loaded. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "tools/pfm/command.h"
#include "tools/pfm/events/libpfm.h"
#include "tools/pfm/load_plan.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/machine.h"
#include "tools/pfm/stat/places.h"
#include "tools/pfm/stat/plan.h"
#include "tools/pfm/text/wrap.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/tree.h"

enum { CHECK_INDENT = 24, CHECK_COLUMNS = 80, CHECK_SENTENCE = 320 };

static const struct option_row check_options[] = {
	MOUNT_OPTION,
	{0},
};

struct check {
	struct tree tree;
	struct pmus pmus;
	struct plans cpus, threads; /* the default events */
	bool any;                   /* something can be counted */
};

static void check_line(const char *mark, const char *what, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void check_line(const char *mark, const char *what, const char *fmt, ...)
{
	TEXT_CLEANUP struct text t = {0};
	char sentence[CHECK_SENTENCE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	wrap_text(&t, sentence, CHECK_INDENT, CHECK_COLUMNS);
	if (text_ok(&t))
		printf("%-5s %-17s %s", mark, what, t.p);
}

static void check_mount(const struct check *c)
{
	if (!c->tree.daemon)
		check_line("ok", "mount", "answers with interface %d", TREE_INTERFACE);
	else
		check_line("note", "mount", "none: counting with a private daemon%s",
			c->tree.users ? ", which has only your rights" : "");
	if (c->tree.fallback)
		check_line("note", "msr backend", "%s", c->tree.reason.text);
	check_line("ok", "PMU", "%s: %s, %s", c->pmus.common.backend, c->pmus.common.name,
		c->pmus.common.model);
}

static void check_counters(const struct check *c, const struct pfm_pmu *pmu)
{
	char all[PFM_COUNTERS_ROOM], free[PFM_COUNTERS_ROOM], what[PFM_PMU_NAME + 16];
	uint64_t counters = machine_free_counters(&c->tree, pmu);

	snprintf(what, sizeof(what), "counters%s%s", pmu->type[0] ? ", " : "", pmu->type);
	pfm_pmu_counters(pmu, all, pmu->all);
	pfm_pmu_counters(pmu, free, counters);
	if (counters == pmu->all)
		check_line("ok", what, "%s", all);
	else
		check_line("note", what, "%s of %s; `pfm who` shows what uses the others",
			counters ? free : "none", all);
}

static void check_all_counters(const struct check *c)
{
	for (unsigned i = 0; i < c->pmus.ntypes; i++)
		check_counters(c, &c->pmus.types[i]);
	if (!c->pmus.ntypes)
		check_counters(c, &c->pmus.common);
}

static void check_levels(const struct check *c)
{
	if (c->threads.all[0].level & EVENT_KERNEL)
		check_line("ok", "levels", "user and kernel");
	else if (c->tree.users)
		check_line("note", "levels",
			"user; for the kernel's, have root run `sysctl "
			"kernel.perf_event_paranoid=1`");
	else
		check_line("note", "levels",
			"user; for the kernel's, have root add you to config/sys_group, or write "
			"any to "
			"config/allow_kernel");
}

static void check_names(void)
{
	if (libpfm_version())
		check_line("ok", "event names", "libpfm4 %s, and event files", libpfm_version());
	else
		check_line("note", "event names",
			"event files only: build pfm with libpfm4-dev to get libpfm4's events");
}

/* Checks whether the kernel counts hardware events, on the perf backend. */
static void check_hardware(const struct check *c)
{
	const struct pfm_pmu *pmu = &c->pmus.common;
	struct plan plan = {.only = -1, .level = EVENT_USER, .free = pmu->all};
	struct tree_ctx ctx = TREE_CTX_NONE;
	struct err e = {0};
	int rc = plan_add(&plan, pmu, "instructions", &e);

	if (rc == 0)
		rc = plan_assign(&plan, pmu, false, &e);
	if (rc == 0)
		rc = ctx_open(&c->tree, &ctx, &e);
	if (rc == 0)
		rc = plan_program(&plan, &ctx, &e);
	if (rc == 0)
		check_line("ok", "hardware events", "instructions can be counted");
	else
		check_line("note", "hardware events", "%s", e.text);
	ctx_close(&ctx);
	plan_free(&plan);
}

/* Tries to count the default events on a thread or CPU. */
static void check_place(struct check *c, const char *what, enum place_kind kind, int id)
{
	const struct plans *plans = kind == PLACE_CPU ? &c->cpus : &c->threads;
	struct places places = {0};
	struct err e = {0};
	int rc = places_add(&places, kind, id, &e);

	if (rc == 0)
		rc = places_plan(&places, &c->tree, plans, &e);
	if (rc == 0)
		rc = places_load(&places, &c->tree, &e);
	if (rc == 0)
		rc = places_start(&places, &e);
	if (rc == 0)
		check_line("ok", what, "can be counted");
	else
		check_line("note", what, "%s", e.text);
	c->any |= rc == 0;
	places_free(&places);
}

/* Finds a CPU of @type, or any CPU for "", where a load takes nothing from others; -1: none. */
static int check_find_cpu(const struct tree *t, const char *type)
{
	TEXT_CLEANUP struct text text = {0};
	struct slice rest, line;
	struct cpus_line cpu;
	struct err e;

	if (file_read(t->dir, "cpus", &text, &e) < 0 || !text.p)
		return -1;
	rest = slice_of(text.p);
	while ((line = slice_cut(&rest, '\n')).n)
		if (cpus_parse(line, &cpu) && !cpu.thread && (!*type || slice_is(cpu.type, type)) &&
			(cpu.state == CPUS_FREE || cpu.state == CPUS_IN_USE ||
				cpu.state == CPUS_ONLINE ||
				(cpu.state == CPUS_UNREADABLE && t->users)))
			return cpu.id;
	return -1;
}

static void check_cpus(struct check *c, const char *type)
{
	int cpu = check_find_cpu(&c->tree, type);
	char what[PFM_PMU_NAME + 16];

	snprintf(what, sizeof(what), "CPUs%s%s", *type ? ", " : "", type);
	if (cpu >= 0)
		check_place(c, what, PLACE_CPU, cpu);
	else
		check_line("note", what,
			"not tried, because no counter is free (see `pfm who`) and counting would "
			"take one from threads");
}

static void check_all_cpus(struct check *c)
{
	for (unsigned i = 0; i < c->pmus.ntypes; i++)
		check_cpus(c, c->pmus.types[i].type);
	if (!c->pmus.ntypes)
		check_cpus(c, "");
}

/* Uses a child: a thread that is to be followed is interrupted, so that its own write of load to
 * ctl would fail with EINTR. */
static void check_threads(struct check *c)
{
	pid_t child = fork();

	if (child < 0) {
		check_line("note", "threads", "not tried: fork: %s", err_name(errno));
		return;
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	check_place(c, "threads", PLACE_THREAD, child);
	check_place(c, "commands", PLACE_COMMAND, child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static int check_plan(
	struct check *c, const struct place_options *where, struct plans *plans, struct err *e)
{
	const struct plan_events wanted = {NULL, NULL};
	int rc = load_plans(&wanted, &c->tree, &c->pmus, where, plans, e);

	for (unsigned i = 0; rc == 0 && i < plans->n; i++)
		rc = plan_assign(&plans->all[i], plans->all[i].pmu, false, e);
	return rc;
}

static int check_all(struct check *c, struct err *e)
{
	const struct place_options cpus = {.kind = PLACE_CPU};
	int rc = load_pmus(&c->tree, &c->pmus, e);

	if (rc == 0)
		rc = check_plan(c, &cpus, &c->cpus, e);
	if (rc == 0)
		rc = check_plan(c, NULL, &c->threads, e);
	if (rc < 0)
		return rc;
	check_mount(c);
	check_all_counters(c);
	check_levels(c);
	check_names();
	check_hardware(c);
	check_all_cpus(c);
	check_threads(c);
	return c->any ? 0 : PFM_EXIT_FAILED;
}

static int check_main(int argc, char **argv, struct err *e)
{
	struct check c = {.tree = {.dir = -1}};
	const char *mount = NULL;
	int option, rc;

	while ((option = options_next(&cmd_check, argc, argv, e)) != 0) {
		if (option < 0)
			return option;
		mount = optarg;
	}
	if (argv[optind])
		return err_set(e, EINVAL, "%s: pfm check takes only options; see `pfm help check`",
			argv[optind]);
	rc = tree_open(&c.tree, mount, e);
	if (rc == 0)
		rc = check_all(&c, e);
	plans_free(&c.cpus);
	plans_free(&c.threads);
	pmus_free(&c.pmus);
	tree_close(&c.tree);
	return rc;
}

const struct pfm_command cmd_check = {
	.name = "check",
	.summary = "show what can be counted here, and how to count the rest",
	.usage = "Usage: pfm check [-m DIR]\n"
		 "Show what can be counted here by this user, and what to do about the rest.\n"
		 "The exit status is 0 if anything can be counted. `perfmonfs --check` examines\n"
		 "what the daemon needs.\n",
	.options = check_options,
	.run = check_main,
};
