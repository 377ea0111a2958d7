// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/row.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "tools/pfm/events/event.h"
#include "tools/pfm/text/json.h"

static const char *row_level(const struct row *r)
{
	static const char *const levels[] = {NULL, "u", "k", "uk"};

	return r->event ? levels[r->level & (EVENT_USER | EVENT_KERNEL)] : NULL;
}

/* A number that is none, as of a division by zero, is no value. */
static bool row_has_value(const struct row *r)
{
	return !r->lost && (r->event || isfinite(r->number));
}

static void row_value(struct text *t, const struct row *r, const char *none)
{
	if (!row_has_value(r))
		text_printf(t, "%s", none);
	else if (r->event)
		text_printf(t, "%" PRIu64, r->value);
	else
		text_printf(t, "%.9g", r->number);
}

static void row_json_place(struct text *t, const char *name, int id)
{
	if (id < 0)
		text_printf(t, ",\"%s\":null", name);
	else
		text_printf(t, ",\"%s\":%d", name, id);
}

static void row_json_string(struct text *t, const char *name, const char *s)
{
	text_printf(t, ",\"%s\":", name);
	json_string(t, s);
}

static void row_print(FILE *out, const struct text *t)
{
	if (text_ok(t))
		fputs(t->p, out);
}

void row_json(FILE *out, const struct row *r)
{
	TEXT_CLEANUP struct text t = {0};

	text_printf(&t, "{\"schema\":%d", ROW_SCHEMA);
	row_json_string(&t, r->event ? "event" : "metric", r->event ? r->event : r->metric);
	text_printf(&t, ",\"value\":");
	row_value(&t, r, "null");
	row_json_string(&t, "unit", r->unit);
	row_json_string(&t, "level", row_level(r));
	text_printf(&t, ",\"active\":%.4f", r->active);
	row_json_place(&t, "cpu", r->cpu);
	row_json_place(&t, "tid", r->tid);
	row_json_string(&t, "lost", r->lost);
	text_printf(&t, ",\"time_ns\":%" PRIu64 ",\"run\":%u", r->time_ns, r->run);
	if (r->region)
		row_json_string(&t, "region", r->region);
	text_printf(&t, "}\n");
	row_print(out, &t);
}

/* In quotes if it has to be. */
static void row_csv_string(struct text *t, char separator, const char *s)
{
	if (!s)
		return;
	if (!strchr(s, separator) && !strpbrk(s, "\"\r\n")) {
		text_printf(t, "%s", s);
		return;
	}
	text_printf(t, "\"");
	for (; *s; s++)
		text_printf(t, *s == '"' ? "\"\"" : "%c", *s);
	text_printf(t, "\"");
}

static void row_csv_place(struct text *t, char separator, int id)
{
	text_printf(t, "%c", separator);
	if (id >= 0)
		text_printf(t, "%d", id);
}

void row_csv_header(FILE *out, char separator, bool regions)
{
	static const char *const names[] = {"kind", "name", "value", "unit", "level", "active",
		"cpu", "tid", "lost", "time_ns", "run"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fprintf(out, "%.*s%s", i ? 1 : 0, &separator, names[i]);
	if (regions)
		fprintf(out, "%cregion", separator);
	fputc('\n', out);
}

void row_csv(FILE *out, char separator, const struct row *r)
{
	TEXT_CLEANUP struct text t = {0};

	text_printf(&t, "%s%c", r->event ? "event" : "metric", separator);
	row_csv_string(&t, separator, r->event ? r->event : r->metric);
	text_printf(&t, "%c", separator);
	row_value(&t, r, "");
	text_printf(&t, "%c%s%c%s%c%.4f", separator, r->unit ? r->unit : "", separator,
		row_level(r) ? row_level(r) : "", separator, r->active);
	row_csv_place(&t, separator, r->cpu);
	row_csv_place(&t, separator, r->tid);
	text_printf(&t, "%c", separator);
	row_csv_string(&t, separator, r->lost);
	text_printf(&t, "%c%" PRIu64 "%c%u", separator, r->time_ns, separator, r->run);
	if (r->region)
		text_printf(&t, "%c", separator);
	row_csv_string(&t, separator, r->region);
	text_printf(&t, "\n");
	row_print(out, &t);
}
