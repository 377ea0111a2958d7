// SPDX-License-Identifier: MIT
#include "daemon/percpu/workqueue.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cond.h"
#include "base/hash.h"
#include "base/nsec.h"
#include "daemon/percpu/thread.h"

/* The CPU time from which a work is long, the delay of the user's next work in multiples of that
 * time, and the longest delay. */
enum { WORKQUEUE_LONG_NS = 2000000, WORKQUEUE_DELAY = 5 };
#define WORKQUEUE_DELAY_MAX_NS (4 * NSEC_PER_SEC)

/* A user with works that wait, a work that runs, or a delay. */
struct workqueue_user {
	struct hash_node node;
	/* In workqueue.ready or .delayed, unless a work runs. */
	struct list_head link;
	/* Works that wait. */
	struct list_head works;
	bool running;
	/* CPU time of long works since the last delay, ns. */
	uint64_t took;
	/* End of the delay (CLOCK_MONOTONIC, ns); 0: there is none. */
	uint64_t until;
};

struct workqueue {
	struct event_queue *events;
	/* A leaf: guards the fields from here up to @ending. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct hash users;
	/* Users with works, none of which runs. */
	struct list_head ready;
	/* Users in a delay, by its end. */
	struct list_head delayed;
	/* The end of the last delay. */
	uint64_t delayed_until;
	/* The work that runs; NULL: none. */
	struct work *current;
	/* The thread is not waited for, and ends without touching its work. */
	bool abandoned;
	bool ending;
	/* The fields from here on are the session thread's. */
	pthread_t thread;
	bool started;
	/* Works whose done() is due. */
	unsigned expected;
};

int workqueue_new(struct event_queue *events, struct workqueue **out, struct err *e)
{
	struct workqueue *wq = calloc(1, sizeof(*wq));

	if (!wq || hash_init(&wq->users) < 0) {
		free(wq);
		return err_set(e, ENOMEM, "no memory");
	}
	wq->events = events;
	pthread_mutex_init(&wq->lock, NULL);
	cond_init_monotonic(&wq->wake);
	list_init(&wq->ready);
	list_init(&wq->delayed);
	*out = wq;
	return 0;
}

void workqueue_free(struct workqueue *wq)
{
	if (!wq || wq->abandoned)
		return;
	pthread_cond_destroy(&wq->wake);
	pthread_mutex_destroy(&wq->lock);
	hash_free(&wq->users);
	free(wq);
}

static struct workqueue_user *workqueue_find(const struct workqueue *wq, uid_t uid)
{
	struct hash_node *node = hash_find(&wq->users, uid);

	return node ? container_of(node, struct workqueue_user, node) : NULL;
}

/* NULL: no memory. */
static struct workqueue_user *workqueue_get(struct workqueue *wq, uid_t uid)
{
	struct workqueue_user *u = workqueue_find(wq, uid);

	if (u)
		return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	list_init(&u->link);
	list_init(&u->works);
	hash_add(&wq->users, &u->node, uid);
	return u;
}

/* Delays end one after another, so that long works take only a part of the time for all users
 * together. */
static void workqueue_delay(struct workqueue *wq, struct workqueue_user *u)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);

	if (wq->delayed_until < now)
		wq->delayed_until = now;
	wq->delayed_until += WORKQUEUE_DELAY * u->took;
	if (wq->delayed_until > now + WORKQUEUE_DELAY_MAX_NS)
		wq->delayed_until = now + WORKQUEUE_DELAY_MAX_NS;
	u->until = wq->delayed_until;
	u->took = 0;
	list_del(&u->link);
	list_add_tail(&u->link, &wq->delayed);
}

static bool workqueue_has_first(const struct workqueue_user *u)
{
	return !list_empty(&u->works) && list_entry(u->works.next, struct work, link)->first;
}

/* Makes @u ready, delays or frees it, after a work or a delay has ended, or a work has come or
 * gone. */
static void workqueue_update(struct workqueue *wq, struct workqueue_user *u)
{
	if (u->running || u->until)
		return;
	if (u->took && !workqueue_has_first(u)) {
		workqueue_delay(wq, u);
		return;
	}
	if (!list_empty(&u->works)) {
		if (list_empty(&u->link))
			list_add_tail(&u->link, &wq->ready);
		return;
	}
	list_del(&u->link);
	hash_remove(&wq->users, &u->node);
	free(u);
}

static void workqueue_end_delays(struct workqueue *wq, uint64_t now)
{
	struct workqueue_user *u;

	while ((u = list_first_entry_or_null(&wq->delayed, struct workqueue_user, link))) {
		if (u->until > now)
			return;
		list_del(&u->link);
		u->until = 0;
		workqueue_update(wq, u);
	}
}

static struct work *workqueue_take(struct workqueue *wq)
{
	struct workqueue_user *u;
	struct work *w;

	workqueue_end_delays(wq, nsec_now(CLOCK_MONOTONIC));
	u = list_first_entry_or_null(&wq->ready, struct workqueue_user, link);
	if (!u)
		return NULL;
	list_del(&u->link);
	u->running = true;
	w = list_entry(u->works.next, struct work, link);
	list_del(&w->link);
	w->waiting = false;
	return w;
}

/* Ends @w, which has run, for its user. Root is not delayed. */
static void workqueue_end_work(struct workqueue *wq, const struct work *w, uint64_t took)
{
	struct workqueue_user *u = workqueue_find(wq, w->uid);

	u->running = false;
	if (took > WORKQUEUE_LONG_NS && w->uid)
		u->took += took;
	workqueue_update(wq, u);
}

