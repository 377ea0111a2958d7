// SPDX-License-Identifier: MIT
/*
 * Written without a lock, and read by anybody at any time: an entry counts only if its inode is
 * the same before and after. Inode numbers are never used again, so an old entry is none of
 * another context; one that finds the places it may have taken drives out another, whose context
 * is gone.
 */
#include "lib/lib_i.h"

#include <stdatomic.h>

enum { PLACE_BITS = 12, PLACES = 1 << PLACE_BITS, TRIES = 8 };

struct place {
	_Atomic uint64_t inode; /* 0: nothing here */
	_Atomic uint64_t number;
	_Atomic int cpu;
	_Atomic bool system_wide;
	_Atomic bool async;
};

#define BEING_WRITTEN UINT64_MAX

static struct place places[PLACES];

static const struct known nothing = {.number = KNOWN_NO_NUMBER, .cpu = KNOWN_NO_CPU};

/* Where @inode may be, at try @i: inode numbers differ in any of their bits. */
static struct place *place(uint64_t inode, unsigned i)
{
	uint64_t mixed = (inode * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - PLACE_BITS);

	return &places[(mixed + i) % PLACES];
}

static struct place *find(uint64_t inode)
{
	for (unsigned i = 0; i < TRIES; i++)
		if (atomic_load(&place(inode, i)->inode) == inode)
			return place(inode, i);
	return NULL;
}

/* Nobody else writes there until its inode is set again, nor takes it for one. */
static bool claim(struct place *p, uint64_t inode)
{
	return atomic_compare_exchange_strong(&p->inode, &inode, BEING_WRITTEN);
}

/* Of the places where @inode may be, that of the oldest context from @least on: numbers grow. */
static struct place *oldest(uint64_t inode, uint64_t least, uint64_t *has)
{
	struct place *p = NULL;

	*has = BEING_WRITTEN;
	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t one = atomic_load(&place(inode, i)->inode);
		if (one >= least && one < *has) {
			*has = one;
			p = place(inode, i);
		}
	}
	return p;
}

/* An empty place, or that of a context that is gone. NULL: there is none, or others are at it. */
static struct place *take(const struct target *t)
{
	uint64_t has;
	struct place *p = oldest(t->inode, 0, &has);

	while (p && has && !target_is_gone(t, atomic_load(&p->number)))
		p = oldest(t->inode, has + 1, &has);
	return p && claim(p, has) ? p : NULL;
}

bool known_get(uint64_t inode, struct known *k)
{
	const struct place *p = find(inode);

	*k = nothing;
	if (!p)
		return false;
	k->number = atomic_load(&p->number);
	k->cpu = atomic_load(&p->cpu);
	k->system_wide = atomic_load(&p->system_wide);
	k->async = atomic_load(&p->async);
	if (atomic_load(&p->inode) == inode)
		return true;
	*k = nothing;
	return false;
}

void known_set(const struct target *t, const struct known *k)
{
	struct place *p = find(t->inode);

	if (p ? !claim(p, t->inode) : !(p = take(t)))
		return;
	atomic_store(&p->number, k->number);
	atomic_store(&p->cpu, k->cpu);
	atomic_store(&p->system_wide, k->system_wide);
	atomic_store(&p->async, k->async);
	atomic_store(&p->inode, t->inode);
}
