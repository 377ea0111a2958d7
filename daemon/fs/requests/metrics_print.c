// SPDX-License-Identifier: MIT
/* Prints the results of a scan, in one of the two forms. */
#include <stdio.h>

#include "base/version.h"
#include "daemon/fs/requests/metrics_scan.h"
#include "daemon/fs/requests/stat_keys.h"

enum { METRICS_LABELS = 4, METRICS_NUMBER = 16 };

/* The labels that distinguish contexts. */
struct metrics_labels {
	struct exposition_label label[METRICS_LABELS];
	unsigned n;
	char cpu[METRICS_NUMBER], tid[METRICS_NUMBER];
};

static void metrics_label_number(
	struct metrics_labels *l, const char *name, char text[METRICS_NUMBER], int number)
{
	snprintf(text, METRICS_NUMBER, "%d", number);
	l->label[l->n++] = (struct exposition_label){name, text};
}

/* Adds the labels in alphabetical order, which is fastest for the line protocol. */
static void metrics_label(struct metrics_labels *l, const struct ctx_metrics *m, const char *metric)
{
	l->n = 0;
	l->label[l->n++] = (struct exposition_label){"context", m->ctx->id.path};
	if (m->cpu >= 0)
		metrics_label_number(l, "cpu", l->cpu, m->cpu);
	if (metric)
		l->label[l->n++] = (struct exposition_label){"metric", metric};
	if (m->tid)
		metrics_label_number(l, "tid", l->tid, m->tid);
}

static const char *metrics_help(const struct metric_family *f)
{
	const struct ctx_metric *c;

	list_for_each_entry (c, &f->members, member)
		if (c->metric.help[0])
			return c->metric.help;
	return "A count of a context.";
}

static void metrics_print_count(const struct ctx_metric *c, struct exposition *x)
{
	struct metrics_labels l;

	metrics_label(&l, c->of, NULL);
	exposition_sample(x, l.label, l.n, c->count->value, c->metric.digits);
}

/* Begins the family with its first sample. */
static void metrics_print_lost(const struct ctx_metric *c, bool *begun, struct exposition *x)
{
	struct metrics_labels l;

	if (!*begun)
		exposition_family(x, "count_lost", EXPOSITION_GAUGE,
			"1: the count of that name is lost: its counter was taken over or could "
			"not be read.");
	*begun = true;
	metrics_label(&l, c->of, c->metric.name);
	exposition_sample(x, l.label, l.n, 1, 0);
}

static bool metrics_has_answered(const struct metrics *ms, const struct ctx_metric *c)
{
	return c->of->answered == ms->scan;
}

static void metrics_print_family(
	const struct metrics *ms, const struct metric_family *f, struct exposition *x)
{
	const struct ctx_metric *c;
	bool begun = false;

	list_for_each_entry (c, &f->members, member) {
		if (!metrics_has_answered(ms, c) || c->count->state != COUNT_KNOWN)
			continue;
		if (!begun)
			exposition_family(x, f->name, EXPOSITION_COUNTER, metrics_help(f));
		begun = true;
		metrics_print_count(c, x);
	}
}

static void metrics_print_all_lost(const struct metrics *ms, struct exposition *x)
{
	const struct metric_family *f;
	const struct ctx_metric *c;
	bool begun = false;

	list_for_each_entry (f, &ms->families, link)
		list_for_each_entry (c, &f->members, member)
			if (metrics_has_answered(ms, c) && c->count->state == COUNT_LOST)
				metrics_print_lost(c, &begun, x);
}

static void metrics_print_late(const struct metrics *ms, struct exposition *x)
{
	const struct ctx_metrics *m;
	struct metrics_labels l;
	bool begun = false;

	list_for_each_entry (m, &ms->contexts, link) {
		/* A context that was named or loaded after the scan passed it is not late. */
		if (m->wanted_by != ms->scan || m->answered == ms->scan || !ctx_metrics_wanted(m))
			continue;
		if (!begun)
			exposition_family(x, "context_late", EXPOSITION_GAUGE,
				"1: the context has not answered in time, and its counts are left "
				"out.");
		begun = true;
		metrics_label(&l, m, NULL);
		exposition_sample(x, l.label, l.n, 1, 0);
	}
}

/* A background context counts nothing in its gaps, so its counts alone would mislead. */
static void metrics_print_gaps(const struct metrics *ms, struct exposition *x)
{
	const struct ctx_metrics *m;
	struct metrics_labels l;
	bool begun = false;

	list_for_each_entry (m, &ms->contexts, link) {
		if (m->answered != ms->scan || !m->gaps)
			continue;
		if (!begun)
			exposition_family(x, "context_gaps", EXPOSITION_COUNTER,
				"How often the context gave way since its last load: its counts "
				"leave that time out.");
		begun = true;
		metrics_label(&l, m, NULL);
		exposition_sample(x, l.label, l.n, m->gaps, 0);
	}
}

static void metrics_print_daemon(struct fs *fs, struct exposition *x)
{
	const struct exposition_label build[] = {
		{"backend", fs->be->ops->name},
		{"pmu", fs->be->pmu->name},
		{"version", PERFMONFS_VERSION},
	};
	char name[64];

	exposition_family(x, "build_info", EXPOSITION_GAUGE, "1: version, backend and PMU.");
	exposition_sample(x, build, sizeof(build) / sizeof(build[0]), 1, 0);
	for (const struct stat_key *k = stat_keys; k->name; k++) {
		snprintf(name, sizeof(name), "daemon_%s", k->name);
		exposition_family(
			x, name, k->counter ? EXPOSITION_COUNTER : EXPOSITION_GAUGE, k->help);
		exposition_sample(x, NULL, 0, k->value(fs), 0);
	}
}

void metrics_print(const struct metrics *ms, struct exposition *x)
{
	const struct metric_family *f;

	metrics_print_daemon(ms->fs, x);
	list_for_each_entry (f, &ms->families, link)
		metrics_print_family(ms, f, x);
	metrics_print_all_lost(ms, x);
	metrics_print_late(ms, x);
	metrics_print_gaps(ms, x);
}

void metrics_print_context(const struct ctx_metrics *m, struct exposition *x)
{
	bool begun = false;

	for (unsigned i = 0; i < m->n; i++) {
		const struct ctx_metric *c = &m->metric[i];

		if (c->count->state != COUNT_KNOWN)
			continue;
		exposition_family(x, c->metric.name, EXPOSITION_COUNTER,
			c->metric.help[0] ? c->metric.help : "A count of a context.");
		metrics_print_count(c, x);
	}
	for (unsigned i = 0; i < m->n; i++)
		if (m->counts[i].state == COUNT_LOST)
			metrics_print_lost(&m->metric[i], &begun, x);
}
