/* SPDX-License-Identifier: MIT */
/*
 * The page in ctx/NAME/set/ID/live (specification 3.7: the set's 64-bit counts), and a function
 * that reads it without a system call.
 *
 * The page has the counts at the daemon's last update, and the time of that update. While the set
 * is active, RDPMC gives what the hardware has counted since, but only on the monitored CPU. The
 * caller has to make sure that it runs there; the flags do not say so. If the context is on a
 * thread, only that thread can use RDPMC: while it runs, `active` is 1 and `cpu` is its CPU, and
 * pfm_live_read_thread() of libperfmonfs reads its counts. With backends whose counters RDPMC
 * cannot read, the daemon updates the page each tick (config/tick_us).
 */
#ifndef PERFMONFS_LIVE_H
#define PERFMONFS_LIVE_H

#include <stdint.h>

enum { PFM_LIVE_VERSION = 1, PFM_LIVE_PMDS = 64 };

struct pfm_live_pmd {
	uint64_t value; /* count at the last update */
	uint64_t hw;    /* value of the hardware counter then */
	uint32_t index; /* operand of RDPMC */
	uint16_t num;   /* logical number of the PMD */
	uint8_t width;  /* bits of the hardware counter */
	uint8_t flags;  /* PFM_LIVE_* */
};

enum {
	PFM_LIVE_COUNTS = 1 << 0, /* it counts while the set is active */
	PFM_LIVE_RDPMC = 1 << 1,  /* RDPMC with that index reads it and is permitted */
	PFM_LIVE_LOST = 1 << 2,   /* the count is lost; reading the PMD gives the reason */
	PFM_LIVE_NARROW = 1 << 3, /* no64: the count has @width bits and wraps */
	PFM_LIVE_MAPPED = 1 << 4, /* like PFM_LIVE_RDPMC, after pfm_live_permit() */
};

struct pfm_live {
	uint32_t seq;     /* odd during an update */
	uint32_t version; /* PFM_LIVE_VERSION */
	uint32_t active;  /* 1 while the set counts */
	uint32_t cpu;     /* CPU on which it counts */
	uint32_t npmds;   /* elements of pmd[] */
	uint32_t reserved;
	uint64_t time; /* CLOCK_MONOTONIC, ns, of the last update, while @active */
	struct pfm_live_pmd pmd[PFM_LIVE_PMDS];
};

#if defined(__x86_64__) || defined(__i386__)
/*
 * RDPMC needs no fence here. Other readers and writers of the counter run on the same CPU, so that
 * an interrupt or a task switch, which serialize, lies between them and this thread.
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

/* The count since the hardware counter had the value p->hw. */
static inline uint64_t pfm_live_since(const struct pfm_live_pmd *p)
{
	uint32_t index = __atomic_load_n(&p->index, __ATOMIC_ACQUIRE);
	uint64_t hw = __atomic_load_n(&p->hw, __ATOMIC_ACQUIRE);
	uint8_t width = __atomic_load_n(&p->width, __ATOMIC_ACQUIRE);

	return pfm_live_cut(pfm_live_rdpmc(index) - hw, width);
}

/* The result of reading a count. */
struct pfm_live_count {
	uint64_t count;
	/* CLOCK_MONOTONIC, ns, at which the count had this value. 0: now, because RDPMC read it or
	 * because it does not change. */
	uint64_t time;
	uint8_t flags; /* PFM_LIVE_* */
};

/* The caller's preconditions for RDPMC: bits of @here below. */
enum {
	/* the caller runs on the monitored CPU, or is the monitored thread */
	PFM_LIVE_HERE = 1 << 0,
	PFM_LIVE_PERMITTED = 1 << 1, /* the process has called pfm_live_permit() successfully */
};

