// SPDX-License-Identifier: MIT
/*
 * Written without a lock, and read by anybody at any time: an entry counts only if its inode and
 * its device are the same before and after. Inode numbers of a mount are never used again, so an
 * old entry is none of another context; one that finds the places it may have taken drives out
 * another, whose context is gone.
 */
#include "lib/lib_i.h"

#include <stdatomic.h>

enum { PLACE_BITS = 12, PLACES = 1 << PLACE_BITS, TRIES = 8 };

struct place {
	_Atomic uint64_t inode; /* 0: nothing here */
	_Atomic uint64_t device;
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

static uint64_t device_number(const struct device *d)
{
	return (uint64_t)d->major << 32 | d->minor;
}

static bool is_of(const struct place *p, const struct target *t)
{
	return atomic_load(&p->inode) == t->inode &&
	       atomic_load(&p->device) == device_number(&t->device);
}

static struct place *find(const struct target *t)
{
	for (unsigned i = 0; i < TRIES; i++)
		if (is_of(place(t->inode, i), t))
			return place(t->inode, i);
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

static bool is_gone(const struct place *p)
{
	uint64_t device = atomic_load(&p->device);
	struct device d = {(unsigned)(device >> 32), (unsigned)device};

	return target_is_gone(&d, atomic_load(&p->number));
}

/* An empty place, or that of a context that is gone. NULL: there is none, or others are at it. */
static struct place *take(const struct target *t)
{
	uint64_t has;
	struct place *p = oldest(t->inode, 0, &has);

	while (p && has && !is_gone(p))
		p = oldest(t->inode, has + 1, &has);
	return p && claim(p, has) ? p : NULL;
}

/* Of a context that another program has made; until it is loaded, that may change it. */
static bool learn(const struct target *t, struct known *k)
{
	struct pfm_ioc_info info;

	*k = nothing;
	if (!target_info(t, &info))
		return false;
	k->number = info.number;
	k->system_wide = info.flags & PFM_IOC_FL_SYSTEM_WIDE;
	if (info.state == PFM_IOC_STATE_UNLOADED)
		return true;
	if (k->system_wide)
		k->cpu = (int)info.cpu;
	known_add(t, k);
	return true;
}

bool known_get(const struct target *t, struct known *k)
{
	const struct place *p = find(t);

	if (!p)
		return learn(t, k);
	k->number = atomic_load(&p->number);
	k->cpu = atomic_load(&p->cpu);
	k->system_wide = atomic_load(&p->system_wide);
	k->async = atomic_load(&p->async);
	return is_of(p, t) || learn(t, k);
}

void known_add(const struct target *t, const struct known *k)
{
	struct place *p = find(t);

	if (p ? !claim(p, t->inode) : !(p = take(t)))
		return;
	atomic_store(&p->device, device_number(&t->device));
	atomic_store(&p->number, k->number);
	atomic_store(&p->cpu, k->cpu);
	atomic_store(&p->system_wide, k->system_wide);
	atomic_store(&p->async, k->async);
	atomic_store(&p->inode, t->inode);
}

/* Each by itself: another thread may be making another one known. */
void known_set_cpu(const struct target *t, int cpu)
{
	struct place *p = find(t);

	if (p)
		atomic_store(&p->cpu, cpu);
}

void known_set_async(const struct target *t, bool async)
{
	struct place *p = find(t);
	struct known k;

	if (p) {
		atomic_store(&p->async, async);
	} else {
		known_get(t, &k);
		k.async = async;
		known_add(t, &k);
	}
}
