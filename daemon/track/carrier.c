// SPDX-License-Identifier: MIT
#include "daemon/track/carrier.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/cpu/thread.h"
#include "daemon/track/carrier_i.h"

enum {
	OFFLINE_MS = 20, /* how often it looks whether its CPU is back */
	ORDER_RETIRE = 1,
};

static void ring(struct carrier *c)
{
	eventfd_write(c->fds[FD_BELL].fd, 1);
}

static void try(struct carrier *c, struct carrier_try *t)
{
	t->rc = c->open ? 0 : carrier_open(c, &t->err);
	if (t->rc == 0 && t->ctx)
		t->rc = carrier_prepare(c, t->ctx, &t->err);
	news_send(c->tr->box, &t->news.news);
}

/* One that is open, for what is to be done at once: without its CPU, a carrier may have to wait for
 * anybody, and others of its kind would for it. */
static struct carrier *stand_in(struct carrier *c)
{
	for (unsigned cpu = 0; c->offline && cpu < CPUS_MAX; cpu++) {
		struct carrier *other = atomic_load(&c->tr->carriers[cpu]);

		if (other && load_word(&other->now->carrier))
			return other;
	}
	return NULL;
}

static void read_mail(struct carrier *c)
{
	struct carrier *other;
	struct link *l;

	for (l = queue_take(&c->tries); l;) {
		struct carrier_try *t = link_entry(l, struct carrier_try, link);

		l = l->next;
		try(c, t);
	}
	for (l = queue_take(&c->mail); l;) {
		struct job *job = link_entry(l, struct job, link);

		l = l->next;
		other = stand_in(c);
		if (other)
			carrier_mail(other, job);
		else
			carrier_deliver(c, job);
	}
}

/* Several may have, one after the other, before this thread could come. */
static void tell_of_deaths(struct carrier *c)
{
	unsigned n = 0, slot = __atomic_exchange_n(&c->now->died, 0, __ATOMIC_ACQ_REL);

	for (; slot && n < SCHED_SLOTS; n++) {
		seat_tell_of_death(c, slot);
		slot = load_word(&sched_slot(c->tr->sched, slot)->before);
	}
}

static void stop_ringing(struct carrier *c)
{
	uint64_t rings;

	if (c->fds[FD_BELL].revents)
		raw_syscall4(SYS_read, c->fds[FD_BELL].fd, (long)&rings, sizeof(rings), 0);
}

static void sleep_alone(struct carrier *c)
{
	raw_syscall6(SYS_ppoll, (long)c->fds, FD_BELL + 1, 0, 0, 0, 0);
}

/* Is it back? */
static void sleep_offline(struct carrier *c)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	struct timespec left = nsec_timespec(c->retry_at > now ? c->retry_at - now : 0);

	raw_syscall6(SYS_ppoll, (long)c->fds, FD_BELL + 1, (long)&left, 0, 0, 0);
	if (nsec_now(CLOCK_MONOTONIC) < c->retry_at)
		return;
	carrier_open(c, &c->err);
	if (!c->offline)
		return;
	carrier_step_back();
	c->retry_at = nsec_now(CLOCK_MONOTONIC) + OFFLINE_MS * 1000000ULL;
}

static void *carrier_main(void *arg)
{
	struct carrier *c = arg;

	while (!(atomic_load(&c->orders) & ORDER_RETIRE)) {
		carrier_board(c);
		if (c->boarded)
			carrier_ride(c, &c->boarded->tenant->ctx, &c->left);
		else if (c->offline)
			sleep_offline(c);
		else
			sleep_alone(c);
		stop_ringing(c);
		if (c->boarded)
			carrier_put_down(c);
		if (c->open)
			tell_of_deaths(c);
		if (carrier_was_offline(c)) {
			carrier_shut(c);
			carrier_step_back();
			c->offline = true;
		}
		read_mail(c);
	}
	if (c->open)
		carrier_shut(c);
	news_send(c->tr->box, &c->gone.news);
	return NULL;
}

int carrier_new(struct track *tr, unsigned cpu, struct carrier **out, struct err *e)
{
	CLEANUP_FREE struct carrier *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(e, ENOMEM, "no memory for a carrier");
	c->tr = tr;
	c->cpu = cpu;
	c->now = sched_cpu(tr->sched, cpu);
	c->x.be = tr->be;
	c->x.stats = &tr->stats->exec;
	c->in.verb = CMD_IN;
	c->out.verb = CMD_OUT;
	c->gone.news.kind = NEWS_TRACK;
	c->gone.take = tracker_carrier_gone;
	for (unsigned i = 0; i < NFDS; i++)
		c->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	c->fds[FD_BELL].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->fds[FD_BELL].fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	/* On another CPU it would be counted as a thread there. */
	rc = thread_start_on(&c->thread, cpu, carrier_main, c);
	if (rc == EINVAL)
		rc = thread_start(&c->thread, carrier_main, c); /* it will say that it is offline */
	if (rc) {
		close(c->fds[FD_BELL].fd);
		return err_set(e, rc, "cannot start the carrier of CPU %u: %s (thread limit?)", cpu,
			err_name(rc));
	}
	/* Or a busy CPU keeps it from beginning; if it cannot, it says so. */
	carrier_come_first(c->thread);
	*out = take_ptr(&c);
	return 0;
}

void carrier_try(struct carrier *c, struct carrier_try *t)
{
	queue_put(&c->tries, &t->link);
	ring(c);
}

void carrier_mail(struct carrier *c, struct job *job)
{
	queue_put(&c->mail, &job->link);
	ring(c);
}

void carrier_prod(struct carrier *c)
{
	ring(c);
}

void carrier_prod_cpu(struct carrier *c, unsigned cpu)
{
	struct carrier *there = cpu < CPUS_MAX ? atomic_load(&c->tr->carriers[cpu]) : NULL;

	if (there && there != c)
		carrier_prod(there);
}

void carrier_retire(struct carrier *c)
{
	atomic_fetch_or(&c->orders, ORDER_RETIRE);
	ring(c);
}

void carrier_free(struct carrier *c)
{
	pthread_join(c->thread, NULL);
	close(c->fds[FD_BELL].fd);
	free(c);
}

struct carrier *carrier_of_news(struct track_news *n)
{
	return link_entry(n, struct carrier, gone);
}
