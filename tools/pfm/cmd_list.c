// SPDX-License-Identifier: MIT
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/pfm/command.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/events/libpfm.h"
#include "tools/pfm/load_pmu.h"
#include "tools/pfm/text/wrap.h"

/* Options without a letter. */
enum { LIST_TYPE = OPTION_LONG + 1 };

enum { LIST_COLUMNS = 80, LIST_INDENT = 4, LIST_UMASK_INDENT = 6, LIST_FORMULA_INDENT = 8 };

struct list {
	const struct pfm_pmu *pmu;
	struct slice source; /* SOURCE of SOURCE::WORD; empty: events of this PMU */
	struct slice word;   /* looked for in names and descriptions; empty: all */
	unsigned n;          /* events printed */
	bool wanted;         /* the last event of libpfm4 was printed */
};

static const struct option_row list_options_rows[] = {
	{'v', "verbose", NULL, "also show libpfm4's events with each of their unit masks", 0},
	TYPE_OPTION(LIST_TYPE),
	MOUNT_OPTION,

	/* perf list */
	{'d', "desc", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "long-desc", NULL, NULL, OPTION_DEFAULT},
	{OPTION_LONG, "no-desc", NULL, "pipe it to grep -v '^ '", OPTION_FOREIGN},
	{OPTION_LONG, "details", NULL, "is it -v?", OPTION_FOREIGN},
	{'j', "json", NULL, "each line that does not begin with a space begins with an event",
		OPTION_FOREIGN},
	{OPTION_LONG, "unit", "PMU", "give PMU::, as in pfm list skl::", OPTION_FOREIGN},
	{OPTION_LONG, "cputype", "TYPE", "is it --type?", OPTION_FOREIGN},
	{0},
};

struct list_options {
	const char *mount, *type; /* NULL: not given */
	const char *word;
	bool verbose; /* also list the unit masks of libpfm4's events */
};

static bool list_wants(const struct list *l, const char *name, const char *desc)
{
	return event_name_has(name, l->word) || event_name_has(desc, l->word);
}

/* Prints the code, with the value of its extra register or the ESCRs that take it, and the
 * counters. */
static void list_print_code(
	const struct pfm_pmu *pmu, const struct pfm_event *event, int width, const char *name)
{
	char room[PFM_COUNTERS_ROOM], extra[PFM_COUNTERS_ROOM + 8] = "";

	if (event->extra_pmc >= 0)
		snprintf(extra, sizeof(extra), "+0x%" PRIx64, event->extra);
	else if (event->escrs)
		snprintf(extra, sizeof(extra), "  PMC %s", pfm_pmu_escrs(room, event->escrs));
	printf("%-*s 0x%04" PRIx64 "%s  PMD %s", width, name, event->code, extra,
		pfm_pmu_counters(pmu, room, event->counters));
}

/* Prints blanks up to @begin, then @sentence; lines after the first are indented by @indent. */
static void list_print_text(unsigned begin, unsigned indent, const char *sentence)
{
	TEXT_CLEANUP struct text t = {0};

	wrap_text(&t, sentence, indent, LIST_COLUMNS);
	if (text_ok(&t))
		printf("%*s%s", (int)begin, "", t.p);
}

/* Prints an event, unless this PMU has no counter for it. */
static void list_print_row(struct list *l, const struct event_row *r)
{
	char name[PFM_PREFIX_ROOM + EVENT_SOURCE + 4 + EVENT_NAME];
	char prefix[PFM_PREFIX_ROOM];
	struct pfm_event event;
	struct err e;

	snprintf(name, sizeof(name), "%s%s%s", l->source.n ? r->source : "",
		l->source.n ? "::" : "", r->name);
	if (event_resolve(l->pmu, name, &event, &e) < 0)
		return;
	if (l->pmu->type[0] && !l->source.n)
		snprintf(name, sizeof(name), "%s/%s/", pfm_pmu_prefix(prefix, l->pmu->type),
			r->name);
	list_print_code(l->pmu, &event, 44, name);
	puts("");
	if (r->desc[0])
		list_print_text(LIST_INDENT, LIST_INDENT, r->desc);
	l->n++;
}

static void list_rows(struct list *l)
{
	for (const struct event_row *r = l->pmu->events.rows;
		r < l->pmu->events.rows + l->pmu->events.n; r++)
		if (list_wants(l, r->name, r->desc) && event_row_is_of(r, l->source))
			list_print_row(l, r);
}

/* Prints a name of libpfm4. An event that needs unit masks has no code without them, see
 * pfm-events(5). An event of another CPU may have a code that this PMU does not count. */
static void list_print_name(const struct list *l, int width, const char *name, const char *source)
{
	struct pfm_event event;
	struct err e;

	if (event_resolve(l->pmu, name, &event, &e) < 0) {
		printf("%-*s %s\n", width, name, *source ? source : "-");
		return;
	}
	list_print_code(l->pmu, &event, width, name);
	printf("%s%s\n", *source ? "  " : "", source);
}

static void list_print_libpfm(void *arg, const char *name, const char *desc)
{
	struct list *l = arg;

	l->wanted = list_wants(l, strstr(name, "::") + 2, desc);
	if (!l->wanted)
		return;
	list_print_name(l, 44, name, "libpfm4");
	list_print_text(LIST_INDENT, LIST_INDENT, desc);
	l->n++;
}

static void list_print_umask(void *arg, const char *name, const char *desc)
{
	const struct list *l = arg;

	if (!l->wanted)
		return;
	fputs("  ", stdout);
	list_print_name(l, 42, name, "");
	list_print_text(LIST_UMASK_INDENT, LIST_UMASK_INDENT, desc);
}

