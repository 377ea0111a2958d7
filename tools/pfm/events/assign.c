// SPDX-License-Identifier: MIT
/*
 * A matching of events and counters, by augmenting paths. Extra registers do not depend on the
 * counter: two events with the same one must want the same value.
 *
 * By Hall's theorem, events that have no matching contain a set of them that together have fewer
 * counters than events. The smallest such set has one event more than counters.
 */
#include "tools/pfm/events/assign.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

enum { NROWS = PFM_PMU_REGS, NAMES_ROOM = 140 };

struct assign {
	const struct pfm_event *events;
	unsigned n;
	uint32_t set; /* the events to be considered */
	const struct pfm_pmu *pmu;
	uint64_t free;       /* the counters to be considered */
	int event_of[NROWS]; /* -1: no event */
};

static uint64_t assign_mask(const struct assign *a, unsigned i)
{
	return a->events[i].counters & a->free;
}

static bool assign_one(struct assign *a, unsigned i, uint64_t *tried);

/* Gives event @i a counter of @mask that has no event, or with @move has one that can move. */
static bool assign_from(struct assign *a, unsigned i, uint64_t mask, bool move, uint64_t *tried)
{
	for (int p = 0; p < NROWS; p++) {
		if (!(mask & ~*tried & 1ULL << p) || (a->event_of[p] >= 0 && !move))
			continue;
		*tried |= 1ULL << p;
		if (a->event_of[p] < 0 || assign_one(a, (unsigned)a->event_of[p], tried)) {
			a->event_of[p] = (int)i;
			return true;
		}
	}
	return false;
}

/* @tried: counters that are on the augmenting path, or lead nowhere. */
static bool assign_one(struct assign *a, unsigned i, uint64_t *tried)
{
	uint64_t mask = assign_mask(a, i);

	return assign_from(a, i, mask & ~a->pmu->general, false, tried) ||
	       assign_from(a, i, mask & a->pmu->general, false, tried) ||
	       assign_from(a, i, mask, true, tried);
}

static bool assign_all(struct assign *a)
{
	for (int p = 0; p < NROWS; p++)
		a->event_of[p] = -1;
	for (unsigned i = 0; i < a->n; i++) {
		uint64_t tried = 0;

		if (a->set >> i & 1 && !assign_one(a, i, &tried))
			return false;
	}
	return true;
}

static bool assign_share_extra(const struct pfm_event *a, const struct pfm_event *b)
{
	return a->extra_pmc < 0 || a->extra_pmc != b->extra_pmc || a->extra == b->extra;
}

/* Two events that want different values of one extra register; 0: there are none. */
static uint32_t assign_extra_conflict(const struct assign *a)
{
	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = i + 1; j < a->n; j++)
			if (!assign_share_extra(&a->events[i], &a->events[j]))
				return 1u << i | 1u << j;
	return 0;
}

/* The first @n events whose counters are all in @mask. */
static uint32_t assign_within(const struct assign *a, uint64_t mask, int n)
{
	uint32_t set = 0;

	for (unsigned i = 0; i < a->n && n; i++)
		if (!(assign_mask(a, i) & ~mask)) {
			set |= 1u << i;
			n--;
		}
	return n ? 0 : set;
}

static unsigned assign_size(uint64_t set)
{
	return (unsigned)__builtin_popcountll(set);
}

/*
 * Tries the counters of each subset of the events from @i on, joined with @mask. A subset whose
 * counters are as many as the events of @best has no smaller conflict.
 */
static void assign_search(const struct assign *a, unsigned i, uint64_t mask, uint32_t *best)
{
	uint32_t found;

	if (*best && assign_size(mask) + 1 >= assign_size(*best))
		return;
	found = assign_within(a, mask, (int)assign_size(mask) + 1);
	if (found) {
		*best = found;
		return;
	}
	for (; i < a->n; i++)
		if (assign_mask(a, i) & ~mask || !mask)
			assign_search(a, i + 1, mask | assign_mask(a, i), best);
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

/* @possible: all counters of the PMU would suffice for @set. */
static int assign_refuse(const struct assign *a, uint32_t set, bool possible, struct err *e)
{
	uint64_t all = assign_union(a, set);
	char names[NAMES_ROOM], counters[PFM_COUNTERS_ROOM];

	assign_names(a, set, names);
	pfm_pmu_counters(a->pmu, counters, all & a->free ? all & a->free : all);
	if (!(all & a->free))
		return err_set(e, possible ? EBUSY : ENOSPC,
			"%s cannot be counted: PMD %s can do it, and is in use, see `pfm who`",
			names, counters);
	if (possible)
		return err_set(e, EBUSY,
			"%s cannot be counted together: PMD %s is free for them, %u more in use, "
			"see `pfm who`",
			names, counters, assign_size(all & ~a->free));
	return err_set(
		e, ENOSPC, "%s cannot be counted together: they share PMD %s", names, counters);
}

int assign_events(const struct pfm_pmu *pmu, const struct pfm_event *events, unsigned n,
	uint64_t free, int *rows, uint32_t *conflict, struct err *e)
{
	struct assign a = {
		.events = events, .n = n, .set = UINT32_MAX, .pmu = pmu, .free = free & pmu->all};
	uint32_t extra;

	*conflict = 0;
	if (n > EVENT_MAX)
		return err_set(e, EINVAL, "more than %d events", EVENT_MAX);
	extra = assign_extra_conflict(&a);
	if (!extra && assign_all(&a)) {
		for (int p = 0; p < NROWS; p++)
			if (a.event_of[p] >= 0)
				rows[a.event_of[p]] = p;
		return 0;
	}
	*conflict = extra;
	assign_search(&a, 0, 0, conflict);
	if (*conflict == extra)
		return assign_refuse_extra(&a, extra, e);
	struct assign whole = a;
	whole.set = *conflict;
	whole.free = pmu->all;
	return assign_refuse(&a, *conflict, assign_all(&whole), e);
}
