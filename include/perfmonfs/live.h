/* SPDX-License-Identifier: MIT */
/*
 * The page that mapping ctx/NAME/set/ID/live gives (specification 3.7: the set's 64-bit counts),
 * and how to read it without a system call.
 *
 * The daemon keeps the counts as of its last look. While the set is active, what was counted
 * since can be added by RDPMC, on the CPU that is monitored: a thread that is not on that CPU
 * must not add it (pmd[].rdpmc says nothing about where you run).
 */
#ifndef PERFMONFS_LIVE_H
#define PERFMONFS_LIVE_H

#include <stdint.h>

enum { PFM_LIVE_VERSION = 1, PFM_LIVE_PMDS = 32 };

struct pfm_live_pmd {
	uint64_t value; /* as of the last look */
	uint64_t hw;    /* what the actual counter held then */
	uint32_t index; /* for RDPMC */
	uint16_t num;   /* logical number */
	uint8_t width;  /* bits of the actual counter */
	uint8_t flags;  /* PFM_LIVE_* */
};

enum {
	PFM_LIVE_COUNTS = 1 << 0, /* it counts while the set is active */
	PFM_LIVE_RDPMC = 1 << 1,  /* RDPMC with that index reads it, and is allowed here */
	PFM_LIVE_LOST = 1 << 2,   /* the count cannot be told any more: read the PMD for why */
	PFM_LIVE_NARROW = 1 << 3, /* no64: the count is as wide as the actual counter, and wraps */
};

struct pfm_live {
	uint32_t seq;     /* odd while it is being changed */
	uint32_t version; /* PFM_LIVE_VERSION */
	uint32_t active;  /* 1: the set's counters count */
	uint32_t cpu;     /* ... on this CPU */
	uint32_t npmds;
	uint32_t reserved[3];
	struct pfm_live_pmd pmd[PFM_LIVE_PMDS];
};

#if defined(__x86_64__) || defined(__i386__)
/*
 * No fence is needed around it: all that changes or reads an actual counter does so on the CPU that
 * has it, where this thread is, so there is an interrupt or a switch in between, and of the
 * instructions around that none is done half.
 */
static inline uint64_t pfm_live_rdpmc(uint32_t index)
{
	uint32_t lo, hi;

	__asm__ volatile("rdpmc" : "=a"(lo), "=d"(hi) : "c"(index) : "memory");
	return (uint64_t)hi << 32 | lo;
}

static inline void pfm_live_pause(void)
{
	__asm__ volatile("pause" : : : "memory");
}
#else
static inline uint64_t pfm_live_rdpmc(uint32_t index)
{
	(void)index;
	return 0;
}

static inline void pfm_live_pause(void)
{
}
#endif

static inline uint64_t pfm_live_cut(uint64_t n, uint8_t width)
{
	return width < 64 ? n & ((1ULL << width) - 1) : n;
}

/* What the actual counter has counted since it held p->hw. */
static inline uint64_t pfm_live_since(const struct pfm_live_pmd *p)
{
	uint32_t index = __atomic_load_n(&p->index, __ATOMIC_ACQUIRE);
	uint64_t hw = __atomic_load_n(&p->hw, __ATOMIC_ACQUIRE);
	uint8_t width = __atomic_load_n(&p->width, __ATOMIC_ACQUIRE);

	return pfm_live_cut(pfm_live_rdpmc(index) - hw, width);
}

/* May be torn: see pfm_live_read(). */
static inline uint64_t pfm_live_look(
	const struct pfm_live *page, unsigned i, int here, uint8_t *flags)
{
	const uint8_t both = PFM_LIVE_COUNTS | PFM_LIVE_RDPMC;
	const struct pfm_live_pmd *p = &page->pmd[i];
	uint64_t value = __atomic_load_n(&p->value, __ATOMIC_ACQUIRE);

	*flags = __atomic_load_n(&p->flags, __ATOMIC_ACQUIRE);
	if (here && (*flags & both) == both && __atomic_load_n(&page->active, __ATOMIC_ACQUIRE))
		value += pfm_live_since(p);
	return *flags & PFM_LIVE_NARROW
		       ? pfm_live_cut(value, __atomic_load_n(&p->width, __ATOMIC_ACQUIRE))
		       : value;
}

enum { PFM_LIVE_TRIES = 10000 };

/*
 * The count of the @i-th PMD of the page (not its logical number) as of now if @here, which says
 * that the caller runs on the monitored CPU and may use RDPMC there; otherwise, and where the PMU
 * does not allow it, as of the daemon's last look. Returns 0; -1: the count was lost; 1: the page
 * has been in change all the time, for the daemon is busy with it, or kept from running by whoever
 * spins here, or dead: sleep, then try again.
 *
 * Each part is loaded by an acquire and stored by a release: a part of a newer state brings the
 * newer seq with it, on any machine, and where fences are not understood (-fsanitize=thread).
 */
static inline int pfm_live_read(const struct pfm_live *page, unsigned i, int here, uint64_t *count)
{
	for (unsigned tries = 0; tries < PFM_LIVE_TRIES; tries++) {
		uint32_t seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);
		uint8_t flags;

		if (!(seq & 1)) {
			*count = pfm_live_look(page, i, here, &flags);
			if (__atomic_load_n(&page->seq, __ATOMIC_RELAXED) == seq)
				return flags & PFM_LIVE_LOST ? -1 : 0;
		}
		pfm_live_pause();
	}
	return 1;
}

#endif
