// SPDX-License-Identifier: MIT
/* Two recordings side by side: functions by the change of their shares, and how much of it may be
 * chance. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pfm/samples/reports.h"

struct diff_row {
	double share[2];  /* percent, before and after */
	double square[2]; /* sum of the squares of the samples' shares */
	double change, noise;
	const char *object, *function;
};

struct diff {
	struct interned names; /* of the rows: the object, then the function */
	struct diff_row *rows;
	uint32_t n, room;
	double square[2]; /* sum of the squares of all samples' shares */
	size_t width;     /* of the objects' names */
};

/* The row of a location's function. NULL: no memory. */
static struct diff_row *diff_row(struct diff *d, const struct location *at)
{
	struct text TEXT_CLEANUP name = {NULL};
	struct diff_row *rows;
	char room[LOCATION_ROOM];
	uint32_t number;
	const char *p;

	text_printf(&name, "%s%c%s", location_object(at), '\0', location_name(at, room));
	if (!text_ok(&name) || interned_number(&d->names, name.p, name.n + 1, &number) < 0)
		return NULL;
	if (number < d->n)
		return &d->rows[number];
	rows = indexed_room(d->rows, d->n, &d->room, sizeof(*rows));
	if (!rows)
		return NULL;
	p = interned_get(&d->names, number).p;
	d->rows = rows;
	d->width = strlen(p) > d->width ? strlen(p) : d->width;
	rows[d->n] = (struct diff_row){.object = p, .function = p + strlen(p) + 1};
	return &rows[d->n++];
}

/* Adds the shares of one recording. @which: 0 before, 1 after. */
static int diff_add(struct diff *d, const struct recording *r, unsigned which)
{
	uint64_t *self = recording_self(r);
	double *square = calloc(r->nlocations + 1UL, sizeof(*square));
	double all = r->weight ? (double)r->weight : 1;
	int rc = self && square ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < r->nsamples; i++) {
		double share = (double)r->samples[i].weight / all;

		square[recording_first(r, &r->samples[i])->number] += share * share;
		d->square[which] += share * share;
	}
	for (uint32_t i = 0; rc == 0 && i < r->nlocations; i++) {
		struct diff_row *row = self[i] ? diff_row(d, r->by_number[i]) : NULL;

		rc = row || !self[i] ? 0 : -ENOMEM;
		if (!row)
			continue;
		row->share[which] += 100 * (double)self[i] / all;
		row->square[which] += square[i];
	}
	free(self);
	free(square);
	return rc;
}

/* The noise of a change: two standard deviations, as if each sample had hit by chance. The share of
 * a function is a ratio of two sums of weights. A recording with all samples or none in a function
 * may have had one more elsewhere or there. */
static double diff_noise(
	const struct diff *d, const struct diff_row *row, const struct recording *const r[2])
{
	double variance = 0;

	for (unsigned i = 0; i < 2; i++) {
		double one = 1 / (r[i]->nsamples ? (double)r[i]->nsamples : 1);
		double in = row->share[i] / 100, out = 1 - in;
		double own = out * out * row->square[i] + in * in * (d->square[i] - row->square[i]);

		variance += own > one * one ? own : one * one;
	}
	return 200 * sqrt(variance);
}

static int diff_compare(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double first = fabs(x->change), second = fabs(y->change);
	int order;

	if (first != second)
		return first > second ? -1 : 1;
	order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->object, y->object);
}

static void diff_write_notes(const struct recording *r, const char *which, FILE *out)
{
	struct slice command = recording_info(r, "command"), notes = {r->notes.p, r->notes.n};

	fprintf(out, "# %s: %.*s: %" PRIu64 " %s in %zu samples", which, SLICE_ARG(command),
		r->weight, report_unit(r), r->nsamples);
	if (!r->event->hz && !recording_is_ns(r))
		fprintf(out, ", an overflow each %" PRIu64, recording_period(r));
	fprintf(out, "\n");
	while (notes.n)
		fprintf(out, "# %s: %.*s\n", which, SLICE_ARG(slice_cut(&notes, '\n')));
}

static void diff_write_rows(
	const struct diff *d, const struct recording *const r[2], double at_least, FILE *out)
{
	int width = (int)(d->width > strlen("object") ? d->width : strlen("object"));

	fprintf(out, "# event: %s\n", recording_event(r[1]));
	diff_write_notes(r[0], "before", out);
	diff_write_notes(r[1], "after", out);
	fprintf(out,
		"# change: of the share, in points; noise: of 20 changes without a cause, 19 are "
		"smaller\n#\n#before    after   change    noise  %-*s  function\n",
		width, "object");
	for (uint32_t i = 0; i < d->n; i++) {
		const struct diff_row *row = &d->rows[i];

		if (fabs(row->change) < at_least)
			break;
		fprintf(out, "%6.2f%%  %6.2f%%  %+7.2f%c %7.2f   %-*s  %s\n", row->share[0],
			row->share[1], row->change, fabs(row->change) > row->noise ? '*' : ' ',
			row->noise, width, row->object, row->function);
	}
}

int diff_write(const struct recording *const r[2], double at_least, FILE *out, struct err *e)
{
	struct diff d = {.n = 0};
	int rc;

	interned_init(&d.names);
	rc = diff_add(&d, r[0], 0) < 0 || diff_add(&d, r[1], 1) < 0 ? -ENOMEM : 0;
	for (uint32_t i = 0; i < d.n; i++) {
		d.rows[i].change = d.rows[i].share[1] - d.rows[i].share[0];
		d.rows[i].noise = diff_noise(&d, &d.rows[i], r);
	}
	if (rc == 0 && d.n)
		qsort(d.rows, d.n, sizeof(*d.rows), diff_compare);
	if (rc == 0)
		diff_write_rows(&d, r, at_least, out);
	free(d.rows);
	interned_free(&d.names);
	return rc < 0 ? err_set(e, ENOMEM, "no memory for the profile") : 0;
}
