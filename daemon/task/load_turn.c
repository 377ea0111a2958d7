// SPDX-License-Identifier: MIT
/*
 * Loads of one user take turns. A load costs the session thread some reads of /proc, and a user can
 * write as many as there are threads. So the next one begins only when the one before is answered,
 * and when the session thread has served some other requests since, if there are any. Then the
 * requests of many threads wait here, and not before those of other users.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/task/task_registry_i.h"

enum { LOAD_TURN_ROUNDS = 16 }; /* of the session thread, each with at most one request */

struct load_turn {
	struct task_event next; /* has the next load begin */
	struct list_head link;  /* task_registry.load_turns */
	unsigned uid;
	unsigned rounds;       /* since the last load */
	struct queue waiting;  /* jobs */
	struct link *taken;    /* from it, oldest first */
	const struct job *job; /* the load whose turn it is */
};

static struct load_turn *turn_find(struct task_registry *reg, unsigned uid)
{
	struct load_turn *turn;

	list_for_each_entry (turn, &reg->load_turns, link)
		if (turn->uid == uid)
			return turn;
	return NULL;
}

static struct job *turn_next_job(struct load_turn *turn)
{
	struct link *l;

	if (!turn->taken)
		turn->taken = queue_take(&turn->waiting);
	l = turn->taken;
	if (!l)
		return NULL;
	turn->taken = l->next;
	return container_of(l, struct job, link);
}

/* A load that is refused before it takes its turn, as its context is gone, cannot end it. */
static void turn_handle_next(struct task_registry *reg, struct task_event *event)
{
	struct load_turn *turn = container_of(event, struct load_turn, next);
	struct job *job;

	if (++turn->rounds < LOAD_TURN_ROUNDS) {
		event_send(reg->shared.events, &turn->next.event);
		return;
	}
	turn->rounds = 0;
	job = turn_next_job(turn);
	if (!job) {
		list_del(&turn->link);
		free(turn);
		return;
	}
	turn->job = job;
	reg->ops->submit(reg->arg, job);
	if (turn->job)
		event_send(reg->shared.events, &turn->next.event);
	turn->job = NULL;
}

static struct load_turn *turn_new(struct task_registry *reg, unsigned uid)
{
	struct load_turn *turn = calloc(1, sizeof(*turn));

	if (turn) {
		turn->uid = uid;
		turn->next.event.kind = EVENT_TASK;
		turn->next.handle = turn_handle_next;
		list_add(&turn->link, &reg->load_turns);
	}
	return turn;
}

int load_turn_take(struct task_registry *reg, struct job *job, struct err *e)
{
	struct load_turn *turn = turn_find(reg, job->ec->uid);

	if (!turn)
		return turn_new(reg, job->ec->uid) ? 1 : err_set(e, ENOMEM, "no memory");
	if (turn->job != job) {
		queue_put(&turn->waiting, &job->link);
		return 0;
	}
	turn->job = NULL;
	return 1;
}

void load_turn_end(struct task_registry *reg, unsigned uid)
{
	event_send(reg->shared.events, &turn_find(reg, uid)->next.event);
}

void load_turns_stop(struct task_registry *reg)
{
	struct load_turn *turn;
	struct job *job;

	list_for_each_entry (turn, &reg->load_turns, link)
		while ((job = turn_next_job(turn)))
			reg->ops->submit(reg->arg, job);
}
