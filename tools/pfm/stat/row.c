// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/row.h"

#include "tools/pfm/events/event.h"
#include "tools/pfm/stat/fields.h"

/* Significant digits of quotients, and of numbers that may be integers; a double has 15. */
enum { ROW_DIGITS = 9, ROW_DIGITS_EXACT = 15 };

static const char *row_level(const char *event, unsigned level)
{
	static const char *const levels[] = {NULL, "u", "k", "uk"};

	return event ? levels[level & (EVENT_USER | EVENT_KERNEL)] : NULL;
}

/* --- Measurements */

static void row_begin(struct fields *f, const struct row *r)
{
	const char *name = r->event ? r->event : r->metric;
	const char *kind = r->statistics ? "statistics" : r->event ? "event" : "metric";

	if (f->form == FIELDS_JSON) {
		fields_u64(f, "schema", ROW_SCHEMA);
		fields_string(f, kind, name);
	} else {
		fields_string(f, "kind", kind);
		fields_string(f, "name", name);
	}
}

static void row_value(struct fields *f, const struct row *r)
{
	if (r->lost || r->statistics)
		fields_none(f, "value");
	else if (r->event)
		fields_u64(f, "value", r->value);
	else
		fields_number(f, "value", ROW_DIGITS, r->number);
}

static void row_summary(struct fields *f, const struct row *r)
{
	const struct {
		const char *name;
		double v;
	} numbers[] = {
		{"mean", r->summary.mean},
		{"deviation", r->summary.deviation},
		{"median", r->summary.median},
		{"min", r->summary.min},
		{"max", r->summary.max},
	};

	fields_id(f, "runs", r->statistics ? (int)r->runs : -1);
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (r->lost || !r->statistics)
			fields_none(f, numbers[i].name);
		else
			fields_number(f, numbers[i].name, ROW_DIGITS_EXACT, numbers[i].v);
	if (r->lost || !r->statistics || r->runs < SUMMARY_OUTLIERS)
		fields_none(f, "outliers");
	else
		fields_u64(f, "outliers", r->summary.outliers);
}

static void row_fields(struct fields *f, const struct row *r, unsigned columns)
{
	row_begin(f, r);
	row_value(f, r);
	fields_string(f, "unit", r->unit);
	fields_string(f, "level", row_level(r->event, r->level));
	if (r->statistics)
		fields_none(f, "active");
	else
		fields_share(f, "active", r->active);
	fields_id(f, "cpu", r->cpu);
	fields_id(f, "tid", r->tid);
	fields_string(f, "lost", r->lost);
	if (r->statistics)
		fields_none(f, "time_ns");
	else
		fields_u64(f, "time_ns", r->time_ns);
	fields_id(f, "run", r->statistics ? -1 : (int)r->run);
	if (columns & ROW_REGION)
		fields_string(f, "region", r->region);
	if (columns & ROW_TOPOLOGY) {
		fields_id(f, "socket", r->socket);
		fields_id(f, "core", r->core);
	}
	if (columns & ROW_STATISTICS)
		row_summary(f, r);
}

void row_json(FILE *out, const struct row *r)
{
	struct fields f = {.form = FIELDS_JSON};

	row_fields(&f, r,
		(r->region ? ROW_REGION : 0U) | (r->socket >= 0 ? ROW_TOPOLOGY : 0U) |
			(r->statistics ? ROW_STATISTICS : 0U));
	fields_print(&f, out);
}

void row_csv_header(FILE *out, char separator, unsigned columns)
{
	struct fields f = {.form = FIELDS_CSV_NAMES, .separator = separator};

	row_fields(&f, &(struct row){.socket = -1}, columns);
	fields_print(&f, out);
}

void row_csv(FILE *out, char separator, unsigned columns, const struct row *r)
{
	struct fields f = {.form = FIELDS_CSV, .separator = separator};

	row_fields(&f, r, columns);
	fields_print(&f, out);
}

/* --- Comparisons */

static void row_compared(struct fields *f, const struct row_comparison *c)
{
	static const char *const means[] = {"mean_a", "mean_b"};
	static const char *const deviations[] = {"deviation_a", "deviation_b"};
	const double none = 0.0 / 0.0;

	for (unsigned i = 0; i < 2; i++) {
		fields_number(f, means[i], ROW_DIGITS_EXACT, c->lost ? none : c->summaries[i].mean);
		fields_number(f, deviations[i], ROW_DIGITS_EXACT,
			c->lost ? none : c->summaries[i].deviation);
	}
	fields_number(f, "change_percent", ROW_DIGITS, c->lost ? none : c->change);
	fields_number(f, "p", ROW_DIGITS, c->lost ? none : c->p);
	if (c->lost)
		fields_none(f, "significant");
	else
		fields_bool(f, "significant", c->significant);
}

static void row_comparison_fields(struct fields *f, const struct row_comparison *c)
{
	if (f->form == FIELDS_JSON)
		fields_u64(f, "schema", ROW_SCHEMA);
	fields_string(f, "comparison", c->event ? c->event : c->metric);
	fields_string(f, "unit", c->unit);
	fields_string(f, "level", row_level(c->event, c->level));
	fields_string(f, "lost", c->lost);
	fields_u64(f, "runs_a", c->runs[0]);
	fields_u64(f, "runs_b", c->runs[1]);
	row_compared(f, c);
}

void row_json_comparison(FILE *out, const struct row_comparison *c)
{
	struct fields f = {.form = FIELDS_JSON};

	row_comparison_fields(&f, c);
	fields_print(&f, out);
}

void row_csv_comparison_header(FILE *out, char separator)
{
	struct fields f = {.form = FIELDS_CSV_NAMES, .separator = separator};

	row_comparison_fields(&f, &(struct row_comparison){.lost = NULL});
	fields_print(&f, out);
}

void row_csv_comparison(FILE *out, char separator, const struct row_comparison *c)
{
	struct fields f = {.form = FIELDS_CSV, .separator = separator};

	row_comparison_fields(&f, c);
	fields_print(&f, out);
}
