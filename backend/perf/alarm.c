// SPDX-License-Identifier: MIT
#include "backend/perf/alarm.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backend/perf/event.h"
#include "base/cleanup.h"

/* Pages of the ring. Its records have no body, so it never fills up before it is emptied. */
enum { ALARM_PAGES = 1 };

static void alarm_cleanup(struct perf_alarm **a)
{
	alarm_free(*a);
}

int alarm_new(const struct perf_group *g, struct perf_alarm **out, struct err *e)
{
	__attribute__((cleanup(alarm_cleanup))) struct perf_alarm *a = calloc(1, sizeof(*a));
	int rc;

	if (!a)
		return err_set(e, ENOMEM, "ENOMEM: no memory for the alarm of a thread");
	a->fd = perf_alarm_new(atomic_load(g->tid), g->leader, e);
	if (a->fd < 0)
		return a->fd;
	rc = perf_ring_map(&a->ring, a->fd, ALARM_PAGES, 0);
	if (rc < 0)
		return err_set(e, -rc,
			"mmap of a perf event: %s: the alarm of a thread needs 8 KiB of locked "
			"memory (kernel.perf_event_mlock_kb, LimitMEMLOCK)",
			err_name(-rc));
	if (group_resume(g, e) < 0)
		return -e->no;
	*out = take_ptr(&a);
	return 0;
}

void alarm_free(struct perf_alarm *a)
{
	if (!a)
		return;
	perf_ring_unmap(&a->ring);
	cleanup_close(&a->fd);
	free(a);
}

int alarm_set(struct perf_alarm *a, uint64_t ns, struct backend_stats *stats, struct err *e)
{
	a->ring.tail = perf_ring_head(&a->ring);
	perf_ring_release(&a->ring);
	atomic_fetch_add_explicit(&stats->writes, 1, memory_order_relaxed);
	if (ioctl(a->fd, PERF_EVENT_IOC_PERIOD, &ns) < 0)
		return err_set(
			e, errno, "the kernel refuses the time of the alarm: %s", err_name(errno));
	return 0;
}
