// SPDX-License-Identifier: MIT
#include "tools/pfm/top/contexts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "tools/pfm/events/event_name.h"
#include "tools/pfm/text/names.h"
#include "tools/pfm/tree/proc.h"
#include "tools/pfm/top/table.h"
#include "tools/pfm/tree/cpus.h"
#include "tools/pfm/tree/file.h"

enum {
	CONTEXT_NAME = 80,
	CONTEXT_WORD = 40,
	CONTEXT_SENTENCE = sizeof(((struct err *)NULL)->text)
};

/* Facts about a context from a line of MNT/cpus. */
struct context_place {
	char name[CONTEXT_NAME]; /* in ctx/ */
	char user[CONTEXT_WORD]; /* its owner */
	/* where it is loaded; if only children are, the first child's place */
	char where[CONTEXT_WORD];
	int loader; /* the thread that loaded it */
	bool cpu;   /* it is loaded on a CPU */
};

struct context_count {
	struct context_place place;
	unsigned set, pmd;
	uint64_t value;
	uint64_t elapsed_ns;           /* since the start, at @value */
	uint64_t active_ns, all_ns;    /* in which its set, and any set, was active */
	bool resets;                   /* overflows reset the PMD */
	double rate;                   /* per second; NAN: not known */
	char event[EVENT_TEXT];        /* the event that it counts */
	char reason[CONTEXT_SENTENCE]; /* why the context cannot be read; "": this is a count */
};

/* --- Places */

static void context_user(char user[CONTEXT_WORD], int uid)
{
	const struct passwd *pw = uid < 0 ? NULL : getpwuid((uid_t)uid);

	if (pw)
		snprintf(user, CONTEXT_WORD, "%s", pw->pw_name);
	else
		snprintf(user, CONTEXT_WORD, "uid %d", uid);
}

/* Fills in @p. A child is summed up in the context whose name begins its path. */
static void context_place_of(struct context_place *p, const struct cpus_line *line)
{
	struct slice path = line->context, name = slice_cut(&path, '/');
	char program[PROC_NAME];

	*p = (struct context_place){.loader = line->pid, .cpu = !line->thread};
	snprintf(p->name, sizeof(p->name), "%.*s", SLICE_ARG(name));
	context_user(p->user, line->uid);
	if (!line->thread) {
		snprintf(p->where, sizeof(p->where), "CPU %d", line->id);
		return;
	}
	proc_name(line->id, program);
	snprintf(p->where, sizeof(p->where), "thread %d %s", line->id, program);
}

/* --- Counts */

static struct context_count *contexts_add(
	struct contexts *c, const struct context_place *p, struct err *e)
{
	struct context_count *all = realloc(c->all, (c->n + 1) * sizeof(*all));

	if (!all) {
		err_set(e, ENOMEM, "no memory for %u counts", c->n + 1);
		return NULL;
	}
	c->all = all;
	all[c->n] = (struct context_count){.place = *p, .rate = NAN};
	return &all[c->n++];
}

/* Parses "[set=ID ]pmdN VALUE". */
static bool context_parse(struct slice line, struct context_count *count)
{
	struct slice word = slice_word(&line);
	uint64_t set = 0, pmd, value;
	struct err e;

	if (slice_starts(word, "set=")) {
		if (num_max((struct slice){word.p + 4, word.n - 4}, UINT_MAX, &set, &e) < 0)
			return false;
		word = slice_word(&line);
	}
	if (!slice_starts(word, "pmd") ||
		num_max((struct slice){word.p + 3, word.n - 3}, UINT_MAX, &pmd, &e) < 0 ||
		num_u64(slice_word(&line), &value, &e) < 0)
		return false;
	count->set = (unsigned)set;
	count->pmd = (unsigned)pmd;
	count->value = value;
	return true;
}

/* Parses "[set=ID ]active_ns NS". */
static bool context_parse_active(struct slice line, uint64_t *set, uint64_t *ns)
{
	struct slice word = slice_word(&line);
	struct err e;

	*set = 0;
	if (slice_starts(word, "set=")) {
		if (num_max((struct slice){word.p + 4, word.n - 4}, UINT_MAX, set, &e) < 0)
			return false;
		word = slice_word(&line);
	}
	return slice_is(word, "active_ns") && num_u64(slice_word(&line), ns, &e) == 0;
}

/* Sets the times of the counts from @first on, which are of one context. */
static void contexts_set_times(struct contexts *c, unsigned first, struct slice total)
{
	uint64_t set, ns;

	while (total.n) {
		if (!context_parse_active(slice_cut(&total, '\n'), &set, &ns))
			continue;
		for (unsigned i = first; i < c->n; i++) {
			c->all[i].all_ns += ns;
			c->all[i].active_ns += c->all[i].set == set ? ns : 0;
		}
	}
}

