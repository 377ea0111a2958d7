// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/reading.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/slice.h"
#include "tools/pfm/stat/loss.h"
#include "tools/pfm/tree/file.h"

/* --- Lost counts */

static bool reading_is_lost(int no)
{
	return no == EIO || no == ENXIO;
}

static void reading_lose(struct reading *r, unsigned event, const struct err *e)
{
	if (!r->lost[event])
		r->lost[event] = loss_keep(e);
}

/* Sentences about a single count begin with its place: other counts may be good. */
static bool reading_names_count(const struct err *e)
{
	return strncmp(e->text, "pmd", 3) == 0 || strncmp(e->text, "children/", 9) == 0;
}

/* --- All counts at once */

/* Takes the longest time of a context and its children, which begin and end at different times. */
static void reading_take_elapsed(struct reading *r, uint64_t ns)
{
	r->elapsed_ns = ns > r->elapsed_ns ? ns : r->elapsed_ns;
}

/* Whether @pmd counts @event in event set @set of contexts. */
static bool reading_is_of(const struct plan *p, unsigned event, int set, unsigned pmd)
{
	const struct pfm_counter *d = &p->pmu->counters[p->places[event].row];
	int its;

	if (!plan_counts(p, event, &its) || its != set)
		return false;
	for (unsigned i = 0; i < d->n; i++)
		if (d->nums[i] == pmd)
			return true;
	return false;
}

/* Parses PREFIXn; *@v is n. */
static bool reading_number(struct slice word, const char *prefix, uint64_t *v)
{
	size_t n = strlen(prefix);
	struct err e;

	return slice_starts(word, prefix) &&
	       num_u64((struct slice){word.p + n, word.n - n}, v, &e) == 0;
}

static void reading_add_value(
	struct reading *r, const struct plan *p, unsigned set, unsigned pmd, uint64_t value)
{
	for (unsigned i = 0; i < p->n; i++)
		if (reading_is_of(p, i, (int)set, pmd))
			r->values[i] += value;
}

/* The counts of one file. */
struct reading_file {
	struct reading *r;
	const struct plan *plan;
	const char *path;
	uint64_t set; /* of lines that name none */
	/* The most of any PMD: all PMDs that count have the same gaps. */
	uint64_t gaps, uncertain_ns;
};

/* Parses what follows the value of a PMD: OPTION... gaps=N uncertain=NS, each of which may lack. */
static void reading_take_gaps(struct reading_file *f, struct slice rest)
{
	struct slice word;
	uint64_t v;

	while ((word = slice_word(&rest)).n) {
		if (reading_number(word, "gaps=", &v))
			f->gaps = v > f->gaps ? v : f->gaps;
		if (reading_number(word, "uncertain=", &v))
			f->uncertain_ns = v > f->uncertain_ns ? v : f->uncertain_ns;
	}
}

static int reading_not_understood(const char *path, struct slice line, struct err *e)
{
	return err_set(
		e, EPROTO, "%s: '%.*s' is not a line of this interface", path, SLICE_ARG(line));
}

/* Parses a line of total or regs: [set=ID ]pmdN VALUE[ OPTION...], [set=ID ]active_ns NS,
 * elapsed_ns NS, or pmcN VALUE. */
static int reading_parse_line(struct reading_file *f, struct slice line, struct err *e)
{
	struct slice rest = line, word = slice_word(&rest);
	uint64_t set = f->set, pmd, value;

	if (slice_starts(word, "pmc"))
		return 0;
	if (reading_number(word, "set=", &set))
		word = slice_word(&rest);
	if (set < PLAN_SETS && num_u64(slice_word(&rest), &value, e) == 0) {
		if (reading_number(word, "pmd", &pmd) && pmd <= UINT_MAX) {
			reading_add_value(f->r, f->plan, (unsigned)set, (unsigned)pmd, value);
			reading_take_gaps(f, rest);
			return 0;
		}
		if (slice_is(word, "active_ns") && !slice_trim(rest).n) {
			f->r->active_ns[set] += value;
			return 0;
		}
		if (slice_is(word, "elapsed_ns") && !slice_trim(rest).n) {
			reading_take_elapsed(f->r, value);
			return 0;
		}
	}
	return reading_not_understood(f->path, line, e);
}

static int reading_add_file(struct reading_file *f, int dir, struct err *e)
{
	TEXT_CLEANUP struct text t = {0};
	struct slice rest, line;
	int rc = file_read(dir, f->path, &t, e);

	if (rc < 0)
		return rc;
	rest = slice_of(t.p ? t.p : "");
	while (rc == 0 && (line = slice_cut(&rest, '\n')).n)
		rc = reading_parse_line(f, line, e);
	f->r->gaps += f->gaps;
	f->r->uncertain_ns += f->uncertain_ns;
	return rc;
}

/* The kernel gave the counter of @pmd to others for a while. */
static void reading_lose_pmd(struct reading *r, const struct plan *p, unsigned pmd)
{
	static const struct err taken = {EIO,
		"the kernel took the event off the PMU for a while, as other perf events or the "
		"NMI watchdog (kernel.nmi_watchdog) got its counter: count fewer events"};

	for (unsigned i = 0; i < p->n; i++)
		if (reading_is_of(p, i, 0, pmd))
			reading_lose(r, i, &taken);
}

