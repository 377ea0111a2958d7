// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/comparison.h"

#include <math.h>

#include "base/text.h"
#include "tools/pfm/stat/row.h"
#include "tools/pfm/stat/series.h"
#include "tools/pfm/text/digits.h"
#include "tools/pfm/text/mann_whitney.h"
#include "tools/pfm/text/summary.h"

/* A difference is significant if the probability that chance causes it is below this. */
static const double comparison_alpha = 0.05;
/* The smallest probability that text shows as a number. */
static const double comparison_least_p = 0.0001;

static struct row_comparison comparison_of(struct series s[2])
{
	struct row_comparison c = {
		.event = s[0].event, .metric = s[0].metric, .unit = s[0].unit, .level = s[0].level};
	const struct err *lost = s[0].lost ? s[0].lost : s[1].lost;

	c.runs[0] = s[0].n;
	c.runs[1] = s[1].n;
	c.lost = lost ? lost->text : NULL;
	if (lost)
		return c;
	for (unsigned i = 0; i < 2; i++)
		summary_of(&c.summaries[i], s[i].values, s[i].n);
	c.p = mann_whitney_p(s[0].values, s[0].n, s[1].values, s[1].n);
	c.significant = c.p < comparison_alpha;
	c.change = 100 * (c.summaries[1].mean - c.summaries[0].mean) / fabs(c.summaries[0].mean);
	return c;
}

/* Prints a significant change. Its probability is never shown as 0, however small. */
static void comparison_change(const struct report *r, const struct row_comparison *c)
{
	char change[DIGITS_ROOM];

	if (isfinite(c->change))
		fprintf(r->out, " %s%s %%", c->change > 0 ? "+" : "",
			digits_decimal(change, c->change, 2));
	else
		fputs(" from 0", r->out);
	if (c->p < comparison_least_p)
		fputs("  p<0.0001\n", r->out);
	else
		fprintf(r->out, "  p=%.4f\n", c->p);
}

static void comparison_text(
	const struct report *r, const struct row_comparison *c, const struct series *s)
{
	char a[DIGITS_ROOM], b[DIGITS_ROOM];

	fprintf(r->out, "%-20s %-2s ", c->event ? c->event : c->metric,
		*s->shown_unit ? s->shown_unit : report_level(c->level));
	if (c->lost) {
		fprintf(r->out, "%17s\n", c->event ? "<lost>" : "-");
		return;
	}
	fprintf(r->out, "%17s %17s", series_number(a, s, c->summaries[0].mean),
		series_number(b, s, c->summaries[1].mean));
	if (c->significant)
		comparison_change(r, c);
	else
		fputs(" no difference shown\n", r->out);
}

void comparison_begin(struct report *r, char (*labels)[COMPARISON_LABEL], const unsigned runs[2],
	const struct tree *t)
{
	if (r->format == REPORT_CSV)
		row_csv_comparison_header(r->out, r->separator);
	if (r->format != REPORT_TEXT)
		return;
	report_header(r, "comparison", t);
	for (unsigned i = 0; i < 2; i++)
		fprintf(r->out, "%c: %u run%s of %s\n", "AB"[i], runs[i], runs[i] == 1 ? "" : "s",
			labels[i]);
	fprintf(r->out, "\n%-23s %17s %17s %s\n", "", "mean of A", "mean of B", "change");
}

static void comparison_series(
	const struct report *r, const struct runs *a, const struct runs *b, unsigned i)
{
	struct row_comparison c;
	struct series s[2];

	series_get(&s[0], a, r->plan, i);
	series_get(&s[1], b, r->plan, i);
	c = comparison_of(s);
	if (r->format == REPORT_TEXT)
		comparison_text(r, &c, &s[0]);
	else if (r->format == REPORT_JSON)
		row_json_comparison(r->out, &c);
	else
		row_csv_comparison(r->out, r->separator, &c);
}

void comparison_report(const struct report *r, const struct runs *a, const struct runs *b)
{
	const struct err *lost[2 * EVENT_MAX];
	unsigned n = 0;

	for (unsigned i = 0; i + 1 < series_count(r->plan); i++)
		comparison_series(r, a, b, i);
	if (r->format != REPORT_TEXT)
		return;
	for (unsigned i = 0; i < r->plan->n; i++) {
		lost[n++] = a->lost[i];
		lost[n++] = b->lost[i];
	}
	report_reasons(r, lost, n);
}

void comparison_end(const struct report *r, const struct runs *a, const struct runs *b)
{
	comparison_series(r, a, b, series_count(r->plan) - 1);
	if (r->format == REPORT_TEXT)
		fputc('\n', r->out);
}