/* The words that follow @name in the lines of @regs. */
static struct slice context_register(struct slice regs, const char *name)
{
	while (regs.n) {
		struct slice line = slice_cut(&regs, '\n');

		if (slice_is(slice_word(&line), name))
			return line;
	}
	return (struct slice){0};
}

static bool context_pmc(struct slice regs, unsigned pmc, uint64_t *value)
{
	struct slice words;
	char name[24];
	struct err e;

	snprintf(name, sizeof(name), "pmc%u", pmc);
	words = context_register(regs, name);
	return num_value(slice_word(&words), value, &e) == 0;
}

/* Names the event of a PMD whose PMC has @value. An event name would hide that a CCCR compares. */
static void context_name_event(const struct pfm_pmu *pmu, const struct pfm_counter *d,
	uint64_t value, struct slice regs, char event[EVENT_TEXT])
{
	const struct pfm_pmc *pmc = pfm_pmu_selector(pmu, d, value);
	bool compares = pmu->escrs && value & PFM_CCCR_COMPARE;
	unsigned num = d->pmc;

	if (pmc && !compares && context_pmc(regs, pmc->num, &value))
		num = pmc->num;
	event_name_of(pmu, d, num, value, event);
}

static void context_describe(
	const struct contexts *c, struct context_count *count, struct slice regs)
{
	const struct pfm_counter *d = pfm_pmu_counter(c->pmu, count->pmd);
	char name[24];
	struct slice words, word;
	uint64_t value;

	snprintf(name, sizeof(name), "pmd%u", count->pmd);
	words = context_register(regs, name);
	slice_word(&words);
	while ((word = slice_word(&words)).n)
		count->resets |= slice_starts(word, "long=") || slice_starts(word, "short=");
	snprintf(count->event, sizeof(count->event), "%s", name);
	/* The name of a memory controller event means the sum over all controllers. */
	if (!d || d->umc)
		return;
	if (context_pmc(regs, d->pmc, &value))
		context_name_event(c->pmu, d, value, regs, count->event);
}

/* Adds the reason why a context cannot be read, unless it is gone. */
static int contexts_add_reason(
	struct contexts *c, const struct context_place *p, const struct err *why, struct err *e)
{
	struct context_count *count;

	if (file_is_gone(why->no) || why->no == ENOENT)
		return 0;
	count = contexts_add(c, p, e);
	if (!count)
		return -e->no;
	c->lost |= why->no == EIO;
	snprintf(count->reason, sizeof(count->reason), "%s",
		why->no == EACCES ? "only its owner and root can read it" : why->text);
	name_clean(count->reason);
	return 0;
}

/* Adds the counts in @total, the text of the file total, which has all sets. The registers are read
 * for each set. @dir is the context's directory. */
static int contexts_add_counts(struct contexts *c, const struct context_place *p, int dir,
	struct slice total, struct err *e)
{
	TEXT_CLEANUP struct text regs = {0};
	struct slice elapsed = context_register(total, "elapsed_ns"), lines = total;
	uint64_t elapsed_ns = 0;
	unsigned set = UINT_MAX, first = c->n;
	struct err gone;

	/* There is no elapsed time before the first start. */
	num_u64(slice_word(&elapsed), &elapsed_ns, &gone);
	while (lines.n) {
		struct context_count found = {0}, *count;
		char path[32];

		if (!context_parse(slice_cut(&lines, '\n'), &found))
			continue;
		count = contexts_add(c, p, e);
		if (!count)
			return -e->no;
		count->set = found.set;
		count->pmd = found.pmd;
		count->value = found.value;
		count->elapsed_ns = elapsed_ns;
		if (found.set != set) {
			snprintf(path, sizeof(path), "set/%u/regs", found.set);
			text_clear(&regs);
			file_read(dir, path, &regs, &gone);
			set = found.set;
		}
		context_describe(c, count, (struct slice){regs.p, regs.n});
	}
	contexts_set_times(c, first, total);
	return 0;
}

