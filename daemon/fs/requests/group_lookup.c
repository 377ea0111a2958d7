// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/group_lookup.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/nsec.h"
#include "daemon/authz/supplementary.h"
#include "daemon/percpu/thread.h"

struct group_lookup {
	/* A leaf: guards the fields up to @round. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct list_head waiting, answered;
	bool ending;
	/* Of the question that was taken last. */
	uint64_t round;
	/* An eventfd: readable when there are answers. */
	int fd;
	/* The fields from here on are the session thread's. */
	pthread_t thread;
	bool started;
	/* Questions whose answered() is due. */
	unsigned expected;
};

int group_lookup_new(struct group_lookup **out, struct err *e)
{
	struct group_lookup *g = calloc(1, sizeof(*g));

	if (!g)
		return err_set(e, ENOMEM, "no memory");
	g->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (g->fd < 0) {
		free(g);
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	}
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->wake, NULL);
	list_init(&g->waiting);
	list_init(&g->answered);
	*out = g;
	return 0;
}

void group_lookup_free(struct group_lookup *g)
{
	if (!g)
		return;
	pthread_cond_destroy(&g->wake);
	pthread_mutex_destroy(&g->lock);
	close(g->fd);
	free(g);
}

int group_lookup_fd(const struct group_lookup *g)
{
	return g->fd;
}

bool group_lookup_expects(const struct group_lookup *g)
{
	return g->expected;
}

/* The first of those with the lowest round; NULL: none waits. */
static struct group_question *lookup_next(struct group_lookup *g)
{
	struct group_question *q, *next = NULL;

	list_for_each_entry (q, &g->waiting, link)
		if (!next || q->round < next->round)
			next = q;
	return next;
}

static void lookup_publish(struct group_lookup *g, struct group_question *q)
{
	static const uint64_t one = 1;

	list_add_tail(&q->link, &g->answered);
	if (write(g->fd, &one, sizeof(one)) < 0)
		return; /* its counter is at the limit: it is readable */
}

static void lookup_answer(struct group_question *q)
{
	uint64_t begun = nsec_now(CLOCK_THREAD_CPUTIME_ID);

	supplementary_read(q->tid, q->uid, q->gid, &q->groups);
	q->took_ns = nsec_now(CLOCK_THREAD_CPUTIME_ID) - begun;
}

static void *lookup_main(void *arg)
{
	struct group_lookup *g = arg;
	struct group_question *q;

	thread_set_name("pfm-groups");
	pthread_mutex_lock(&g->lock);
	while (!g->ending) {
		q = lookup_next(g);
		if (!q) {
			pthread_cond_wait(&g->wake, &g->lock);
			continue;
		}
		list_del(&q->link);
		q->waiting = false;
		g->round = q->round;
		pthread_mutex_unlock(&g->lock);
		lookup_answer(q);
		pthread_mutex_lock(&g->lock);
		lookup_publish(g, q);
	}
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

/* One round after the user's last question, so that others come in between. */
static uint64_t lookup_round(const struct group_lookup *g, uid_t uid)
{
	const struct group_question *q;
	uint64_t round = g->round;

	list_for_each_entry (q, &g->waiting, link)
		if (q->uid == uid && q->round >= round)
			round = q->round + 1;
	return round;
}

int group_lookup_submit(struct group_lookup *g, struct group_question *q, struct err *e)
{
	if (!g->started && thread_start(&g->thread, lookup_main, g))
		return err_set(e, EAGAIN,
			"no thread can be started to read your supplementary groups: try again");
	g->started = true;
	g->expected++;
	pthread_mutex_lock(&g->lock);
	q->round = lookup_round(g, q->uid);
	q->waiting = true;
	list_add_tail(&q->link, &g->waiting);
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	return 0;
}

bool group_lookup_withdraw(struct group_lookup *g, struct group_question *q)
{
	bool waiting;

	pthread_mutex_lock(&g->lock);
	waiting = q->waiting;
	if (waiting)
		list_del(&q->link);
	pthread_mutex_unlock(&g->lock);
	g->expected -= waiting;
	return waiting;
}

/* NULL: there is none. */
static struct group_question *lookup_take(struct group_lookup *g, struct list_head *from)
{
	struct group_question *q;

	pthread_mutex_lock(&g->lock);
	q = list_first_entry_or_null(from, struct group_question, link);
	if (q)
		list_del(&q->link);
	pthread_mutex_unlock(&g->lock);
	return q;
}

static void lookup_complete(struct group_lookup *g, struct list_head *from, bool ended)
{
	struct group_question *q;

	while ((q = lookup_take(g, from))) {
		g->expected--;
		q->ended = ended;
		q->answered(q);
	}
}

void group_lookup_complete(struct group_lookup *g)
{
	uint64_t signalled;

	if (g->expected && read(g->fd, &signalled, sizeof(signalled)) > 0)
		lookup_complete(g, &g->answered, false);
}

void group_lookup_stop(struct group_lookup *g)
{
	if (!g->started)
		return;
	pthread_mutex_lock(&g->lock);
	g->ending = true;
	pthread_cond_signal(&g->wake);
	pthread_mutex_unlock(&g->lock);
	pthread_join(g->thread, NULL);
	lookup_complete(g, &g->answered, true);
	lookup_complete(g, &g->waiting, true);
}
