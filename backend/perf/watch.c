// SPDX-License-Identifier: MIT
#include "backend/perf/watch.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/perf/event.h"

static int watch_refused(const char *what, int no, struct err *e)
{
	return err_set(e, no,
		"%s: %s: waiting for the end of a thread needs a page of locked memory "
		"(kernel.perf_event_mlock_kb, LimitMEMLOCK)",
		what, err_name(no));
}

static size_t watch_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int watch_open(struct perf_watch *w, pid_t tid, struct err *e)
{
	static const struct thread_conf alone;
	bool ignored;

	w->fd = perf_leader_new(perf_on_thread(tid), &alone, &ignored, e);
	w->open = w->fd >= 0;
	return w->open ? 0 : w->fd;
}

int watch_map(struct perf_watch *w, int leader, struct err *e)
{
	void *page = mmap(NULL, watch_page_size(), PROT_READ, MAP_SHARED, w->fd, 0);

	if (page == MAP_FAILED)
		return watch_refused("mmap of a perf event", errno, e);
	w->page = page;
	if (leader < 0 || ioctl(leader, PERF_EVENT_IOC_SET_OUTPUT, w->fd) == 0)
		return 0;
	watch_refused("PERF_EVENT_IOC_SET_OUTPUT", errno, e);
	watch_unmap(w);
	return -e->no;
}

void watch_unmap(struct perf_watch *w)
{
	if (w->page)
		munmap(w->page, watch_page_size());
	w->page = NULL;
}

void watch_close(struct perf_watch *w)
{
	watch_unmap(w);
	if (w->open)
		close(w->fd);
	w->open = false;
}

bool watch_is_over(int fd)
{
	struct pollfd p = {.fd = fd};

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}