static int contexts_add_context(struct contexts *c, const struct context_place *p, struct err *e)
{
	TEXT_CLEANUP struct text total = {0};
	CLEANUP_CLOSE int dir = -1;
	char path[CONTEXT_NAME + 4];
	struct err why = {0};

	snprintf(path, sizeof(path), "ctx/%s", p->name);
	c->ncontexts++;
	dir = openat(c->tree->dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		file_sentence(c->tree->dir, path, errno, &why);
	else
		file_read(dir, "total", &total, &why);
	if (why.no)
		return contexts_add_reason(c, p, &why, e);
	return contexts_add_counts(c, p, dir, (struct slice){total.p, total.n}, e);
}

/* --- All of them */

static bool contexts_have(const struct contexts *c, const struct context_place *p)
{
	for (unsigned i = 0; i < c->n; i++)
		if (strcmp(c->all[i].place.name, p->name) == 0)
			return true;
	return false;
}

static bool context_same(const struct context_count *a, const struct context_count *b)
{
	return strcmp(a->place.name, b->place.name) == 0 && a->place.loader == b->place.loader &&
	       a->set == b->set && a->pmd == b->pmd && strcmp(a->event, b->event) == 0;
}

/*
 * The rate of @now since @before; NAN: another set was active. The time is, on a CPU, that in which
 * the set was active; for threads, the part of the time since then that the set has of all sets.
 */
static double context_rate_since(
	const struct context_count *now, const struct context_count *before)
{
	double active = (double)(now->active_ns - before->active_ns);
	double all = (double)(now->all_ns - before->all_ns), ns = active;

	if (all > 0 && !now->place.cpu)
		ns = (double)(now->elapsed_ns - before->elapsed_ns) * active / all;
	if (ns > 0)
		return (double)(now->value - before->value) * (double)NSEC_PER_SEC / ns;
	return all > 0 ? NAN : 0;
}

/* Computes the rate, unless the count is new, is reset by overflows, or has decreased, as after
 * another start. */
static void context_rate(struct context_count *now, const struct contexts *before)
{
	for (unsigned i = 0; i < before->n && !now->reason[0] && !now->resets; i++) {
		const struct context_count *b = &before->all[i];

		if (b->reason[0] || b->value > now->value || b->elapsed_ns > now->elapsed_ns ||
			b->active_ns > now->active_ns || b->all_ns > now->all_ns ||
			!context_same(b, now))
			continue;
		now->rate = context_rate_since(now, b);
	}
}

/* Adds the contexts of lines in @cpus: of children, or of all others. */
static int contexts_add_lines(struct contexts *c, struct slice cpus, bool children, struct err *e)
{
	struct context_place p;
	struct cpus_line line;
	int rc = 0;

	while (rc == 0 && cpus.n) {
		if (!cpus_parse(slice_cut(&cpus, '\n'), &line) || !line.context.n ||
			children != !!memchr(line.context.p, '/', line.context.n))
			continue;
		context_place_of(&p, &line);
		if (!contexts_have(c, &p))
			rc = contexts_add_context(c, &p, e);
	}
	return rc;
}

/* Lists all contexts. A context whose own thread has ended appears through its children. */
static int contexts_list(struct contexts *c, struct err *e)
{
	TEXT_CLEANUP struct text text = {0};
	int rc = file_read(c->tree->dir, "cpus", &text, e);

	if (rc == 0)
		rc = contexts_add_lines(c, (struct slice){text.p, text.n}, false, e);
	return rc < 0 ? rc : contexts_add_lines(c, (struct slice){text.p, text.n}, true, e);
}

int contexts_read(struct contexts *c, struct err *e)
{
	struct contexts before = *c;
	int rc;

	c->all = NULL;
	c->n = c->ncontexts = 0;
	c->lost = false;
	rc = contexts_list(c, e);
	for (unsigned i = 0; i < c->n; i++)
		context_rate(&c->all[i], &before);
	contexts_free(&before);
	return rc;
}

void contexts_free(struct contexts *c)
{
	free(c->all);
	c->all = NULL;
	c->n = 0;
}

/* --- Lines */

void contexts_header(struct text *out)
{
	text_printf(out, "%-14s %-9s %-22s %13s EVENT", "CONTEXT", "OWNER", "WHERE", "PER SECOND");
}

void contexts_row(struct text *out, const struct contexts *c, unsigned i)
{
	const struct context_count *count = &c->all[i];
	char room[TABLE_RATE_ROOM];

	text_printf(out, "%-14.14s %-9.9s %-22.22s ", count->place.name, count->place.user,
		count->place.where);
	if (count->reason[0])
		text_printf(out, "%13s %s", "-", count->reason);
	else
		text_printf(out, "%13s %s",
			isnan(count->rate) ? "-" : table_rate(room, count->event, count->rate),
			count->event);
	if (count->set && !count->reason[0])
		text_printf(out, " (set %u)", count->set);
}
