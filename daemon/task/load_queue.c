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
	load_begin *begin;
	struct queue waiting; /* jobs */
	struct link *taken;   /* jobs taken from waiting, oldest first */
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

/* Begins @job, unless its context was loaded or removed while it waited. */
static bool load_queue_begin(struct task_registry *reg, const struct load_queue *q, struct job *job)
{
	int rc;

	if (!reg->ops->admit(reg->arg, job))
		return false;
	rc = q->begin(reg, job, &job->err);
	if (rc == 0)
		return true;
	job->rc = rc;
	job->done(job);
	return false;
}

static void load_queue_handle_next(struct task_registry *reg, struct task_event *event)
{
	struct load_queue *q = container_of(event, struct load_queue, next);
	struct job *job = load_queue_take_job(q);

	if (!job) {
		list_del(&q->link);
		free(q);
	} else if (!load_queue_begin(reg, q, job)) {
		event_send(reg->shared.events, &q->next.event);
	}
}

int load_queue_enter(struct task_registry *reg, struct job *job, load_begin *begin, struct err *e)
{
	struct load_queue *q = load_queue_find(reg, job->ec->uid);
	int rc;

	if (q) {
		queue_put(&q->waiting, &job->link);
		return 0;
	}
	q = calloc(1, sizeof(*q));
	if (!q)
		return err_set(e, ENOMEM, "no memory");
	q->uid = job->ec->uid;
	q->begin = begin;
	q->next.event.kind = EVENT_TASK;
	q->next.handle = load_queue_handle_next;
	list_add(&q->link, &reg->load_queues);
	rc = begin(reg, job, e);
	if (rc < 0)
		event_send(reg->shared.events, &q->next.event);
	return rc;
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
