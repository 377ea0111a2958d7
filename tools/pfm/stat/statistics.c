// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/statistics.h"

#include <math.h>

#include "tools/pfm/stat/row.h"
#include "tools/pfm/stat/series.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/summary.h"

enum { STATISTICS_COLUMNS = 80, STATISTICS_NAME = 24, STATISTICS_SCOPE = 12, STATISTICS_LEAST = 6 };

/* The second line is indented to the name in the first line, if it fits there. */
static int statistics_indent(int length, const struct scope *scope)
{
	int name = STATISTICS_NAME + (scope ? STATISTICS_SCOPE : 0);
	int most = STATISTICS_COLUMNS - length;

	if (most < STATISTICS_LEAST)
		return STATISTICS_LEAST;
	return name < most ? name : most;
}

/* The deviation in percent of the mean; "-" if the mean is 0. */
static const char *statistics_deviation(char room[DIGITS_ROOM], const struct summary *s)
{
	double percent = s->deviation > 0 ? 100 * s->deviation / fabs(s->mean) : 0;

	return digits_decimal(room, percent, 2);
}

static void statistics_text(
	const struct report *r, const struct scope *scope, const struct series *s)
{
	char mean[DIGITS_ROOM], median[DIGITS_ROOM], min[DIGITS_ROOM], max[DIGITS_ROOM];
	char deviation[DIGITS_ROOM];
	const char *name = s->event ? s->event : s->metric;
	char line[3 * DIGITS_ROOM + 48];
	struct summary sum;
	int n;

	if (scope)
		report_scope(r, scope);
	if (s->lost) {
		fprintf(r->out, "%20s %-2s %s\n", s->event ? "<lost>" : "-", "", name);
		return;
	}
	summary_of(&sum, s->values, s->n);
	fprintf(r->out, "%20s %-2s %-24s %-2s  +-%6s %%\n", series_number(mean, s, sum.mean),
		s->shown_unit, name, report_level(s->level), statistics_deviation(deviation, &sum));
	n = snprintf(line, sizeof(line), "median %s, %s to %s",
		series_number(median, s, sum.median), series_number(min, s, sum.min),
		series_number(max, s, sum.max));
	if (s->n >= SUMMARY_OUTLIERS)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", %u outlier%s", sum.outliers,
			sum.outliers == 1 ? "" : "s");
	fprintf(r->out, "%*s%s\n", statistics_indent(n, scope), "", line);
}

static void statistics_row(
	const struct report *r, const struct scope *scope, const struct series *s)
{
	struct row row = {.event = s->event,
		.metric = s->metric,
		.unit = s->unit,
		.level = s->level,
		.cpu = -1,
		.tid = -1,
		.core = -1,
		.socket = -1,
		.lost = s->lost ? s->lost->text : NULL,
		.statistics = true,
		.runs = s->n};

	if (scope)
		report_row_scope(&row, scope);
	if (!s->lost)
		summary_of(&row.summary, s->values, s->n);
	report_row(r, &row);
}

static void statistics_series(
	const struct report *r, const struct scope *scope, const struct runs *runs, unsigned i)
{
	struct series s;

	series_get(&s, runs, r->plan, i);
	if (r->format == REPORT_TEXT)
		statistics_text(r, scope, &s);
	else
		statistics_row(r, scope, &s);
}

void statistics_begin(const struct report *r, unsigned runs)
{
	if (r->format == REPORT_TEXT)
		fprintf(r->out, "%23s mean of %u run%s, and standard deviation\n", "", runs,
			runs == 1 ? "" : "s");
}

void statistics_report(const struct report *r, const struct scope *scope, const struct runs *runs)
{
	const struct err *lost[EVENT_MAX];

	for (unsigned i = 0; i + 1 < series_count(r->plan); i++)
		statistics_series(r, scope, runs, i);
	for (unsigned i = 0; i < r->plan->n; i++)
		lost[i] = runs->lost[i];
	if (r->format == REPORT_TEXT)
		report_reasons(r, lost, r->plan->n);
}

void statistics_end(const struct report *r, const struct runs *runs)
{
	statistics_series(r, NULL, runs, series_count(r->plan) - 1);
	if (r->format == REPORT_TEXT)
		fputc('\n', r->out);
}
