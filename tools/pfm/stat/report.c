// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/report.h"

#include <math.h>
#include <string.h>

#include "base/nsec.h"
#include "base/text.h"
#include "tools/pfm/stat/row.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/wrap.h"

enum { REPORT_COLUMNS = 80, REPORT_INDENT = 6 };

const char *report_level(unsigned level)
{
	static const char *const levels[] = {"", "u", "k", "uk"};

	return levels[level];
}

static unsigned report_columns(const struct report *r)
{
	return (r->regions ? ROW_REGION : 0) | (r->topology ? ROW_TOPOLOGY : 0) |
	       (r->statistics ? ROW_STATISTICS : 0);
}

void report_header(struct report *r, const char *what, const struct tree *t)
{
	if (r->format == REPORT_CSV)
		row_csv_header(r->out, r->separator, report_columns(r));
	if (r->format == REPORT_TEXT)
		fprintf(r->out, "\n%s: %s%s", what, t->backend,
			strcmp(t->backend, "sim") == 0 ? " (simulated)" : "");
	if (r->format == REPORT_TEXT && strcmp(t->backend, t->pmu) != 0)
		fprintf(r->out, ", %s", t->pmu);
	if (r->format == REPORT_TEXT)
		fputs("\n\n", r->out);
}

/* --- Rows */

void report_row(const struct report *r, const struct row *row)
{
	if (r->format == REPORT_JSON)
		row_json(r->out, row);
	else
		row_csv(r->out, r->separator, report_columns(r), row);
}

void report_row_scope(struct row *row, const struct scope *scope)
{
	switch (scope->kind) {
	case SCOPE_CPU:
		row->cpu = scope->id;
		break;
	case SCOPE_THREAD:
		row->tid = scope->id;
		break;
	case SCOPE_CORE:
		row->core = scope->id;
		row->socket = scope->socket;
		break;
	case SCOPE_SOCKET:
		row->socket = scope->socket;
	}
}

/* A row for @scope, or for the sum if it is NULL. */
static struct row report_row_at(const struct report *r, const struct scope *scope, uint64_t time_ns)
{
	struct row row = {.cpu = -1,
		.tid = -1,
		.core = -1,
		.socket = -1,
		.active = 1,
		.time_ns = time_ns,
		.run = r->run,
		.region = r->region};

	if (scope)
		report_row_scope(&row, scope);
	return row;
}

static void report_row_count(const struct report *r, const struct scope *scope,
	const struct counts *c, unsigned event, uint64_t time_ns)
{
	const struct count *count = &c->all[event];
	struct row row = report_row_at(r, scope, time_ns);
	char label[PLAN_LABEL];

	row.event = plan_label(r->plan, r->plan->events[event].name, label);
	row.value = count->value;
	row.unit = count_unit(r->plan->events[event].name);
	row.level = r->plan->events[event].level;
	row.active = count->active;
	row.lost = count->lost ? count->lost->text : NULL;
	report_row(r, &row);
}

/* @value: NAN if there is none. */
static void report_row_metric(const struct report *r, const struct scope *scope, const char *name,
	const char *unit, double value, uint64_t time_ns)
{
	struct row row = report_row_at(r, scope, time_ns);

	row.metric = name;
	row.unit = unit;
	row.number = isnan(value) ? 0 : value;
	row.lost = isnan(value) ? "a count that it needs has no value, or is zero" : NULL;
	report_row(r, &row);
}

/* --- Text */

/* The sentence without the counter that it begins with, as other counts are often lost for the same
 * reason. */
static const char *report_reason(const struct err *lost)
{
	const char *colon = strstr(lost->text, ": ");

	return strncmp(lost->text, "pmd", 3) == 0 && colon ? colon + 2 : lost->text;
}

static void report_print_reason(const struct report *r, const char *reason)
{
	char line[sizeof(((struct err *)NULL)->text) + 16];
	TEXT_CLEANUP struct text t = {0};

	snprintf(line, sizeof(line), "<lost: %s>", reason);
	wrap_text(&t, line, REPORT_INDENT, REPORT_COLUMNS);
	if (text_ok(&t))
		fprintf(r->out, "%*s%s", REPORT_INDENT, "", t.p);
}

void report_reasons(const struct report *r, const struct err *const lost[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned before = 0;

		while (before < i && lost[i] &&
			!(lost[before] &&
				strcmp(report_reason(lost[before]), report_reason(lost[i])) == 0))
			before++;
		if (lost[i] && before == i)
			report_print_reason(r, report_reason(lost[i]));
	}
}

static void report_value(char room[DIGITS_ROOM], const struct count *count, bool ns)
{
	if (count->lost)
		strcpy(room, "<lost>");
	else if (ns)
		digits_decimal(room, (double)count->value / 1e6, 2);
	else
		digits_grouped(room, count->value);
}

