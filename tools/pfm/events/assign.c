// SPDX-License-Identifier: MIT
/*
 * An event needs a selector and a counter: an ESCR, and a counter whose CCCR chooses that; or where
 * counters have event selects of their own, a selector that stands for the event itself. This is a
 * flow from events through selectors to counters, each of which takes one event, found by
 * augmenting paths. Extra registers do not depend on the counter: two events with the same one must
 * want the same value.
 *
 * By Menger's theorem, events that have no such flow contain a set of them that is cut off from the
 * counters by fewer ESCRs and counters than events. The smallest such set has one event more than
 * its cut.
 */
#include "tools/pfm/events/assign.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	NROWS = PFM_PMU_REGS,
	NESCRS = 64, /* numbers of the PMCs that are ESCRs */
	NSELECTORS = NESCRS + EVENT_MAX,
	NAMES_ROOM = 140,
	SHARED_ROOM = 2 * PFM_COUNTERS_ROOM + 16
};

struct assign {
	const struct pfm_pmu *pmu;
	const struct pfm_event *events;
	unsigned n;
	uint32_t set;                  /* the events to assign */
	uint64_t free;                 /* the counters to use */
	uint64_t counters[NSELECTORS]; /* the part of @free that each selector can use */
	int event_of[NSELECTORS];      /* -1: no event */
	int selector_of[NROWS];        /* -1: no selector */
};

/* A cut: ESCRs and counters, as bits. */
struct assign_cut {
	uint64_t escrs, counters;
};

/* The events in conflict, and the ESCRs and counters that they share. */
struct assign_conflict {
	uint32_t set;
	struct assign_cut cut;
};

/* Selectors and counters already visited: they are on the augmenting path, or lead nowhere. */
struct assign_tried {
	bool selectors[NSELECTORS];
	uint64_t counters;
};

static struct assign assign_begin(const struct pfm_pmu *pmu, const struct pfm_event *events,
	unsigned n, uint32_t set, uint64_t free)
{
	struct assign a = {.pmu = pmu, .events = events, .n = n, .set = set, .free = free};

	for (unsigned s = 0; s < NESCRS; s++)
		if (pmu->escrs >> s & 1)
			a.counters[s] = pfm_pmu_escr_counters(pmu, s) & free;
	for (unsigned i = 0; i < n; i++)
		a.counters[NESCRS + i] = events[i].counters & free;
	return a;
}

/* The next selector after @s that event @i can use; @s is -1 at first. NSELECTORS: none. */
static int assign_next(const struct assign *a, unsigned i, int s)
{
	uint64_t escrs = a->events[i].escrs;

	if (!escrs)
		return s < NESCRS ? NESCRS + (int)i : NSELECTORS;
	for (s++; s < NESCRS; s++)
		if (escrs >> s & 1)
			return s;
	return NSELECTORS;
}

static bool assign_event(struct assign *a, unsigned i, struct assign_tried *t);
static bool assign_counter(struct assign *a, int s, struct assign_tried *t);

/* Makes selector @s leave its counter: either it gets another counter, or its event another
 * selector. */
static bool assign_move(struct assign *a, int s, struct assign_tried *t)
{
	if (assign_counter(a, s, t))
		return true;
	if (t->selectors[s])
		return false;
	t->selectors[s] = true;
	if (!assign_event(a, (unsigned)a->event_of[s], t))
		return false;
	a->event_of[s] = -1;
	return true;
}

/* Gives selector @s an unused counter of @mask, or with @move one whose selector can move. */
static bool assign_from(struct assign *a, int s, uint64_t mask, bool move, struct assign_tried *t)
{
	for (int p = 0; p < NROWS; p++) {
		if (!(mask & ~t->counters & 1ULL << p) || (a->selector_of[p] >= 0 && !move))
			continue;
		t->counters |= 1ULL << p;
		if (a->selector_of[p] < 0 || assign_move(a, a->selector_of[p], t)) {
			a->selector_of[p] = s;
			return true;
		}
	}
	return false;
}

static bool assign_counter(struct assign *a, int s, struct assign_tried *t)
{
	uint64_t mask = a->counters[s];

	return assign_from(a, s, mask & ~a->pmu->general, false, t) ||
	       assign_from(a, s, mask & a->pmu->general, false, t) ||
	       assign_from(a, s, mask, true, t);
}

