// SPDX-License-Identifier: MIT
/* Event sets in memory: making, activating and leaving them, and resetting their PMDs. */
#include "daemon/core/event_set.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/core/image.h"
#include "daemon/core/random.h"

size_t evtset_size(const struct pmu *pmu)
{
	const struct evtset *set;

	return sizeof(*set) + pmu->npmds * sizeof(set->pmd[0]) + pmu->npmcs * sizeof(set->pmc[0]);
}

struct evtset *evtset_new(uint16_t id, const struct pmu *pmu)
{
	struct evtset *set = malloc(evtset_size(pmu));

	if (!set)
		return NULL;
	set->id = id;
	set->live = NULL;
	evtset_renew(set, pmu);
	return set;
}

void evtset_renew(struct evtset *set, const struct pmu *pmu)
{
	*set = (struct evtset){
		.id = set->id,
		.npmds = pmu->npmds,
		.pmc = (uint64_t *)&set->pmd[pmu->npmds],
		.live = set->live,
	};
	memset(set->pmd, 0, pmu->npmds * sizeof(set->pmd[0]));
	for (unsigned p = 0; p < pmu->npmcs; p++)
		set->pmc[p] = pmu->pmcs[p].def;
}

void evtset_activate(struct evtset *set)
{
	set->runs++;
	set->remaining_ns = set->timeout_ns;
	set->due = 0;
	for (unsigned d = 0; d < set->npmds; d++)
		set->pmd[d].n.thresh_left = set->pmd[d].thresh;
}

void evtset_leave(struct evtset *set)
{
	if (set->due)
		set->triggers = set->due;
	set->due = 0;
}

void pmd_reset(struct pmd_state *s, enum reset kind)
{
	uint64_t value = kind == RESET_LONG ? s->long_reset : s->short_reset;

	if (s->flags & PMD_RANDOM)
		value += random_draw(&s->n.random, s->mask);
	s->n.value = s->n.last_reset = value;
}

void evtset_reset_pending(struct evtset *set, enum reset kind)
{
	pmu_rows rows = set->pending;

	for_each_row (d, set->pending)
		rows |= set->pmd[d].reset;
	for_each_row (d, rows)
		pmd_reset(&set->pmd[d], kind);
	set->pending = 0;
}

void evtset_save(struct evtset *set, struct evtset *from, struct evtset_undo *undo)
{
	undo->set = set;
	undo->from = from;
	undo->due = from->due;
	undo->pending = set->pending;
	undo->remaining_ns = set->remaining_ns;
	undo->runs = set->runs;
	for (unsigned d = 0; d < set->npmds; d++)
		undo->n[d] = set->pmd[d].n;
}

void evtset_restore(const struct evtset_undo *undo)
{
	struct evtset *set = undo->set;

	undo->from->due = undo->due;
	set->pending = undo->pending;
	set->remaining_ns = undo->remaining_ns;
	set->runs = undo->runs;
	for (unsigned d = 0; d < set->npmds; d++)
		set->pmd[d].n = undo->n[d];
}