/* Writes the metric of an event into @room; "" if it does not fit or there is none. */
static void report_derived(
	char *room, size_t size, const struct report *r, const struct counts *c, unsigned event)
{
	char number[DIGITS_ROOM];
	struct metric m;

	if (!metric_of(&m, c, r->plan, event) ||
		snprintf(room, size, "  # %s %s", digits_decimal(number, m.value, m.decimals),
			m.text) >= (int)size)
		*room = '\0';
}

int report_scope(const struct report *r, const struct scope *scope)
{
	char label[SCOPE_LABEL];

	scope_label(scope, label);
	return fprintf(r->out, "%-12s", label);
}

/* Prints the time and scope of a line. Returns the number of columns. */
static int report_text_place(const struct report *r, const struct scope *scope, uint64_t time_ns)
{
	int n = 0;

	if (r->intervals)
		n += fprintf(r->out, "%10.4f ", (double)time_ns / (double)NSEC_PER_SEC);
	if (scope)
		n += report_scope(r, scope);
	return n;
}

/*
 * The columns of a value. After a time, it is narrower, so that a metric still fits into the line.
 */
static int report_width(const struct report *r)
{
	return r->intervals ? 15 : 20;
}

static void report_text_count(const struct report *r, const struct scope *scope,
	const struct counts *c, unsigned event, uint64_t time_ns)
{
	const struct count *count = &c->all[event];
	const struct pfm_event *ev = &r->plan->events[event];
	bool ns = count_unit(ev->name) != NULL;
	char value[DIGITS_ROOM], share[16] = "", derived[REPORT_COLUMNS] = "";
	char label[PLAN_LABEL];
	const char *level = report_level(ev->level);
	int n;

	report_value(value, count, ns);
	if (count->active < 1 && !count->lost)
		snprintf(share, sizeof(share), " [%.0f %%]", 100 * count->active);
	n = report_text_place(r, scope, time_ns);
	n += fprintf(r->out, "%*s %-2s %-24s ", report_width(r), value,
		ns && !count->lost ? "ms" : "", plan_label(r->plan, ev->name, label));
	n += snprintf(NULL, 0, "%-2s%s", level, share);
	/* The metric comes second, as a value without its share of the time would be taken for a
	 * count. */
	if (n > 0 && n < REPORT_COLUMNS)
		report_derived(derived, (size_t)(REPORT_COLUMNS - n + 1), r, c, event);
	fprintf(r->out, "%-*s%s%s\n", *share || *derived ? 2 : 0, level, share, derived);
}

/* Prints a metric with its unit, and its description if that fits into the line. */
static void report_text_metric(const struct report *r, const struct scope *scope,
	const struct group_metric *m, double v, uint64_t time_ns)
{
	char value[DIGITS_ROOM], text[DIGITS_ROOM + PLAN_LABEL + GROUP_UNIT + REPORT_COLUMNS];
	char label[PLAN_LABEL];
	int before = report_text_place(r, scope, time_ns);
	int n = snprintf(text, sizeof(text), "%*s    %-24s %s", report_width(r),
		isnan(v) ? "-" : digits_decimal(value, v, digits_decimals(v)),
		plan_label(r->plan, m->name, label), m->unit);

	if (before + n + 1 + (int)strlen(m->desc) <= REPORT_COLUMNS)
		snprintf(
			text + n, sizeof(text) - (size_t)n, "%s%s", m->unit[0] ? " " : "", m->desc);
	for (n = (int)strlen(text); text[n - 1] == ' '; n--)
		text[n - 1] = '\0';
	fprintf(r->out, "%s\n", text);
}

static void report_group(
	const struct report *r, const struct scope *scope, const struct counts *c, uint64_t time_ns)
{
	const struct group *g = r->plan->group;
	char label[PLAN_LABEL];

	for (unsigned i = 0; g && i < g->nmetrics; i++) {
		const struct group_metric *m = &g->metrics[i];
		double v = counts_group_metric(c, r->plan, i);

		if (r->format == REPORT_TEXT)
			report_text_metric(r, scope, m, v, time_ns);
		else
			report_row_metric(r, scope, plan_label(r->plan, m->name, label),
				m->unit[0] ? m->unit : NULL, v, time_ns);
	}
}

/* Whether no count of the plan is lost. The gaps of a lost count are not known. */
static bool report_has_all(const struct report *r, const struct counts *c)
{
	unsigned i = 0;

	while (i < r->plan->n && !c->all[i].lost)
		i++;
	return i == r->plan->n;
}