static bool list_wants_group(const struct list *l, const struct group *g)
{
	bool wanted = list_wants(l, g->name, g->desc);

	for (unsigned i = 0; i < g->nmetrics; i++)
		wanted = wanted || list_wants(l, g->metrics[i].name, g->metrics[i].desc);
	return wanted;
}

static void list_print_metric(const struct group_metric *m)
{
	TEXT_CLEANUP struct text t = {0};

	text_printf(&t, "%s%s%s%s = %s", m->name, m->unit[0] ? " [" : "", m->unit,
		m->unit[0] ? "]" : "", m->text);
	if (text_ok(&t))
		list_print_text(LIST_INDENT, LIST_FORMULA_INDENT, t.p);
}

static void list_print_group(struct list *l, const struct group *g)
{
	printf("group %s\n", g->name);
	list_print_text(LIST_INDENT, LIST_INDENT, g->desc);
	for (unsigned i = 0; i < g->nmetrics; i++)
		list_print_metric(&g->metrics[i]);
	l->n++;
}

/* Lists the groups. If several have the same name, lists the one that group_find() finds. False:
 * there are none. */
static bool list_groups(struct list *l, const struct group_list *groups)
{
	unsigned before = l->n;

	for (unsigned i = 0; i < groups->n; i++) {
		struct pfm_event events[EVENT_MAX];
		const struct group *g;
		struct err e;

		if (group_find(groups, l->pmu, groups->groups[i].name, &g, events, &e) == 0 &&
			g == &groups->groups[i] && list_wants_group(l, g))
			list_print_group(l, g);
	}
	return l->n > before;
}

/* Splits SOURCE:: off the word. */
static void list_cut_source(struct list *l)
{
	const char *sep = l->word.n ? strstr(l->word.p, "::") : NULL;

	if (!sep)
		return;
	l->source = (struct slice){l->word.p, (size_t)(sep - l->word.p)};
	l->word = slice_of(sep + 2);
}

/* Lists the events of CPUs of each type, or only of @type if that is not NULL. */
static int list_types(struct list *l, const struct pmus *pmus, const char *type, struct err *e)
{
	char name[PFM_PMU_NAME];
	int rc = 0;

	/* TYPE::WORD means the same as --type. */
	snprintf(name, sizeof(name), "%.*s", (int)l->source.n, l->source.p);
	if (!type && l->source.n && pmus_find(pmus, name, &l->pmu, e) == 0) {
		l->source.n = 0;
		type = l->pmu->type;
	}
	*e = (struct err){0};
	if (type)
		rc = pmus_find(pmus, type, &l->pmu, e);
	if (rc < 0 || type || l->source.n || !pmus->ntypes) {
		if (rc == 0)
			list_rows(l);
		return rc;
	}
	for (unsigned i = 0; i < pmus->ntypes; i++) {
		l->pmu = &pmus->types[i];
		list_rows(l);
	}
	l->pmu = &pmus->common;
	return 0;
}

static int list_all(const struct pmus *pmus, const struct list_options *o,
	const struct group_list *groups, struct err *e)
{
	const struct pfm_pmu *pmu = &pmus->common;
	struct list l = {.pmu = pmu, .word = slice_of(o->word)};
	int rc;

	list_cut_source(&l);
	rc = list_types(&l, pmus, o->type, e);
	if (rc < 0)
		return rc;
	/* The events of NetBurst are in the event file. */
	if (event_may_be_libpfm(pmu, l.source) && (l.source.n || !pmu->escrs))
		libpfm_each(l.source, list_print_libpfm, o->verbose ? list_print_umask : NULL, &l);
	if (!l.source.n && !list_groups(&l, groups) && groups->n && !l.word.n)
		fputs("pfm list: no groups: each needs an event that this PMU lacks\n", stderr);
	if (l.n)
		return 0;
	return err_set(e, ENOENT,
		"%s has no event with '%.80s' in its name or description: `pfm list` shows all%s",
		pmu->name, o->word, libpfm_version() ? "" : "; libpfm4 is missing");
}

static int list_parse_options(int argc, char **argv, struct list_options *o, struct err *e)
{
	int c;

	while ((c = options_next(&cmd_list, argc, argv, e)) != 0) {
		if (c < 0)
			return c;
		if (c == 'm')
			o->mount = optarg;
		else if (c == 'v')
			o->verbose = true;
		else
			o->type = optarg;
	}
	if (argc - optind > 1)
		return err_set(
			e, EINVAL, "%s: give one word; see `pfm help list`", argv[optind + 1]);
	o->word = optind < argc ? argv[optind] : "";
	return 0;
}

static int list_run(int argc, char **argv, struct err *e)
{
	struct list_options o = {.word = ""};
	struct group_list groups;
	struct pmus pmus;
	int rc = list_parse_options(argc, argv, &o, e);

	if (rc == 0)
		rc = load_pmus_of(o.mount, &pmus, e);
	if (rc < 0)
		return rc;
	rc = load_groups(&groups, e);
	if (rc == 0) {
		rc = list_all(&pmus, &o, &groups, e);
		group_free(&groups);
	}
	pmus_free(&pmus);
	return rc;
}

const struct pfm_command cmd_list = {
	.name = "list",
	.summary = "list the events and groups that this PMU counts",
	.usage = "Usage: pfm list [-v] [--type=TYPE] [-m DIR] [WORD]\n"
		 "List the events that the PMU of a mount counts: name, code, and the PMDs that\n"
		 "can count it. Groups of events with metrics follow. With WORD, list only those\n"
		 "with WORD in their name or description.\nSOURCE:: or SOURCE::WORD lists an event "
		 "file, or a PMU of libpfm4.\n",
	.options = list_options_rows,
	.notes = "pfm-events(5) explains names.\n",
	.run = list_run,
};
