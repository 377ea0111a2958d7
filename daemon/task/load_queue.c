// SPDX-License-Identifier: MIT
/*
 * A user's loads begin one after another, each when the one before is answered, as a user can write
 * as many loads at once as there are threads. They wait here, so that they do not delay the loads
 * of other users, which need the same ctxsw threads and tracer.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/task/task_registry_i.h"

struct load_queue {
	struct task_event next; /* begins the next load */
	struct list_head link;  /* task_registry.load_queues */
	unsigned uid;
	struct queue waiting;  /* jobs */
	struct link *taken;    /* jobs taken from waiting, oldest first */
	const struct job *job; /* the load that is being submitted */
};

static struct load_queue *load_queue_find(struct task_registry *reg, unsigned uid)
{
	struct load_queue *q;

	list_for_each_entry (q, &reg->load_queues, link)
		if (q->uid == uid)
			return q;
	return NULL;
}

static struct job *load_queue_take_job(struct load_queue *q)
{
	struct link *l;

	if (!q->taken)
		q->taken = queue_take(&q->waiting);
	l = q->taken;
	if (!l)
		return NULL;
	q->taken = l->next;
	return container_of(l, struct job, link);
}

/* A load that is refused before it enters the queue again, because its context is gone, does not
 * call load_queue_next(). */
static void load_queue_handle_next(struct task_registry *reg, struct task_event *event)
{
	struct load_queue *q = container_of(event, struct load_queue, next);
	struct job *job = load_queue_take_job(q);

	if (!job) {
		list_del(&q->link);
		free(q);
		return;
	}
	q->job = job;
	reg->ops->submit(reg->arg, job);
	if (q->job)
		event_send(reg->shared.events, &q->next.event);
	q->job = NULL;
}

static struct load_queue *load_queue_new(struct task_registry *reg, unsigned uid)
{
	struct load_queue *q = calloc(1, sizeof(*q));

	if (q) {
		q->uid = uid;
		q->next.event.kind = EVENT_TASK;
		q->next.handle = load_queue_handle_next;
		list_add(&q->link, &reg->load_queues);
	}
	return q;
}

int load_queue_enter(struct task_registry *reg, struct job *job, struct err *e)
{
	struct load_queue *q = load_queue_find(reg, job->ec->uid);

	if (!q)
		return load_queue_new(reg, job->ec->uid) ? 1 : err_set(e, ENOMEM, "no memory");
	if (q->job != job) {
		queue_put(&q->waiting, &job->link);
		return 0;
	}
	q->job = NULL;
	return 1;
}

void load_queue_next(struct task_registry *reg, unsigned uid)
{
	event_send(reg->shared.events, &load_queue_find(reg, uid)->next.event);
}

/* The queues' events are not handled any more. */
void load_queues_free(struct task_registry *reg)
{
	while (!list_empty(&reg->load_queues)) {
		struct load_queue *q = list_entry(reg->load_queues.next, struct load_queue, link);

		list_del(&q->link);
		free(q);
	}
}

void load_queues_stop(struct task_registry *reg)
{
	struct load_queue *q;
	struct job *job;

	list_for_each_entry (q, &reg->load_queues, link)
		while ((job = load_queue_take_job(q)))
			reg->ops->submit(reg->arg, job);
}
