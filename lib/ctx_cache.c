// SPDX-License-Identifier: MIT
/*
 * A hash table that is written without a lock and may be read at any time, even by signal handlers.
 * A reader uses an entry only if its inode and device are the same before and after reading it. A
 * mount never uses an inode number twice, so an old entry cannot belong to a new context. If all
 * slots for a new context are in use, it replaces one whose context is gone.
 */
#include "lib/lib_i.h"

#include <stdatomic.h>

enum { SLOT_BITS = 12, SLOTS = 1 << SLOT_BITS, PROBES = 8 };

struct cache_slot {
	_Atomic uint64_t inode; /* 0: empty; BEING_WRITTEN: reserved by a writer */
	_Atomic uint64_t device;
	_Atomic uint64_t number;
	_Atomic uint64_t buf_size;
	_Atomic int created;
	_Atomic int cpu;
	_Atomic bool system_wide;
	_Atomic bool async;
};

#define BEING_WRITTEN UINT64_MAX

static struct cache_slot slots[SLOTS];

static const struct ctx_cache unknown = {.number = CTX_CACHE_NO_NUMBER, .cpu = CTX_CACHE_NO_CPU};

/* The @i-th slot of @inode. The multiplication mixes all bits, since any of them may differ. */
static struct cache_slot *ctx_cache_probe(uint64_t inode, unsigned i)
{
	uint64_t mixed = (inode * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - SLOT_BITS);

	return &slots[(mixed + i) % SLOTS];
}

static uint64_t ctx_cache_device(const struct device *d)
{
	return (uint64_t)d->major << 32 | d->minor;
}

static bool ctx_cache_matches(const struct cache_slot *slot, const struct ctx_fd *t)
{
	return atomic_load(&slot->inode) == t->inode &&
	       atomic_load(&slot->device) == ctx_cache_device(&t->device);
}

static struct cache_slot *ctx_cache_find(const struct ctx_fd *t)
{
	for (unsigned i = 0; i < PROBES; i++)
		if (ctx_cache_matches(ctx_cache_probe(t->inode, i), t))
			return ctx_cache_probe(t->inode, i);
	return NULL;
}

/* Reserves a slot that has @inode: until its inode is set, no other thread reads or writes it. */
static bool ctx_cache_reserve(struct cache_slot *slot, uint64_t inode)
{
	return atomic_compare_exchange_strong(&slot->inode, &inode, BEING_WRITTEN);
}

/* The oldest context among the slots for @inode: the slot with the lowest inode number that is at
 * least @least. */
static struct cache_slot *ctx_cache_oldest(uint64_t inode, uint64_t least, uint64_t *found)
{
	struct cache_slot *slot = NULL;

	*found = BEING_WRITTEN;
	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t one = atomic_load(&ctx_cache_probe(inode, i)->inode);
		if (one >= least && one < *found) {
			*found = one;
			slot = ctx_cache_probe(inode, i);
		}
	}
	return slot;
}

static bool ctx_cache_is_gone(const struct cache_slot *slot)
{
	uint64_t device = atomic_load(&slot->device);
	struct device d = {(unsigned)(device >> 32), (unsigned)device};

	return ctx_fd_is_gone(&d, atomic_load(&slot->number));
}

/* Reserves an empty slot, or one whose context is gone. NULL if there is none. */
static struct cache_slot *ctx_cache_allocate(const struct ctx_fd *t)
{
	uint64_t inode;
	struct cache_slot *slot = ctx_cache_oldest(t->inode, 0, &inode);

	while (slot && inode && !ctx_cache_is_gone(slot))
		slot = ctx_cache_oldest(t->inode, inode + 1, &inode);
	return slot && ctx_cache_reserve(slot, inode) ? slot : NULL;
}

/*
 * Gets the properties of a context that another program has created. An unloaded one is not cached,
 * since that program may still change them.
 */
static bool ctx_cache_learn(const struct ctx_fd *t, struct ctx_cache *c)
{
	struct pfm_ioc_info info;

	*c = unknown;
	if (!ctx_fd_info(t, &info))
		return false;
	c->number = info.number;
	c->system_wide = info.flags & PFM_IOC_FL_SYSTEM_WIDE;
	if (info.state == PFM_IOC_STATE_UNLOADED)
		return true;
	if (c->system_wide)
		c->cpu = (int)info.cpu;
	ctx_cache_add(t, c);
	return true;
}

/* Copies an entry. False: there is none, or it is gone. */
static bool ctx_cache_copy(const struct ctx_fd *t, struct ctx_cache *c)
{
	const struct cache_slot *slot = ctx_cache_find(t);

	if (!slot)
		return false;
	c->number = atomic_load(&slot->number);
	c->buf_size = atomic_load(&slot->buf_size);
	c->created = (enum ctx_creator)atomic_load(&slot->created);
	c->cpu = atomic_load(&slot->cpu);
	c->system_wide = atomic_load(&slot->system_wide);
	c->async = atomic_load(&slot->async);
	return ctx_cache_matches(slot, t);
}

bool ctx_cache_get(const struct ctx_fd *t, struct ctx_cache *c)
{
	return ctx_cache_copy(t, c) || ctx_cache_learn(t, c);
}

bool ctx_cache_find_created(const struct ctx_fd *t, struct ctx_cache *c)
{
	return ctx_cache_copy(t, c) && c->created != CREATED_ELSEWHERE;
}

void ctx_cache_add(const struct ctx_fd *t, const struct ctx_cache *c)
{
	struct cache_slot *slot = ctx_cache_find(t);

	if (slot ? !ctx_cache_reserve(slot, t->inode) : !(slot = ctx_cache_allocate(t)))
		return;
	atomic_store(&slot->device, ctx_cache_device(&t->device));
	atomic_store(&slot->number, c->number);
	atomic_store(&slot->buf_size, c->buf_size);
	atomic_store(&slot->created, (int)c->created);
	atomic_store(&slot->cpu, c->cpu);
	atomic_store(&slot->system_wide, c->system_wide);
	atomic_store(&slot->async, c->async);
	atomic_store(&slot->inode, t->inode);
}

/* Stores a single field, because another thread may be storing another field. */
void ctx_cache_set_cpu(const struct ctx_fd *t, int cpu)
{
	struct cache_slot *slot = ctx_cache_find(t);

	if (slot)
		atomic_store(&slot->cpu, cpu);
}

void ctx_cache_set_async(const struct ctx_fd *t, bool async)
{
	struct cache_slot *slot = ctx_cache_find(t);
	struct ctx_cache c;

	if (slot) {
		atomic_store(&slot->async, async);
	} else {
		ctx_cache_get(t, &c);
		c.async = async;
		ctx_cache_add(t, &c);
	}
}

bool ctx_cache_is_system_wide(const struct ctx_fd *t)
{
	struct ctx_cache c;

	ctx_cache_get(t, &c);
	return c.system_wide;
}