static void workqueue_wait(struct workqueue *wq)
{
	const struct workqueue_user *u =
		list_first_entry_or_null(&wq->delayed, struct workqueue_user, link);
	struct timespec until;

	if (u) {
		until = nsec_timespec(u->until);
		pthread_cond_timedwait(&wq->wake, &wq->lock, &until);
	} else {
		pthread_cond_wait(&wq->wake, &wq->lock);
	}
}

/* Runs @w. Returns the CPU time that it has taken. */
static uint64_t workqueue_run(struct work *w)
{
	uint64_t begun = nsec_now(CLOCK_THREAD_CPUTIME_ID);

	w->run(w);
	return nsec_now(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static void *workqueue_main(void *arg)
{
	struct workqueue *wq = arg;
	uint64_t took;

	thread_set_name("pfm-work");
	pthread_mutex_lock(&wq->lock);
	while (!wq->ending) {
		wq->current = workqueue_take(wq);
		if (!wq->current) {
			workqueue_wait(wq);
			continue;
		}
		pthread_mutex_unlock(&wq->lock);
		took = workqueue_run(wq->current);
		pthread_mutex_lock(&wq->lock);
		if (wq->abandoned)
			break;
		workqueue_end_work(wq, wq->current, took);
		event_send(wq->events, &wq->current->event);
		wq->current = NULL;
	}
	pthread_mutex_unlock(&wq->lock);
	return NULL;
}

static int workqueue_start(struct workqueue *wq, struct err *e)
{
	if (!wq->started && thread_start(&wq->thread, workqueue_main, wq))
		return err_set(e, EAGAIN, "the daemon cannot start another thread: try again");
	wq->started = true;
	return 0;
}

static int workqueue_add(struct workqueue *wq, struct work *w, struct err *e)
{
	struct workqueue_user *u = workqueue_get(wq, w->uid);

	if (!u)
		return err_set(e, ENOMEM, "no memory");
	if (w->first)
		list_add(&w->link, &u->works);
	else
		list_add_tail(&w->link, &u->works);
	w->waiting = true;
	workqueue_update(wq, u);
	return 0;
}

/* Takes @w, which waits, out of its user's queue. */
static void workqueue_remove(struct workqueue *wq, struct work *w)
{
	list_del(&w->link);
	w->waiting = false;
	workqueue_update(wq, workqueue_find(wq, w->uid));
}

int workqueue_submit(struct workqueue *wq, struct work *w, struct err *e)
{
	int rc;

	assert_session_thread();
	w->wq = wq;
	w->event.kind = EVENT_WORK;
	if (wq->ending && w->may_hang)
		return err_set(e, ENODEV, "the daemon is shutting down");
	if (wq->ending) {
		wq->expected++;
		w->run(w);
		event_send(wq->events, &w->event);
		return 0;
	}
	if (workqueue_start(wq, e) < 0)
		return -e->no;
	pthread_mutex_lock(&wq->lock);
	rc = workqueue_add(wq, w, e);
	pthread_cond_signal(&wq->wake);
	pthread_mutex_unlock(&wq->lock);
	wq->expected += rc == 0;
	return rc;
}

bool workqueue_cancel(struct workqueue *wq, struct work *w)
{
	bool waiting;

	assert_session_thread();
	pthread_mutex_lock(&wq->lock);
	waiting = w->waiting;
	if (waiting)
		workqueue_remove(wq, w);
	pthread_mutex_unlock(&wq->lock);
	wq->expected -= waiting;
	return waiting;
}

bool workqueue_delays(struct workqueue *wq, uid_t uid)
{
	const struct workqueue_user *u;
	bool delayed;

	pthread_mutex_lock(&wq->lock);
	workqueue_end_delays(wq, nsec_now(CLOCK_MONOTONIC));
	u = workqueue_find(wq, uid);
	delayed = u && u->until;
	pthread_mutex_unlock(&wq->lock);
	return delayed;
}

bool workqueue_expects_events(const struct workqueue *wq)
{
	return wq->expected;
}

static void workqueue_finish(struct workqueue *wq, struct work *w)
{
	wq->expected--;
	w->done(w);
}

void workqueue_complete(struct event *event)
{
	struct work *w = container_of(event, struct work, event);

	workqueue_finish(w->wq, w);
}

/* NULL: none waits. */
static struct work *workqueue_take_waiting(struct workqueue *wq)
{
	struct workqueue_user *u;
	struct work *w = NULL;

	pthread_mutex_lock(&wq->lock);
	workqueue_end_delays(wq, UINT64_MAX);
	u = list_first_entry_or_null(&wq->ready, struct workqueue_user, link);
	if (u) {
		w = list_entry(u->works.next, struct work, link);
		workqueue_remove(wq, w);
	}
	pthread_mutex_unlock(&wq->lock);
	return w;
}

/* The process must not wait for a work that hangs. */
static bool workqueue_hanging;

bool workqueue_hangs(void)
{
	return workqueue_hanging;
}

void workqueue_stop(struct workqueue *wq)
{
	struct work *w;

	if (wq->ending)
		return;
	pthread_mutex_lock(&wq->lock);
	wq->ending = true;
	w = wq->current && wq->current->may_hang ? wq->current : NULL;
	wq->abandoned = w;
	if (w)
		workqueue_end_work(wq, w, 0);
	pthread_cond_signal(&wq->wake);
	pthread_mutex_unlock(&wq->lock);
	if (w)
		workqueue_hanging = w->hangs = true;
	else if (wq->started)
		pthread_join(wq->thread, NULL);
	wq->started = false;
	for (; w || (w = workqueue_take_waiting(wq)); w = NULL) {
		w->ended = true;
		workqueue_finish(wq, w);
	}
}
