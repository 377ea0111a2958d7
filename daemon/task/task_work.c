// SPDX-License-Identifier: MIT
/*
 * Long work of the session thread: work that has a part for each of many threads. A load may have
 * thousands of threads, and they may all end at once. So users take turns, each turn does a limited
 * number of parts, and requests are served between two turns.
 */
#include <limits.h>
#include <stdlib.h>

#include "daemon/task/task_registry_i.h"

enum { WORK_PARTS = 128 }; /* per turn */

/* A user with waiting work. */
struct work_user {
	struct list_head link; /* task_registry.work_users */
	struct list_head works;
	unsigned uid;
};

static struct work_user *work_user_find(struct task_registry *reg, unsigned uid)
{
	struct work_user *u;

	list_for_each_entry (u, &reg->work_users, link)
		if (u->uid == uid)
			return u;
	return NULL;
}

/* The event is under way while the list is not empty. */
static struct work_user *work_user_new(struct task_registry *reg, unsigned uid)
{
	struct work_user *u = calloc(1, sizeof(*u));

	if (!u)
		return NULL;
	u->uid = uid;
	list_init(&u->works);
	if (list_empty(&reg->work_users))
		event_send(reg->shared.events, &reg->next_work.event);
	list_add_tail(&u->link, &reg->work_users);
	return u;
}

static void work_do_some(struct task_registry *reg, struct work_user *u)
{
	unsigned left = WORK_PARTS;

	while (left && !list_empty(&u->works)) {
		struct task_work *w = list_entry(u->works.next, struct task_work, link);

		list_del(&w->link);
		if (!w->some(reg, w, &left))
			list_add(&w->link, &u->works);
	}
}

static void work_handle_next(struct task_registry *reg, struct task_event *event)
{
	struct work_user *u = list_entry(reg->work_users.next, struct work_user, link);

	work_do_some(reg, u);
	list_del(&u->link);
	if (list_empty(&u->works))
		free(u);
	else
		list_add_tail(&u->link, &reg->work_users);
	if (!list_empty(&reg->work_users))
		event_send(reg->shared.events, &event->event);
}

void task_work_init(struct task_registry *reg)
{
	list_init(&reg->work_users);
	reg->next_work.event.kind = EVENT_TASK;
	reg->next_work.handle = work_handle_next;
}

/* If there is no memory, all parts are done at once. */
void task_work_add(struct task_registry *reg, unsigned uid, struct task_work *w)
{
	struct work_user *u = work_user_find(reg, uid);
	unsigned all = UINT_MAX;

	if (!u)
		u = work_user_new(reg, uid);
	if (u)
		list_add_tail(&w->link, &u->works);
	else
		w->some(reg, w, &all);
}

void task_work_begin(struct task_registry *reg, unsigned uid, struct task_work *w)
{
	unsigned left = WORK_PARTS;

	if (work_user_find(reg, uid) || !w->some(reg, w, &left))
		task_work_add(reg, uid, w);
}

/* The event is not handled any more. */
void task_work_free(struct task_registry *reg)
{
	struct work_user *u, *next;

	list_for_each_entry_safe (u, next, &reg->work_users, link)
		free(u);
}
