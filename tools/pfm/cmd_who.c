// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/text.h"
#include "tools/pfm/command.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/machine.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/text/json.h"
#include "tools/pfm/text/wrap.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"
#include "tools/pfm/tree/tree.h"

enum { WHO_INDENT = 26, WHO_COLUMNS = 80, WHO_SENTENCE = 400 };

static const struct option_row who_options[] = {
	{'j', "json", NULL, "JSON Lines, see pfm-who(1)", 0},
	MOUNT_OPTION,
	{0},
};

/* Some counters of a CPU in one state, or a context on a thread. */
struct who_item {
	const char *state;
	const struct pfm_pmu *pmu;   /* of the CPU; NULL: the item is a thread's */
	uint64_t counters;           /* of the CPU, as bits */
	char sentence[WHO_SENTENCE]; /* the state, and what to do */
	const struct cpus_line *line;
	char since[40]; /* ISO 8601; "" if not known */
};

struct who {
	struct tree tree;
	struct pmus pmus;
	bool json;
	/* CPUs with the same lines are shown together. */
	struct text same;
	int first, last;
};

/* --- What is known of a context */

static const char *who_user(char *room, size_t size, int uid)
{
	const struct passwd *pw = uid < 0 ? NULL : getpwuid((uid_t)uid);

	if (pw)
		snprintf(room, size, "%s", pw->pw_name);
	else
		snprintf(room, size, "uid %d", uid);
	return room;
}

/* The program of a thread, which may have any name; "" if it has ended. */
static const char *who_program(char *room, size_t size, int pid)
{
	char path[40];
	struct err e;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (file_read_line(AT_FDCWD, path, room, size, &e) < 0)
		*room = '\0';
	name_clean(room);
	return room;
}

/* The context's age is that of its directory. */
static void who_since(const struct who *w, struct slice context, char since[40])
{
	char path[128];
	struct stat st;
	struct tm tm;

	*since = '\0';
	snprintf(path, sizeof(path), "ctx/%.*s", (int)context.n, context.p);
	if (fstatat(w->tree.dir, path, &st, 0) == 0 && localtime_r(&st.st_mtime, &tm))
		strftime(since, 40, "%Y-%m-%dT%H:%M:%S%z", &tm);
}

/* Names the process that loaded the context. A process in another PID namespace, such as a
 * container's, has no number here. */
static void who_loader(char *room, size_t size, int pid)
{
	char program[64];

	if (pid <= 0)
		snprintf(room, size, "a process in another PID namespace");
	else if (*who_program(program, sizeof(program), pid))
		snprintf(room, size, "%s %d", program, pid);
	else
		snprintf(room, size, "process %d", pid);
}

static void who_context(const struct who *w, struct who_item *item, const struct cpus_line *c)
{
	char user[64], loader[80];

	item->state = "context";
	who_since(w, c->context, item->since);
	who_user(user, sizeof(user), c->uid);
	who_loader(loader, sizeof(loader), c->pid);
	snprintf(item->sentence, sizeof(item->sentence),
		"context %.*s of %s, loaded by %s%s%s; to free it, end that process or rmdir "
		"ctx/%.*s%s%.*s",
		(int)c->context.n, c->context.p, user, loader, *item->since ? ", since " : "",
		item->since, (int)c->context.n, c->context.p,
		c->yielded.n ? "; it comes before background context " : "", (int)c->yielded.n,
		c->yielded.n ? c->yielded.p : "");
}

/* --- Output */