/* Reports the gaps in counts, and the time, summed over contexts, that background contexts counted,
 * or that threads were not counted. The daemon measures these times, at other moments than pfm
 * measures the elapsed time. */
static void report_gaps(
	const struct report *r, const struct scope *scope, const struct counts *c, uint64_t time_ns)
{
	bool counted = r->gaps == REPORT_COUNTED, known = report_has_all(r, c);
	uint64_t ns = counted ? c->counted_ns : c->uncertain_ns;
	double s = counted || known ? (double)ns / (double)NSEC_PER_SEC : NAN;
	char value[DIGITS_ROOM], gaps[DIGITS_ROOM], label[PLAN_LABEL];

	if (r->format != REPORT_TEXT) {
		report_row_metric(r, scope,
			plan_label(r->plan, counted ? "counted" : "uncertain", label), "s", s,
			time_ns);
		report_row_metric(r, scope, plan_label(r->plan, "gaps", label), NULL,
			known ? (double)c->gaps : NAN, time_ns);
		return;
	}
	report_text_place(r, scope, time_ns);
	fprintf(r->out, "%*s s  %s, with %s gap%s\n", report_width(r),
		isnan(s) ? "-" : digits_decimal(value, s, 6), counted ? "counted" : "uncertain",
		known ? digits_grouped(gaps, c->gaps) : "unknown",
		c->gaps == 1 && known ? "" : "s");
}

/* --- Both */

void report_counts(
	struct report *r, const struct scope *scope, const struct counts *c, uint64_t time_ns)
{
	const struct err *lost[EVENT_MAX];
	char label[PLAN_LABEL];
	struct metric m;

	for (unsigned i = 0; i < r->plan->n; i++) {
		lost[i] = c->all[i].lost;
		if (!c->all[i].counted)
			continue;
		r->lost |= c->all[i].lost != NULL;
		if (r->format == REPORT_TEXT)
			report_text_count(r, scope, c, i, time_ns);
		else
			report_row_count(r, scope, c, i, time_ns);
		if (r->format != REPORT_TEXT && metric_of(&m, c, r->plan, i) && m.name)
			report_row_metric(r, scope, plan_label(r->plan, m.name, label), m.unit,
				m.value, time_ns);
	}
	report_group(r, scope, c, time_ns);
	if (r->gaps)
		report_gaps(r, scope, c, time_ns);
	if (r->format == REPORT_TEXT)
		report_reasons(r, lost, r->plan->n);
}

/* Prints "init: 3 calls, 0.000123 s", or a row for each of these numbers. */
static void report_region_calls(
	const struct report *r, const struct region_sum *region, uint64_t time_ns)
{
	char calls[DIGITS_ROOM], unended[DIGITS_ROOM], time[DIGITS_ROOM];
	double seconds = (double)region->time_ns / (double)NSEC_PER_SEC;

	if (r->format != REPORT_TEXT) {
		report_row_metric(r, NULL, "calls", NULL, (double)region->calls, time_ns);
		report_row_metric(r, NULL, "elapsed", "s", seconds, time_ns);
		return;
	}
	fprintf(r->out, "%s: %s call%s, %s s", region->name, digits_grouped(calls, region->calls),
		region->calls == 1 ? "" : "s", digits_decimal(time, seconds, 6));
	if (region->unended)
		fprintf(r->out, ", and %s without an end",
			digits_grouped(unended, region->unended));
	fputc('\n', r->out);
}

void report_region(struct report *r, const struct region_sum *region, uint64_t time_ns)
{
	struct counts c;

	r->region = region->name;
	counts_of(&c, r->plan, &region->counts, region->time_ns);
	report_region_calls(r, region, time_ns);
	report_counts(r, NULL, &c, time_ns);
	if (r->format == REPORT_TEXT)
		fputc('\n', r->out);
}

static double report_seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void report_time(const struct report *r, const char *name, double s, uint64_t time_ns)
{
	char value[DIGITS_ROOM];

	if (r->format == REPORT_TEXT)
		fprintf(r->out, "%20s s  %s\n", digits_decimal(value, s, 6), name);
	else
		report_row_metric(r, NULL, name, "s", s, time_ns);
}

void report_times(struct report *r, uint64_t elapsed_ns, const struct rusage *usage)
{
	if (r->format == REPORT_TEXT)
		fputc('\n', r->out);
	report_time(r, "elapsed", (double)elapsed_ns / (double)NSEC_PER_SEC, elapsed_ns);
	if (usage) {
		report_time(r, "user", report_seconds(usage->ru_utime), elapsed_ns);
		report_time(r, "system", report_seconds(usage->ru_stime), elapsed_ns);
	}
	if (r->format == REPORT_TEXT)
		fputc('\n', r->out);
}