/* Gives event @i a selector that can get a counter, or that another event can leave. */
static bool assign_event(struct assign *a, unsigned i, struct assign_tried *t)
{
	for (int s = assign_next(a, i, -1); s < NSELECTORS; s = assign_next(a, i, s)) {
		if (t->selectors[s])
			continue;
		t->selectors[s] = true;
		if (a->event_of[s] < 0 ? assign_counter(a, s, t)
				       : assign_event(a, (unsigned)a->event_of[s], t)) {
			a->event_of[s] = (int)i;
			return true;
		}
	}
	return false;
}

static bool assign_all(struct assign *a)
{
	memset(a->event_of, -1, sizeof(a->event_of));
	memset(a->selector_of, -1, sizeof(a->selector_of));
	for (unsigned i = 0; i < a->n; i++) {
		struct assign_tried tried = {.counters = 0};

		if (a->set >> i & 1 && !assign_event(a, i, &tried))
			return false;
	}
	return true;
}

static bool assign_share_extra(const struct pfm_event *a, const struct pfm_event *b)
{
	return a->extra_pmc < 0 || a->extra_pmc != b->extra_pmc || a->extra == b->extra;
}

/* Finds two events that want different values of one extra register; 0: none. */
static uint32_t assign_extra_conflict(const struct assign *a)
{
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = i + 1; j < a->n; j++)
			if (!assign_share_extra(&a->events[i], &a->events[j]))
				return 1u << i | 1u << j;
	return 0;
}

static unsigned assign_size(uint64_t set)
{
	return (unsigned)__builtin_popcountll(set);
}

static unsigned assign_cut_size(const struct assign_cut *cut)
{
	return assign_size(cut->escrs) + assign_size(cut->counters);
}

/* The first selector through which event @i reaches a counter outside @cut; NSELECTORS: none. */
static int assign_leak(const struct assign *a, const struct assign_cut *cut, unsigned i)
{
	int s = assign_next(a, i, -1);

	while (s < NSELECTORS &&
		(!(a->counters[s] & ~cut->counters) || (s < NESCRS && cut->escrs >> s & 1)))
		s = assign_next(a, i, s);
	return s;
}

/* The first @n events that @cut separates from the counters; 0: there are fewer. */
static uint32_t assign_within(const struct assign *a, const struct assign_cut *cut, unsigned n)
{
	uint32_t set = 0;

	for (unsigned i = 0; i < a->n && n; i++)
		if (assign_leak(a, cut, i) == NSELECTORS) {
			set |= 1u << i;
			n--;
		}
	return n ? 0 : set;
}

static bool assign_search(const struct assign *a, unsigned i, const struct assign_cut *cut,
	unsigned size, struct assign_conflict *found);

/* Extends @cut in each way that separates event @i, and continues the search. */
static bool assign_cut_off(const struct assign *a, unsigned i, const struct assign_cut *cut,
	unsigned size, struct assign_conflict *found)
{
	int s = assign_leak(a, cut, i);
	struct assign_cut next = *cut;

	if (s == NSELECTORS)
		return assign_search(a, i + 1, cut, size, found);
	if (s < NESCRS) {
		next.escrs |= 1ULL << s;
		if (assign_cut_off(a, i, &next, size, found))
			return true;
	}
	next = *cut;
	next.counters |= a->counters[s];
	return assign_cut_off(a, i, &next, size, found);
}

/* Finds a cut of @size that contains @cut and cuts of some events from @i on, and that separates
 * more events than its size. There is no smaller one. */
static bool assign_search(const struct assign *a, unsigned i, const struct assign_cut *cut,
	unsigned size, struct assign_conflict *found)
{
	unsigned n = assign_cut_size(cut);

	if (n > size)
		return false;
	if (n == size) {
		*found = (struct assign_conflict){assign_within(a, cut, size + 1), *cut};
		return found->set;
	}
	for (; i < a->n; i++)
		if (assign_leak(a, cut, i) < NSELECTORS && assign_cut_off(a, i, cut, size, found))
			return true;
	return false;
}

/*
 * The smallest conflict. @extra is a conflict of two events or 0; only a single event is smaller.
 */
static struct assign_conflict assign_find_conflict(const struct assign *a, uint32_t extra)
{
	const struct assign_cut nothing = {0};
	struct assign_conflict found = {.set = 0};

	for (unsigned size = 0; size < (extra ? 1 : a->n); size++)
		if (assign_search(a, 0, &nothing, size, &found))
			return found;
	return (struct assign_conflict){.set = extra};
}

