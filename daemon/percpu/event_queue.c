// SPDX-License-Identifier: MIT
#include "daemon/percpu/event_queue.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/raw_syscall.h"
#include "daemon/percpu/thread.h"

int event_queue_open(struct event_queue *events, struct err *e)
{
	events->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return events->fd < 0 ? err_set(e, errno, "eventfd: %s", err_name(errno)) : 0;
}

void event_queue_close(struct event_queue *events)
{
	close(events->fd);
}

void event_send(struct event_queue *events, struct event *ev)
{
	static const uint64_t one = 1;

	queue_put(&events->queue, &ev->link);
	/* EAGAIN means that the counter is at its limit; then fd is readable, too. */
	raw_syscall4(SYS_write, events->fd, (long)&one, sizeof(one), 0);
}

/*
 * A sender queues its event, then writes 1 to fd. If the queue is read between the two, the write
 * is still to come: it must be read later, or fd would stay readable with nothing in the queue.
 */
struct link *event_queue_take(struct event_queue *events)
{
	struct link *taken;
	uint64_t signalled = 0;

	assert_session_thread();
	if (queue_empty(&events->queue) && !events->unsignalled)
		return NULL;
	if (read(events->fd, &signalled, sizeof(signalled)) < 0 && errno != EAGAIN)
		return NULL;
	events->unsignalled -= signalled;
	taken = queue_take(&events->queue);
	for (struct link *l = taken; l; l = l->next)
		events->unsignalled++;
	return taken;
}
