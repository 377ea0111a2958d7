// SPDX-License-Identifier: MIT
/*
 * A thread reads the counts of its own context by RDPMC (perfmonfs/live.h).
 *
 * Why that gives the thread's counts, on whatever CPU: the page changes only while the thread does
 * not execute this. When it leaves its CPU for another user thread, or gets to another CPU, ctxsw
 * threads save the context and restore it before the thread goes on, and both add to seq, so that a
 * reading which began before is repeated, wherever RDPMC stood in it. That goes for commands, too:
 * the ctxsw thread of this CPU executes them, and preempts this thread. If the context stayed in
 * the registers, seq is the same, and so are counters and CPU: what ran meanwhile was the idle task
 * or kernel threads, and nothing of that is counted.
 *
 * It is not so where a ctxsw thread is late, or the thread is on a CPU that has no register for it.
 * The count is lost then, and the daemon finds that out later. Meanwhile the page is that of
 * another CPU, or not active, which is looked for before and after RDPMC.
 * A thread that is moved there and back between the two gets a wrong count, which is lost all the
 * same: reading the PMD says so.
 */
#include "perfmonfs/live.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/lib_i.h"

enum { LIVE_EVENT_PAGE = 4096 };

/* The page of a perf event of this process; NULL: it has none. */
static void *live_event;
static pthread_once_t live_once = PTHREAD_ONCE_INIT;

/* The kernel does not map it in a child. */
static void live_forked(void)
{
	__atomic_store_n(&live_event, NULL, __ATOMIC_RELAXED);
}

static void live_init(void)
{
	pthread_atfork(NULL, NULL, live_forked);
}

static bool live_event_permits(const struct perf_event_mmap_page *page)
{
	return page->cap_user_rdpmc;
}

/* Returns NULL, or a page, or MAP_FAILED with errno. @fd is open. */
static void *live_map_event(int fd)
{
	void *page = mmap(NULL, LIVE_EVENT_PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED || live_event_permits(page))
		return page;
	munmap(page, LIVE_EVENT_PAGE);
	errno = EPERM;
	return MAP_FAILED;
}

struct live_opening {
	void *page; /* MAP_FAILED: there is none, for @no */
	int no;
};

static void *live_open_event(void *arg)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	struct live_opening *o = arg;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	o->page = fd < 0 ? MAP_FAILED : live_map_event(fd);
	o->no = errno;
	if (fd >= 0)
		nocancel_close(fd);
	return NULL;
}

/*
 * The event is that of a thread that ends: the kernel would write to the global control at each
 * switch of a thread that has one, even if it is disabled. The mapping, which is all that counts,
 * outlives both the thread and the descriptor.
 */
static int live_open_in_thread(struct live_opening *o)
{
	sigset_t all, before;
	pthread_t thread;
	int no;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's threads */
	no = pthread_create(&thread, NULL, live_open_event, o);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return no ? no : pthread_join(thread, NULL);
}

API int pfm_live_permit(void)
{
	struct live_opening o = {MAP_FAILED, 0};
	void *none = NULL;
	int no;

	if (__atomic_load_n(&live_event, __ATOMIC_ACQUIRE))
		return 0;
	pthread_once(&live_once, live_init);
	no = live_open_in_thread(&o);
	if (no || o.page == MAP_FAILED)
		return lib_fail(no ? no : o.no);
	/* Another thread was first. */
	if (!__atomic_compare_exchange_n(
		    &live_event, &none, o.page, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		munmap(o.page, LIVE_EVENT_PAGE);
	return 0;
}

static bool live_is_here(const struct pfm_live *page)
{
	return __atomic_load_n(&page->active, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&page->cpu, __ATOMIC_ACQUIRE) == (uint32_t)sched_getcpu();
}

static int live_read_here(
	const struct pfm_live *page, unsigned n, const uint8_t index[], uint64_t counts[], int here)
{
	for (unsigned i = 0; i < n; i++) {
		struct pfm_live_count c;
		int rc = pfm_live_read_time(page, index[i], here, &c);

		if (rc < 0)
			return EIO;
		if (rc > 0 || c.time)
			return EAGAIN;
		counts[i] = c.count;
	}
	return 0;
}

API int pfm_live_read_thread(
	const struct pfm_live *page, unsigned n, const uint8_t index[], uint64_t counts[])
{
	int here = PFM_LIVE_HERE, no;

	if (__atomic_load_n(&live_event, __ATOMIC_RELAXED))
		here |= PFM_LIVE_PERMITTED;
	if (!live_is_here(page))
		return lib_fail(EAGAIN);
	no = live_read_here(page, n, index, counts, here);
	if (no == 0 && !live_is_here(page))
		no = EAGAIN;
	return no ? lib_fail(no) : 0;
}