static const char *assign_names(const struct assign *a, uint32_t set, char room[NAMES_ROOM])
{
	unsigned left = assign_size(set);
	size_t n = 0;

	room[0] = '\0';
	for (unsigned i = 0; i < a->n && left; i++) {
		if (!(set >> i & 1))
			continue;
		if (n > NAMES_ROOM / 2 && left > 1) {
			snprintf(room + n, NAMES_ROOM - n, " and %u more", left);
			break;
		}
		n += (size_t)snprintf(room + n, NAMES_ROOM - n, "%s%.40s",
			!n          ? ""
			: left == 1 ? " and "
				    : ", ",
			a->events[i].name);
		left--;
	}
	return room;
}

static uint64_t assign_union(const struct assign *a, uint32_t set)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < a->n; i++)
		if (set >> i & 1)
			all |= a->events[i].counters;
	return all;
}

static int assign_refuse_extra(const struct assign *a, uint32_t set, struct err *e)
{
	char names[NAMES_ROOM];

	return err_set(e, ENOSPC,
		"%s cannot be counted together: they need different values of one extra register",
		assign_names(a, set, names));
}

/* Writes "PMD 6-8", "PMC 20,51", or both. */
static const char *assign_shared(
	const struct pfm_pmu *pmu, const struct assign_cut *cut, char room[SHARED_ROOM])
{
	char escrs[PFM_COUNTERS_ROOM], counters[PFM_COUNTERS_ROOM];

	pfm_pmu_escrs(escrs, cut->escrs);
	pfm_pmu_counters(pmu, counters, cut->counters);
	snprintf(room, SHARED_ROOM, "%s%s%s%s%s", *escrs ? "PMC " : "", escrs,
		*escrs && *counters ? " and " : "", *counters ? "PMD " : "", counters);
	return room;
}

/* Refuses a conflict. @possible: all counters of the PMU would suffice for the events. */
static int assign_refuse(
	const struct assign *a, const struct assign_conflict *c, bool possible, struct err *e)
{
	uint64_t all = assign_union(a, c->set);
	char names[NAMES_ROOM], counters[PFM_COUNTERS_ROOM], shared[SHARED_ROOM];

	assign_names(a, c->set, names);
	pfm_pmu_counters(a->pmu, counters, all & a->free ? all & a->free : all);
	if (!(all & a->free))
		return err_set(e, possible ? EBUSY : ENOSPC,
			"%s cannot be counted: PMD %s can count it, but is in use: see `pfm who`",
			names, counters);
	if (possible)
		return err_set(e, EBUSY,
			"%s cannot be counted together: PMD %s is free for them, %u more in use: "
			"see `pfm who`",
			names, counters, assign_size(all & ~a->free));
	return err_set(e, ENOSPC, "%s cannot be counted together: they share %s", names,
		assign_shared(a->pmu, &c->cut, shared));
}

static void assign_report(const struct assign *a, struct event_place *places)
{
	for (int p = 0; p < NROWS; p++) {
		int s = a->selector_of[p];

		if (s >= 0)
			places[a->event_of[s]] =
				(struct event_place){.row = p, .escr = s < NESCRS ? s : -1};
	}
}

int assign_events(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	uint64_t free, struct event_place *places, struct err *e)
{
	struct assign_conflict found;
	struct assign a, whole;
	uint32_t extra;

	if (n > EVENT_MAX)
		return err_set(e, EINVAL, "more than %d events", EVENT_MAX);
	a = assign_begin(pmu, events, n, UINT32_MAX, free & pmu->all);
	extra = assign_extra_conflict(&a);
	if (!extra && assign_all(&a)) {
		assign_report(&a, places);
		return 0;
	}
	found = assign_find_conflict(&a, extra);
	if (found.set == extra)
		return assign_refuse_extra(&a, extra, e);
	whole = assign_begin(pmu, events, n, found.set, pmu->all);
	return assign_refuse(&a, &found, assign_all(&whole), e);
}

uint32_t assign_conflict(
	const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n, uint64_t free)
{
	struct assign a = assign_begin(pmu, events, n, UINT32_MAX, free & pmu->all);
	uint32_t extra = assign_extra_conflict(&a);

	return !extra && assign_all(&a) ? 0 : assign_find_conflict(&a, extra).set;
}
