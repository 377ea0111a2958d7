// SPDX-License-Identifier: MIT
/* pfm counts and profiles through the tree of a perfmonfs mount, with the rights of its user. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/version.h"
#include "tools/pfm/command.h"
#include "tools/pfm/samples/code.h"
#include "tools/pfm/samples/symbols.h"
#include "tools/pfm/events/libpfm.h"
#include "tools/pfm/events/nearest.h"

static int main_help(int argc, char **argv, struct err *e);

static const struct pfm_command cmd_help = {
	.name = "help",
	.summary = "explain a command",
	.usage = "Usage: pfm help [COMMAND]\n"
		 "List the commands, or explain one.\n",
	.run = main_help,
};

const struct pfm_command *const pfm_commands[] = {
	&cmd_stat,
	&cmd_top,
	&cmd_record,
	&cmd_report,
	&cmd_annotate,
	&cmd_diff,
	&cmd_list,
	&cmd_encode,
	&cmd_decode,
	&cmd_who,
	&cmd_check,
	&cmd_help,
	NULL,
};

/* Commands of perf and LIKWID, with what to type instead. */
static const struct {
	const char *name, *instead;
} main_foreign[] = {
	{"bench", "perf bench"},
	{"c2c", "perf c2c"},
	{"events", "`pfm list`"},
	{"evlist", "the first lines of `pfm report --perf-script`"},
	{"features", "lscpu"},
	{"groups", "`pfm list`"},
	{"info", "`pfm check`"},
	{"inject", "nothing: `pfm report` reads recordings as they are"},
	{"kvm", "perf kvm"},
	{"lock", "perf lock"},
	{"mem", "perf mem"},
	{"mount", "`perfmonfs DIR`"},
	{"perfctr", "`pfm stat`"},
	{"pin", "taskset"},
	{"probe", "perf probe"},
	{"run", "`pfm stat COMMAND`"},
	{"sched", "perf sched"},
	{"script", "`pfm report --perf-script`"},
	{"timechart", "`pfm report --firefox=FILE`"},
	{"topology", "lscpu"},
	{"trace", "strace, or perf trace"},
	{"version", "`pfm --version`"},
};

/* What to type instead of the command @name of perf or LIKWID; NULL: they have none. */
static const char *main_instead(const char *name)
{
	for (unsigned i = 0; i < sizeof(main_foreign) / sizeof(main_foreign[0]); i++)
		if (strcmp(main_foreign[i].name, name) == 0)
			return main_foreign[i].instead;
	return NULL;
}

/* Explains that @name is no command, and suggests similar commands. */
static int main_unknown(const char *name, struct err *e)
{
	const char *instead = main_instead(name);
	struct nearest near = {0};
	char room[NEAREST_ROOM];

	if (instead)
		return err_set(e, EINVAL, "%s: no such command; instead use %s", name, instead);
	for (int i = 0; pfm_commands[i]; i++)
		nearest_offer(&near, slice_of(name), pfm_commands[i]->name);
	for (unsigned i = 0; i < sizeof(main_foreign) / sizeof(main_foreign[0]); i++)
		nearest_offer(&near, slice_of(name), main_foreign[i].name);
	instead = near.n ? main_instead(near.names[0]) : NULL;
	if (instead)
		return err_set(e, EINVAL, "%s: no such command: is it %s? Instead use %s", name,
			near.names[0], instead);
	if (near.n)
		return err_set(e, EINVAL, "%s: no such command: is it %s?", name,
			nearest_text(&near, room));
	return err_set(e, EINVAL, "%s: no such command; `pfm help` lists them", name);
}

static const struct pfm_command *main_find(const char *name)
{
	for (int i = 0; pfm_commands[i]; i++)
		if (strcmp(pfm_commands[i]->name, name) == 0)
			return pfm_commands[i];
	return NULL;
}

static void main_usage(FILE *out)
{
	fputs("Usage: pfm COMMAND [ARG...]\n"
	      "Count and profile with the performance counters of perfmonfs.\n\n",
		out);
	for (int i = 0; pfm_commands[i]; i++)
		fprintf(out, "  %-8s  %s\n", pfm_commands[i]->name, pfm_commands[i]->summary);
	fputs("\n`pfm help COMMAND` explains a command, `pfm --version` shows the version.\n", out);
}

static int main_help(int argc, char **argv, struct err *e)
{
	const struct pfm_command *c = argc > 1 ? main_find(argv[1]) : NULL;

	if (argc > 1 && !c)
		return main_unknown(argv[1], e);
	if (c)
		options_print_help(c, stdout);
	else
		main_usage(stdout);
	return 0;
}

/* Lost output, as on a full disk, is a failure. */
static int main_flush(int status, struct err *e)
{
	bool failed = ferror(stdout);

	if (fflush(stdout) != 0)
		err_set(e, errno, "standard output: %s", err_name(errno));
	else if (failed)
		err_set(e, EIO,
			"standard output could not be written completely: is its disk full?");
	else
		return status;
	return PFM_EXIT_FAILED;
}

static int main_run(const struct pfm_command *c, int argc, char **argv)
{
	struct err e = {0};
	int status;

	/* The command reports errors about its options. */
	opterr = 0;
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		options_print_help(c, stdout);
		status = 0;
	} else {
		status = c->run(argc, argv, &e);
	}
	if (status < 0)
		status = PFM_EXIT_FAILED;
	if (!e.no)
		status = main_flush(status, &e);
	if (e.no)
		fprintf(stderr, "pfm %s: %s\n", c->name, e.text);
	return status;
}

/* A file that pfm opens would get the number of a standard descriptor that is closed. Those of
 * /dev/null fail with EBADF, as one that is closed. */
static void main_occupy_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	const struct pfm_command *c;
	struct err e;

	main_occupy_standard();
	/* If SIGCHLD was ignored, the kernel would keep no exit status of the command. */
	signal(SIGCHLD, SIG_DFL);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
		puts("pfm " PERFMONFS_VERSION);
		if (!symbols_supported())
			puts("without elfutils: pfm report shows addresses, not names");
		if (!code_supported())
			puts("without capstone: pfm annotate shows no instructions");
		printf("libpfm4 %s\n",
			libpfm_version() ? libpfm_version() : "is missing: fewer event names");
		return 0;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	c = main_find(name);
	if (!c && *name) {
		main_unknown(name, &e);
		fprintf(stderr, "pfm: %s\n", e.text);
	} else if (!c)
		main_usage(stderr);
	return c ? main_run(c, argc - 1, argv + 1) : PFM_EXIT_FAILED;
}