bool reading_same(const struct reading *a, const struct reading *b)
{
	return memcmp(a->values, b->values, sizeof(a->values)) == 0 &&
	       memcmp(a->lost, b->lost, sizeof(a->lost)) == 0;
}

/* Parses tid=N[ ended][ pmdN VALUE]..., where a VALUE may be the word lost. */
int reading_add_thread(struct reading *r, const struct plan *p, struct slice line, int *tid,
	bool *ended, struct err *e)
{
	struct slice rest = line, word = slice_word(&rest), value;
	uint64_t number, count;

	if (!reading_number(word, "tid=", &number) || number > INT_MAX)
		return reading_not_understood("threads", line, e);
	*tid = (int)number;
	word = slice_word(&rest);
	*ended = slice_is(word, "ended");
	if (*ended)
		word = slice_word(&rest);
	for (; word.n; word = slice_word(&rest)) {
		value = slice_word(&rest);
		if (!reading_number(word, "pmd", &number) || number > UINT_MAX)
			return reading_not_understood("threads", line, e);
		if (slice_is(value, "lost"))
			reading_lose_pmd(r, p, (unsigned)number);
		else if (num_u64(value, &count, e) == 0)
			reading_add_value(r, p, 0, (unsigned)number, count);
		else
			return reading_not_understood("threads", line, e);
	}
	return 0;
}

static int reading_add_total(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	struct reading_file f = {.r = r, .plan = p, .path = "total"};

	return reading_add_file(&f, dir, e);
}

/* Adds the counts of the context alone, without its children. */
static int reading_add_regs(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	unsigned nsets = p->only < 0 ? p->nsets : 1;
	int rc = 0;

	for (unsigned set = 0; rc == 0 && set < nsets; set++) {
		char path[32];
		struct reading_file f = {.r = r, .plan = p, .path = path, .set = set};

		snprintf(path, sizeof(path), "set/%u/regs", set);
		rc = reading_add_file(&f, dir, e);
	}
	return rc;
}

/* --- One by one */

/* An event is lost if one of its PMDs is. */
static int reading_add_count(
	struct reading *r, const struct plan *p, unsigned event, int set, int dir, struct err *e)
{
	const struct pfm_counter *d = &p->pmu->counters[p->places[event].row];
	char path[48];
	uint64_t value;

	for (unsigned i = 0; i < d->n; i++) {
		snprintf(path, sizeof(path), "set/%d/pmd/%u", set, d->nums[i]);
		if (file_read_u64(dir, path, &value, e) == 0)
			r->values[event] += value;
		else if (reading_is_lost(e->no))
			reading_lose(r, event, e);
		else
			return -e->no;
	}
	return 0;
}

static int reading_add_counts(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	int set, rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->n; i++)
		if (plan_counts(p, i, &set))
			rc = reading_add_count(r, p, i, set, dir, e);
	return rc;
}

static int reading_add_times(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	unsigned nsets = p->only < 0 ? p->nsets : 1;
	char path[48];
	uint64_t ns;
	int rc = 0;

	for (unsigned set = 0; rc == 0 && set < nsets; set++) {
		snprintf(path, sizeof(path), "set/%u/active_ns", set);
		rc = file_read_u64(dir, path, &ns, e);
		if (rc == 0)
			r->active_ns[set] += ns;
	}
	return rc;
}