static void who_json(const struct who_item *item)
{
	TEXT_CLEANUP struct text t = {0};
	char room[PFM_COUNTERS_ROOM];
	const struct cpus_line *c = item->line;
	char name[80];

	text_printf(&t, "{\"schema\":1,\"%s\":%d,\"state\":", c->thread ? "tid" : "cpu", c->id);
	json_string(&t, item->state);
	text_printf(&t, ",\"counters\":");
	json_string(&t, c->thread ? NULL : pfm_pmu_counter_list(item->pmu, room, item->counters));
	snprintf(name, sizeof(name), "%.*s", (int)c->context.n, c->context.p);
	text_printf(&t, ",\"context\":");
	json_string(&t, c->context.n ? name : NULL);
	if (c->context.n)
		text_printf(&t, ",\"uid\":%d,\"pid\":%d", c->uid, c->pid);
	else
		text_printf(&t, ",\"uid\":null,\"pid\":null");
	text_printf(&t, ",\"since\":");
	json_string(&t, *item->since ? item->since : NULL);
	text_printf(&t, ",\"text\":");
	json_string(&t, item->sentence);
	snprintf(name, sizeof(name), "%.*s", (int)c->type.n, c->type.p);
	if (c->type.n) {
		text_printf(&t, ",\"type\":");
		json_string(&t, name);
	}
	if (text_ok(&t))
		printf("%s}\n", t.p);
}

/* Adds the lines of a CPU, without its number. */
static void who_add_text(struct text *t, const struct who_item *item)
{
	char room[PFM_COUNTERS_ROOM];

	const struct cpus_line *c = item->line;
	char sentence[WHO_SENTENCE + 80];

	text_printf(
		t, "%-15s ", c->thread ? "" : pfm_pmu_counters(item->pmu, room, item->counters));
	snprintf(sentence, sizeof(sentence), "%.*s%s%s", (int)c->type.n, c->type.p,
		c->type.n ? ": " : "", item->sentence);
	wrap_text(t, sentence, WHO_INDENT, WHO_COLUMNS);
}

