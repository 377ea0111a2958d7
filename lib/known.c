// SPDX-License-Identifier: MIT
/*
 * Written without a lock, and read by anybody at any time: an entry counts only if its inode is
 * the same before and after. Inode numbers are never used again, so an old entry is none of
 * another context; when two contexts want one place, the older is forgotten.
 */
#include "lib/lib_i.h"

#include <stdatomic.h>

enum { PLACES = 4096 };

struct place {
	_Atomic uint64_t inode; /* 0: nothing here */
	_Atomic uint64_t number;
	_Atomic int cpu;
	_Atomic bool system_wide;
};

static struct place places[PLACES];

bool known_get(uint64_t inode, struct known *k)
{
	struct place *p = &places[inode % PLACES];

	if (atomic_load(&p->inode) != inode)
		return false;
	k->number = atomic_load(&p->number);
	k->cpu = atomic_load(&p->cpu);
	k->system_wide = atomic_load(&p->system_wide);
	return atomic_load(&p->inode) == inode;
}

void known_set(uint64_t inode, const struct known *k)
{
	struct place *p = &places[inode % PLACES];

	if (atomic_load(&p->inode) != inode)
		atomic_store(&p->inode, 0);
	atomic_store(&p->number, k->number);
	atomic_store(&p->cpu, k->cpu);
	atomic_store(&p->system_wide, k->system_wide);
	atomic_store(&p->inode, inode);
}
