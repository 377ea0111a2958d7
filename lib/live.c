// SPDX-License-Identifier: MIT
/*
 * A thread reads the counts of its own context by RDPMC (perfmonfs/live.h).
 *
 * The result is the thread's counts on any CPU, because the page changes only while the thread is
 * not executing this code. When the thread is switched out for another user thread, or moves to
 * another CPU, ctxsw threads save the context and restore it before the thread goes on. Both
 * increment seq, so a reading that began before is repeated, regardless of where in it RDPMC was.
 * The same goes for commands: the ctxsw thread of this CPU executes them and preempts this thread.
 * If the context stayed in the registers, seq, counters and CPU are unchanged: only the idle task
 * or kernel threads ran meanwhile, and they are not counted.
 *
 * This fails if a ctxsw thread is late, or if the thread is on a CPU that has no register for it.
 * Then the count is lost, and the daemon finds that out later. Meanwhile the page names another CPU
 * or is not active, which is checked before and after RDPMC. A thread that is moved to such a CPU
 * and back between these checks gets a wrong count, but that count is lost as well, so reading the
 * PMD fails.
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

/* The mapped page of a perf event of this process; NULL: it has none. */
static void *live_event;
static pthread_once_t live_once = PTHREAD_ONCE_INIT;

/* Runs in a child, where the kernel does not map the page. */
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

/* Maps the page of the event @fd. MAP_FAILED with errno; EPERM if the kernel does not permit
 * RDPMC. */
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
	void *page; /* MAP_FAILED: there is none, because of errno @no */
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
 * Opens the event in a thread that ends at once, because the kernel writes to the global control at
 * each switch of a thread that has an event, even a disabled one. Only the mapping matters, and it
 * outlives both the thread and the descriptor.
 */
static int live_open_in_thread(struct live_opening *o)
{
	sigset_t all, before;
	pthread_t thread;
	int no;

	sigfillset(&all);
	/* signals must go to the program's own threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
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
	/* Another thread may have been faster. */
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