/* Reads a count once; may race with an update. pfm_live_read_time() repeats the reading. */
static inline struct pfm_live_count pfm_live_read_once(
	const struct pfm_live *page, unsigned i, int here)
{
	const uint8_t rdpmc =
		here & PFM_LIVE_PERMITTED ? PFM_LIVE_RDPMC | PFM_LIVE_MAPPED : PFM_LIVE_RDPMC;
	const struct pfm_live_pmd *p = &page->pmd[i];
	struct pfm_live_count c;

	c.count = __atomic_load_n(&p->value, __ATOMIC_ACQUIRE);
	c.time = 0;
	c.flags = __atomic_load_n(&p->flags, __ATOMIC_ACQUIRE);
	if ((c.flags & PFM_LIVE_COUNTS) && __atomic_load_n(&page->active, __ATOMIC_ACQUIRE)) {
		if (here && (c.flags & rdpmc))
			c.count += pfm_live_since(p);
		else
			c.time = __atomic_load_n(&page->time, __ATOMIC_ACQUIRE);
	}
	if (c.flags & PFM_LIVE_NARROW)
		c.count = pfm_live_cut(c.count, __atomic_load_n(&p->width, __ATOMIC_ACQUIRE));
	return c;
}

enum { PFM_LIVE_TRIES = 10000 };

/*
 * Reads the count of pmd[@i], where @i is an index and not a logical number. @here has bits of the
 * enum above. If they allow RDPMC and RDPMC is permitted, the count is current. Otherwise it is
 * that of the daemon's last update, at @c->time.
 *
 * Returns 0; -1 if the count is lost; 1 if the page was being updated all the time. In the last
 * case, sleep and try again: the daemon is busy or dead, or this thread keeps it from running.
 *
 * Fields are loaded with acquire and stored with release semantics, instead of fences, which
 * -fsanitize=thread does not support: a field of a newer state implies the newer seq.
 */
static inline int pfm_live_read_time(
	const struct pfm_live *page, unsigned i, int here, struct pfm_live_count *c)
{
	for (unsigned tries = 0; tries < PFM_LIVE_TRIES; tries++) {
		uint32_t seq = __atomic_load_n(&page->seq, __ATOMIC_ACQUIRE);

		if (!(seq & 1)) {
			*c = pfm_live_read_once(page, i, here);
			if (__atomic_load_n(&page->seq, __ATOMIC_RELAXED) == seq)
				return c->flags & PFM_LIVE_LOST ? -1 : 0;
		}
		pfm_live_pause();
	}
	return 1;
}

/* Like pfm_live_read_time(), without the time. @count is set unless it returns 1. */
static inline int pfm_live_read(const struct pfm_live *page, unsigned i, int here, uint64_t *count)
{
	struct pfm_live_count c;
	int rc = pfm_live_read_time(page, i, here, &c);

	if (rc <= 0)
		*count = c.count;
	return rc;
}

/*
 * Functions of libperfmonfs.
 *
 * pfm_live_permit() makes RDPMC possible where the kernel permits it to processes that have mapped
 * a perf event (the file rdpmc is 1, the default): it maps an event that counts nothing. The effect
 * lasts until the process ends or executes another program; a child of fork() has to call it again.
 * Returns 0; -1 with errno:
 *   EACCES  perf_event_paranoid keeps this user from opening events
 *   ENOENT  the kernel's perf has no hardware counters here
 *   EPERM   the file rdpmc is 0
 *   others  errors of perf_event_open(2), mmap(2), pthread_create(3)
 *
 * pfm_live_read_thread() reads the current counts of @n PMDs, whose indices in pmd[] are @index,
 * without a system call. @page must belong to a context on the calling thread. Returns 0; -1 with
 * errno:
 *   EAGAIN  RDPMC cannot read them now: the context is stopped, or the kernel does not permit it.
 *           Read the PMDs, which gives the counts or the reason why there are none
 *   EIO     a count is lost; reading the PMD gives the reason
 * If the daemon was kept from handling a switch, the count is lost, but this function does not see
 * that before the daemon knows. So read the PMDs through the daemon once at the end: if that fails
 * with EIO, the earlier counts were wrong.
 */
#ifdef __cplusplus
extern "C" {
#endif
int pfm_live_permit(void);
int pfm_live_read_thread(
	const struct pfm_live *page, unsigned n, const uint8_t index[], uint64_t counts[]);
#ifdef __cplusplus
}
#endif

#endif
