// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/series.h"

#include <errno.h>
#include <math.h>

unsigned series_count(const struct plan *p)
{
	return p->n + (p->group ? p->group->nmetrics : 0) + 1;
}

static void series_get_event(
	struct series *s, const struct runs *runs, const struct plan *p, unsigned i)
{
	s->event = plan_label(p, p->events[i].name, s->label);
	s->level = p->events[i].level;
	s->unit = count_unit(p->events[i].name);
	s->values = runs->values[i];
	s->lost = runs->lost[i];
	s->decimals = -1;
	if (s->unit) {
		s->scale = 1e-6;
		s->decimals = 2;
		s->shown_unit = "ms";
	}
}

static void series_get_metric(
	struct series *s, const struct runs *runs, const struct plan *p, unsigned i)
{
	const struct group_metric *m = &p->group->metrics[i];
	static const struct err none = {ENODATA, "a count that it needs has no value, or is zero"};

	s->metric = plan_label(p, m->name, s->label);
	s->unit = m->unit[0] ? m->unit : NULL;
	s->values = runs->metrics[i];
	for (unsigned run = 0; run < runs->n; run++)
		if (isnan(s->values[run]))
			s->lost = &none;
	s->decimals = s->n ? digits_decimals(s->values[0]) : 0;
}

void series_get(struct series *s, const struct runs *runs, const struct plan *p, unsigned i)
{
	unsigned last = series_count(p) - 1;

	*s = (struct series){.n = runs->n, .scale = 1, .shown_unit = ""};
	if (i < p->n) {
		series_get_event(s, runs, p, i);
	} else if (i < last) {
		series_get_metric(s, runs, p, i - p->n);
	} else {
		s->metric = "elapsed";
		s->unit = s->shown_unit = "s";
		s->values = runs->elapsed_s;
		s->decimals = 6;
	}
}

const char *series_number(char room[DIGITS_ROOM], const struct series *s, double v)
{
	double shown = v * s->scale;
	int decimals = s->decimals >= 0 ? s->decimals : shown == floor(shown) ? 0 : 2;

	return digits_decimal(room, shown, decimals);
}
