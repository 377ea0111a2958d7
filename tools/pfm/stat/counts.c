// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/counts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/nsec.h"

/* Scales a value that was counted in @active_ns of @all_ns. */
static void count_scale(struct count *c, uint64_t value, uint64_t active_ns, uint64_t all_ns)
{
	static const struct err never = {
		ENODATA, "its event set was never active: count longer, or use --rerun"};

	c->active = all_ns ? (double)active_ns / (double)all_ns : 0;
	if (active_ns == 0 && !c->lost)
		c->lost = &never;
	if (c->lost)
		return;
	c->value = active_ns == all_ns ? value : (uint64_t)llround((double)value / c->active);
}

/* The time on which rates are based: the average over places of the time counted. 0: not known. */
static double counts_time(const struct reading *r, uint64_t elapsed_ns)
{
	if (r->torn)
		return 0;
	return r->places ? (double)r->counted_ns / r->places : (double)elapsed_ns;
}

void counts_of(struct counts *c, const struct plan *p, const struct reading *r, uint64_t elapsed_ns)
{
	bool alternate = p->only < 0 && p->nsets > 1;
	uint64_t all_ns = 0;
	int set;

	for (unsigned s = 0; s < p->nsets; s++)
		all_ns += r->active_ns[s];
	memset(c, 0, sizeof(*c));
	c->counted_ns = r->counted_ns;
	c->gaps = r->gaps;
	c->uncertain_ns = r->uncertain_ns;
	for (unsigned i = 0; i < p->n; i++) {
		struct count *count = &c->all[i];

		count->counted = plan_counts(p, i, &set);
		count->active = 1;
		count->value = r->values[i];
		count->counted_ns = counts_time(r, elapsed_ns);
		count->lost = r->lost[i];
		if (alternate)
			count_scale(count, r->values[i], r->active_ns[set], all_ns);
	}
}

const char *count_unit(const char *event)
{
	return strcmp(event, "task-clock") == 0 || strcmp(event, "cpu-clock") == 0 ? "ns" : NULL;
}

/* --- Ratios */

/* The index of event @name at the level of events[like]; -1: it is not counted, or is lost. */
static int count_find(const struct counts *c, const struct plan *p, const char *name, unsigned like)
{
	size_t n = strlen(name);

	for (unsigned i = 0; i < p->n; i++)
		if (strncmp(p->events[i].name, name, n) == 0 &&
			(p->events[i].name[n] == '\0' || p->events[i].name[n] == ':') &&
			p->events[i].level == p->events[like].level && c->all[i].counted &&
			!c->all[i].lost)
			return (int)i;
	return -1;
}

static const struct count_ratio {
	const char *event, *base;
	double scale;
	struct metric metric;
} count_ratios[] = {
	{"instructions", "cycles", 1, {"ipc", NULL, "per cycle", 2, 0}},
	{"cycles", "task-clock", 1, {"frequency", "GHz", "GHz", 3, 0}},
	{"branch-misses", "branches", 100, {"branch-miss-rate", "%", "% of branches", 2, 0}},
	{"cache-misses", "cache-references", 100,
		{"cache-miss-rate", "%", "% of references", 2, 0}},
};

static bool count_ratio_of(
	struct metric *m, const struct counts *c, const struct plan *p, unsigned event)
{
	for (unsigned i = 0; i < sizeof(count_ratios) / sizeof(count_ratios[0]); i++) {
		const struct count_ratio *r = &count_ratios[i];
		int base = count_find(c, p, r->base, event);

		if (count_find(c, p, r->event, event) != (int)event || base < 0 ||
			c->all[base].value == 0)
			continue;
		*m = r->metric;
		m->value = r->scale * (double)c->all[event].value / (double)c->all[base].value;
		return true;
	}
	return false;
}

bool metric_of(struct metric *m, const struct counts *c, const struct plan *p, unsigned event)
{
	const struct count *count = &c->all[event];

	if (count->lost || !count->counted || p->group)
		return false;
	if (count_ratio_of(m, c, p, event))
		return true;
	if (!(count->counted_ns > 0))
		return false;
	if (count_unit(p->events[event].name))
		*m = (struct metric){"cpus-utilized", NULL, "CPUs utilized", 3,
			(double)count->value / count->counted_ns};
	else
		*m = (struct metric){NULL, NULL, "/s", 0,
			(double)count->value * (double)NSEC_PER_SEC / count->counted_ns};
	return true;
}

/* The time in which the events of formula @f were counted; without any, all events of the group.
 * Different runs may have counted them: it is the average then. NAN: not known. */
static double counts_formula_ns(
	const struct counts *c, const struct formula *f, unsigned nevents)
{
	bool used[EVENT_MAX] = {false}, any = false;
	double ns = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (f->steps[i].kind == FORMULA_VALUE)
			used[f->steps[i].index] = any = true;
	for (unsigned event = 0; event < nevents; event++) {
		if (any && !used[event])
			continue;
		ns += c->all[event].counted_ns > 0 ? c->all[event].counted_ns : NAN;
		n++;
	}
	return ns / n;
}

double counts_group_metric(const struct counts *c, const struct plan *p, unsigned i)
{
	const struct formula *f = &p->group->metrics[i].formula;
	double values[EVENT_MAX];

	for (unsigned event = 0; event < p->group->nevents; event++) {
		const struct count *count = &c->all[event];
		bool known = count->counted && !count->lost;

		values[event] = known ? (double)count->value : NAN;
	}
	return formula_eval(f, values,
		counts_formula_ns(c, f, p->group->nevents) / (double)NSEC_PER_SEC);
}
