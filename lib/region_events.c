// SPDX-License-Identifier: MIT
#include "lib/region_events.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/lib_i.h"

struct region_reading {
	uint64_t n, enabled, running;
	uint64_t counts[PFM_REGION_PMDS]; /* in the order in which the events were opened */
};

static int region_event_open(const struct pfm_region_event *event, int leader, bool pinned)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = event->type,
		.config = event->config,
		.disabled = leader < 0,
		.pinned = leader < 0 && pinned,
		.exclude_user = event->exclude_user != 0,
		.exclude_kernel = event->exclude_kernel != 0,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* False: the program has closed the descriptor, and may have given its number to another file. */
static bool region_event_is_open(const struct region_events *ev, uint32_t i)
{
	uint64_t id;

	return ioctl(ev->fds[i], PERF_EVENT_IOC_ID, &id) == 0 && id == ev->ids[i];
}

static int region_events_start(struct region_events *ev, const struct pfm_region_table *t)
{
	uint64_t counts[PFM_REGION_PMDS];
	bool pinned = false;

	/* Hardware events must be pinned: the kernel would multiplex others. */
	for (uint32_t i = 0; i < t->npmds; i++)
		pinned |= t->events[i].type != PERF_TYPE_SOFTWARE;
	for (uint32_t i = 0; i < t->npmds; i++) {
		int fd = region_event_open(&t->events[i], i ? ev->fds[0] : -1, pinned);

		if (fd < 0)
			return -1;
		ev->fds[ev->n++] = fd;
		if (ioctl(fd, PERF_EVENT_IOC_ID, &ev->ids[i]) < 0)
			return -1;
	}
	/* The reading shows whether the kernel found counters. */
	return ioctl(ev->fds[0], PERF_EVENT_IOC_ENABLE, 0) < 0 ? -1
							       : region_events_read(ev, counts);
}

int region_events_open(struct region_events *ev, const struct pfm_region_table *t)
{
	ev->n = 0;
	if (!t->own || !t->npmds)
		return -1;
	if (region_events_start(ev, t) == 0)
		return 0;
	region_events_close(ev);
	return -1;
}

int region_events_read(const struct region_events *ev, uint64_t counts[])
{
	struct region_reading r;
	const ssize_t size = (ssize_t)(offsetof(struct region_reading, counts) + ev->n * 8);

	/* read(2) would take data from another file of the program. */
	if (!region_event_is_open(ev, 0))
		return lib_fail(EBADF);
	if (nocancel_read(ev->fds[0], &r, sizeof(r)) != size || r.enabled != r.running)
		return lib_fail(EBUSY);
	for (uint32_t i = 0; i < ev->n; i++)
		counts[i] = r.counts[i];
	return 0;
}

/* Closes the leader last: without it, the others would go on. */
void region_events_close(struct region_events *ev)
{
	while (ev->n--)
		if (region_event_is_open(ev, ev->n))
			nocancel_close(ev->fds[ev->n]);
	ev->n = 0;
}