/* Prints the CPUs that have the same lines. */
static void who_flush(struct who *w)
{
	char cpus[32], *line, *rest = NULL;
	bool first = true;

	if (!text_ok(&w->same) || !w->same.n)
		return;
	if (w->first == w->last)
		snprintf(cpus, sizeof(cpus), "%d", w->first);
	else
		snprintf(cpus, sizeof(cpus), "%d-%d", w->first, w->last);
	for (line = strtok_r(w->same.p, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		printf("%-9s %s\n", first ? cpus : "", line + (*line == ' ' ? 10 : 0));
		first = false;
	}
	text_clear(&w->same);
}

static void who_show_cpu(struct who *w, int cpu, struct text *t)
{
	if (w->same.n && text_ok(t) && strcmp(w->same.p, t->p) == 0 && cpu == w->last + 1) {
		w->last = cpu;
		return;
	}
	who_flush(w);
	text_clear(&w->same);
	text_printf(&w->same, "%s", t->p ? t->p : "");
	w->first = w->last = cpu;
}

static void who_item(struct who *w, struct text *t, const struct who_item *item)
{
	if (w->json)
		who_json(item);
	else
		who_add_text(t, item);
}

/* --- CPUs */

static void who_simple(struct who_item *item, const char *state, const char *sentence)
{
	item->state = state;
	snprintf(item->sentence, sizeof(item->sentence), "%s", sentence);
}

static const struct pfm_pmu *who_pmu(const struct who *w, const struct cpus_line *c)
{
	const struct pfm_pmu *pmu = pmus_of_type(&w->pmus, c->type);

	return pmu ? pmu : &w->pmus.common;
}

/* Shows each counter that other software uses, then the other counters. */
static void who_in_use(struct who *w, struct text *t, const struct cpus_line *c)
{
	const struct pfm_pmu *pmu = who_pmu(w, c);
	struct who_item item = {.line = c, .pmu = pmu};
	struct who_item others = {.line = c, .pmu = pmu, .counters = pmu->all};
	struct cpus_line users = *c;
	struct slice by;
	char pmd[24];
	unsigned pmc;

	while (cpus_next_user(&users, &pmc, &by)) {
		item.counters = machine_counters(pmu, pmc);
		others.counters &= ~item.counters;
		item.state = "in use";
		/* For a counter of memory controllers, name the PMD that is in use. */
		pmd[0] = '\0';
		if (item.counters & pmu->umc)
			snprintf(pmd, sizeof(pmd), "PMD %u is ", pmc);
		snprintf(item.sentence, sizeof(item.sentence), "%sin use by %.*s", pmd, (int)by.n,
			by.p);
		who_item(w, t, &item);
	}
	who_simple(&others, "free", "free");
	if (others.counters)
		who_item(w, t, &others);
}

static void who_cpu(struct who *w, struct text *t, const struct cpus_line *c)
{
	const struct pfm_pmu *pmu = who_pmu(w, c);
	struct who_item item = {.line = c, .pmu = pmu, .counters = pmu->all};

	switch (c->state) {
	case CPUS_IN_USE:
		who_in_use(w, t, c);
		return;
	case CPUS_CONTEXT:
		who_context(w, &item, c);
		break;
	case CPUS_FREE:
		who_simple(&item, "free", "free");
		break;
	case CPUS_OFFLINE:
		who_simple(&item, "offline", "offline");
		break;
	case CPUS_THREADS:
		who_simple(&item, "threads", "shared by the threads below; `load cpu=` takes them");
		break;
	case CPUS_UNREADABLE:
		item.state = "unreadable";
		snprintf(item.sentence, sizeof(item.sentence),
			"unreadable: %.*s: see `perfmonfs --check`", (int)c->error.n, c->error.p);
		break;
	case CPUS_ONLINE:
		who_simple(&item, "unknown",
			"online; only root and members of config/sys_group see its users");
		break;
	}
	who_item(w, t, &item);
}

static void who_thread(struct who *w, const struct cpus_line *c)
{
	TEXT_CLEANUP struct text t = {0};
	struct who_item item = {.line = c};
	char program[64];

	who_context(w, &item, c);
	if (w->json) {
		who_json(&item);
		return;
	}
	who_flush(w);
	wrap_text(&t, item.sentence, WHO_INDENT, WHO_COLUMNS);
	if (text_ok(&t))
		printf("thread %-8d %-9.9s %s", c->id, who_program(program, sizeof(program), c->id),
			t.p);
}

static int who_show(struct who *w, struct err *e)
{
	TEXT_CLEANUP struct text text = {0}, t = {0};
	struct slice rest, line;
	struct cpus_line c;
	int rc = file_read(w->tree.dir, "cpus", &text, e);

	if (rc == 0 && !w->json)
		printf("%-9s %-15s %s\n", "CPU", "COUNTERS", "STATE");
	rest = slice_of(text.p ? text.p : "");
	while (rc == 0 && (line = slice_cut(&rest, '\n')).n) {
		if (!cpus_parse(line, &c))
			continue;
		text_clear(&t);
		if (c.thread)
			who_thread(w, &c);
		else
			who_cpu(w, &t, &c);
		if (!c.thread && !w->json)
			who_show_cpu(w, c.id, &t);
	}
	who_flush(w);
	return rc;
}

static int who_main(int argc, char **argv, struct err *e)
{
	struct who w = {.tree = {.dir = -1}};
	const char *mount = NULL;
	int c, rc;

	while ((c = options_next(&cmd_who, argc, argv, e)) != 0) {
		if (c < 0)
			return c;
		if (c == 'j')
			w.json = true;
		else
			mount = optarg;
	}
	if (argv[optind])
		return err_set(e, EINVAL, "%s: pfm who takes only options; see `pfm help who`",
			argv[optind]);
	rc = tree_open(&w.tree, mount, e);
	if (rc == 0)
		rc = load_pmus(&w.tree, &w.pmus, e);
	if (rc == 0)
		rc = who_show(&w, e);
	text_free(&w.same);
	pmus_free(&w.pmus);
	tree_close(&w.tree);
	return rc;
}

const struct pfm_command cmd_who = {
	.name = "who",
	.summary = "show which counters are free, and what uses the others",
	.usage = "Usage: pfm who [-j] [-m DIR]\n"
		 "Show every counter of every CPU: free, or in use by which context or program,\n"
		 "since when, and how to get it.\n",
	.options = who_options,
	.run = who_main,
};