static int reading_open_child(void *arg, const struct plan *p, int list, const char *name,
	reading_child_fn *each, struct err *e)
{
	CLEANUP_CLOSE int child = openat(list, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return child < 0 ? file_sentence(list, name, errno, e) : each(arg, p, child, list, name, e);
}

static int reading_is_child(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/*
 * Limits one pass, so that pfm handles signals in between: it takes some 100 ms on a busy machine.
 */
enum { READING_REMOVED_MAX = 200 };

/* All names are read first: threads may be created faster than their contexts are read. */
int reading_each_child(
	void *arg, const struct plan *p, int dir, reading_child_fn *each, struct err *e)
{
	CLEANUP_CLOSE int list = openat(dir, "children", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **entries = NULL;
	unsigned removed = 0;
	int n = list < 0 ? -1 : scandirat(list, ".", &entries, reading_is_child, NULL), rc = 0;

	if (n < 0)
		return file_sentence(dir, "children", errno, e);
	for (int i = 0; i < n; i++) {
		if (rc == 0 && removed < READING_REMOVED_MAX)
			rc = reading_open_child(arg, p, list, entries[i]->d_name, each, e);
		if (rc == 1) {
			removed++;
			rc = 0;
		}
		free(entries[i]);
	}
	free(entries);
	return rc < 0 ? rc : removed == READING_REMOVED_MAX;
}

static int reading_child_counts(
	void *r, const struct plan *p, int child, int list, const char *name, struct err *e)
{
	(void)list;
	(void)name;
	return reading_add_counts(r, p, child, e);
}

static int reading_child_times(
	void *r, const struct plan *p, int child, int list, const char *name, struct err *e)
{
	(void)list;
	(void)name;
	return reading_add_times(r, p, child, e);
}

static int reading_add_all_times(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	uint64_t ns = 0;
	int rc = reading_add_times(r, p, dir, e);

	if (rc == 0)
		rc = file_read_u64(dir, "pmd/262", &ns, e);
	if (rc < 0 && !reading_is_lost(e->no))
		return rc;
	r->torn |= rc < 0;
	reading_take_elapsed(r, ns);
	return reading_each_child(r, p, dir, reading_child_times, e);
}

static bool reading_same_times(const struct reading *a, const struct reading *b)
{
	return a->elapsed_ns == b->elapsed_ns &&
	       memcmp(a->active_ns, b->active_ns, sizeof(a->active_ns)) == 0;
}

/* There are no sums: reads the counts one by one to find those that are lost. If counting goes on,
 * the times change meanwhile. */
static int reading_add_each(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	struct reading before = *r, after = *r;
	int rc = reading_add_all_times(&before, p, dir, e);

	if (rc == 0)
		rc = reading_add_counts(r, p, dir, e);
	if (rc == 0)
		rc = reading_each_child(r, p, dir, reading_child_counts, e);
	if (rc == 0)
		rc = reading_add_all_times(&after, p, dir, e);
	if (rc < 0)
		return rc;
	r->torn |= !reading_same_times(&before, &after);
	memcpy(r->active_ns, after.active_ns, sizeof(r->active_ns));
	r->elapsed_ns = after.elapsed_ns;
	return 0;
}

void reading_lose_all(struct reading *r, const struct plan *p, const struct err *e)
{
	int set;

	for (unsigned i = 0; i < p->n; i++)
		if (plan_counts(p, i, &set))
			reading_lose(r, i, e);
}

int reading_add_own(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	struct reading before = *r;
	int rc = reading_add_regs(r, p, dir, e);

	if (rc < 0 && reading_is_lost(e->no)) {
		*r = before;
		rc = reading_add_counts(r, p, dir, e);
	}
	return rc < 0 || p->only >= 0 || p->nsets == 1 ? rc : reading_add_times(r, p, dir, e);
}

int reading_missing(const struct plan *p, int dir, struct err *missing, struct err *e)
{
	struct reading r = {0};
	int rc = reading_add_total(&r, p, dir, e);

	if (rc == 0 || !reading_is_lost(e->no))
		return rc;
	if (!reading_names_count(e))
		*missing = *e;
	return 0;
}

int reading_add(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	struct reading before = *r;
	int rc = reading_add_total(r, p, dir, e);

	if (rc == 0 || !reading_is_lost(e->no))
		return rc;
	*r = before;
	if (reading_names_count(e))
		return reading_add_each(r, p, dir, e);
	reading_lose_all(r, p, e);
	return reading_add_all_times(r, p, dir, e);
}

/* --- Children that have ended */

int reading_child_ended(int child, struct err *e)
{
	char state[64];
	int rc = file_read_line(child, "state", state, sizeof(state), e);

	return rc < 0 ? rc : strncmp(state, "zombie", 6) == 0;
}

int reading_remove_child(int list, const char *name, struct err *e)
{
	if (unlinkat(list, name, AT_REMOVEDIR) < 0)
		return err_set(e, errno, "children/%s: %s", name, err_name(errno));
	return 1;
}

static int reading_collect_child(
	void *r, const struct plan *p, int child, int list, const char *name, struct err *e)
{
	int rc = reading_child_ended(child, e);

	if (rc <= 0)
		return rc;
	rc = reading_add(r, p, child, e);
	return rc < 0 ? rc : reading_remove_child(list, name, e);
}

int reading_collect(struct reading *r, const struct plan *p, int dir, struct err *e)
{
	return reading_each_child(r, p, dir, reading_collect_child, e);
}

/* --- Arithmetic */

void reading_sum(struct reading *to, const struct reading *from)
{
	for (unsigned i = 0; i < EVENT_MAX; i++) {
		to->values[i] += from->values[i];
		if (!to->lost[i])
			to->lost[i] = from->lost[i];
	}
	for (unsigned set = 0; set < PLAN_SETS; set++)
		to->active_ns[set] += from->active_ns[set];
	to->elapsed_ns += from->elapsed_ns;
	to->torn |= from->torn;
	to->places += from->places;
	to->counted_ns += from->counted_ns;
	to->gaps += from->gaps;
	to->uncertain_ns += from->uncertain_ns;
}

void reading_since(struct reading *to, const struct reading *before)
{
	for (unsigned i = 0; i < EVENT_MAX; i++)
		to->values[i] -= before->values[i];
	for (unsigned set = 0; set < PLAN_SETS; set++)
		to->active_ns[set] -= before->active_ns[set];
	to->elapsed_ns -= before->elapsed_ns;
	to->torn |= before->torn;
	to->counted_ns -= before->counted_ns;
	to->gaps -= before->gaps;
	to->uncertain_ns -= before->uncertain_ns;
}
