// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/statistics.h"

#include "tools/pfm/stat/row.h"
#include "tools/pfm/stat/series.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/summary.h"

static void statistics_text(const struct report *r, const struct series *s)
{
	char mean[DIGITS_ROOM], median[DIGITS_ROOM], min[DIGITS_ROOM], max[DIGITS_ROOM];
	const char *name = s->event ? s->event : s->metric;
	struct summary sum;

	if (s->lost) {
		fprintf(r->out, "%20s %-2s %s\n", s->event ? "<lost>" : "-", "", name);
		return;
	}
	summary_of(&sum, s->values, s->n);
	fprintf(r->out, "%20s %-2s %-24s %-2s  +-%6.2f %%\n",
		digits_decimal(mean, sum.mean * s->scale, s->decimals), s->shown_unit, name,
		report_level(s->level), sum.mean > 0 ? 100 * sum.deviation / sum.mean : 0);
	fprintf(r->out, "%23s median %s, %s to %s, %u outlier%s\n", "",
		digits_decimal(median, sum.median * s->scale, s->decimals),
		digits_decimal(min, sum.min * s->scale, s->decimals),
		digits_decimal(max, sum.max * s->scale, s->decimals), sum.outliers,
		sum.outliers == 1 ? "" : "s");
}

static void statistics_row(const struct report *r, const struct series *s)
{
	struct row row = {.event = s->event,
		.metric = s->metric,
		.unit = s->unit,
		.level = s->level,
		.cpu = -1,
		.tid = -1,
		.lost = s->lost ? s->lost->text : NULL,
		.statistics = true,
		.runs = s->n};

	if (!s->lost)
		summary_of(&row.summary, s->values, s->n);
	report_row(r, &row);
}

void statistics_report(const struct report *r, const struct runs *runs)
{
	const struct err *lost[EVENT_MAX];
	struct series s;

	if (r->format == REPORT_TEXT)
		fprintf(r->out, "%23s mean of %u run%s, and standard deviation\n", "", runs->n,
			runs->n == 1 ? "" : "s");
	for (unsigned i = 0; i < series_count(r->plan); i++) {
		series_get(&s, runs, r->plan, i);
		if (r->format == REPORT_TEXT)
			statistics_text(r, &s);
		else
			statistics_row(r, &s);
	}
	if (r->format != REPORT_TEXT)
		return;
	for (unsigned i = 0; i < r->plan->n; i++)
		lost[i] = &runs->lost[i];
	report_reasons(r, lost, r->plan->n);
	fputc('\n', r->out);
}
