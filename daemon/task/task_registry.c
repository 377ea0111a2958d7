// SPDX-License-Identifier: MIT
#include "daemon/track/tracker.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/track/tracker_i.h"

int tracker_new(struct backend *be, struct news_box *box, struct engine_stats *stats,
	const struct tracker_ops *ops, void *arg, struct tracker **out, struct err *e)
{
	struct tracker *tk = calloc(1, sizeof(*tk));

	if (!tk)
		return err_set(e, ENOMEM, "no memory");
	tk->tr = (struct track){.be = be, .box = box, .stats = stats};
	tk->x.be = be;
	tk->x.stats = &stats->exec;
	tk->ops = ops;
	tk->arg = arg;
	*out = tk;
	return 0;
}

void tracker_stop(struct tracker *tk)
{
	if (tk->tr.tracer)
		tracer_free(take_ptr(&tk->tr.tracer));
}

void tracker_free(struct tracker *tk)
{
	if (tk->tr.sched)
		sched_close(tk->tr.sched);
	virtuals_close(&tk->x.virtuals);
	while (tk->leaving)
		tracker_left(tk, tk->leaving);
	free(tk->tr.seats);
	free(tk);
}

struct tenant *tracker_any(const struct tracker *tk)
{
	return tk->riders ? tk->riders->tenant : NULL;
}

bool tracker_idle(const struct tracker *tk)
{
	return !tk->riders && !tk->tr.stats->carriers;
}

bool tracker_expects_news(const struct tracker *tk)
{
	return !tracker_idle(tk) || tk->leaving;
}

bool tracker_carries(const struct tracker *tk, unsigned cpu)
{
	return cpu < CPUS_MAX && atomic_load(&tk->tr.carriers[cpu]);
}

/* --- Riders */

static struct rider **bucket(struct tracker *tk, pid_t tid)
{
	return &tk->by_tid[(unsigned)tid % TID_BUCKETS];
}

struct rider *rider_find(struct tracker *tk, pid_t tid)
{
	struct rider *r = *bucket(tk, tid);

	while (r && r->tid != tid)
		r = r->tid_next;
	return r;
}

static void unhash(struct tracker *tk, struct rider *r)
{
	struct rider **at = bucket(tk, r->tid);

	if (!r->tid)
		return;
	while (*at != r)
		at = &(*at)->tid_next;
	*at = r->tid_next;
	r->tid = 0;
}

void rider_rename(struct tracker *tk, struct rider *r, pid_t tid)
{
	struct rider *before = rider_find(tk, tid);

	if (before)
		unhash(tk, before); /* that one's number is gone: it has ended */
	unhash(tk, r);
	r->tid = tid;
	r->tid_next = *bucket(tk, tid);
	*bucket(tk, tid) = r;
}

/* The next one in turn, so that a number stays unused for as long as possible. */
static unsigned free_slot(struct tracker *tk)
{
	for (unsigned i = 1; i < SCHED_SLOTS; i++) {
		tk->next_slot = tk->next_slot % (SCHED_SLOTS - 1) + 1;
		if (!tk->tr.seats[tk->next_slot].rider)
			return tk->next_slot;
	}
	return 0;
}

int rider_new(struct tracker *tk, struct tenant *t, pid_t tid, struct rider **out, struct err *e)
{
	CLEANUP_FREE struct rider *r = calloc(1, sizeof(*r));
	CLEANUP_FREE struct job *end = calloc(1, sizeof(*end));
	unsigned slot = free_slot(tk);
	struct seat *s = &tk->tr.seats[slot];

	if (!r || !end || !slot)
		return err_set(e, slot ? ENOMEM : ENOSPC,
			slot ? "no memory" : "%d threads are followed already: unload some",
			SCHED_SLOTS - 1);
	r->end = take_ptr(&end);
	r->tenant = r->root = t;
	r->slot = slot;
	rider_rename(tk, r, tid);
	s->rider = r;
	s->died.news.kind = NEWS_TRACK;
	s->died.take = tracker_died;
	atomic_store(&s->missed, 0);
	atomic_store(&s->dying, false);
	r->next = tk->riders;
	tk->riders = r;
	t->rider = r;
	tk->tr.stats->threads++;
	*out = take_ptr(&r);
	return 0;
}

static void retire_all(struct tracker *tk)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct carrier *c = atomic_exchange(&tk->tr.carriers[cpu], NULL);

		if (c)
			carrier_retire(c);
	}
}

void tracker_carrier_gone(struct tracker *tk, struct track_news *n)
{
	queue_put(&tk->gone, &n->news.link);
	if (--tk->tr.stats->carriers)
		return; /* others may still ring it */
	for (struct link *next, *l = queue_take(&tk->gone); l; l = next) {
		next = l->next;
		n = link_entry(link_entry(l, struct news, link), struct track_news, news);
		carrier_free(carrier_of_news(n));
	}
	tk->ops->idle(tk->arg);
}

int principal_new(struct principal **out, struct job *load, struct err *e)
{
	CLEANUP_FREE struct principal *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, ENOMEM, "no memory");
	if (credentials_of(load->pid, &p->who, e) < 0)
		return -e->no;
	p->refs = 1;
	p->rights = load->cmd.rights;
	p->limits = load->cmd.limits;
	*out = take_ptr(&p);
	return 0;
}

void principal_unref(struct principal *p)
{
	if (!p || --p->refs)
		return;
	credentials_drop(&p->who);
	free(p);
}

/* Those that have waited are looked at from the beginning. */
static void submit_loads(struct tracker *tk, struct link *waiting)
{
	while (waiting) {
		struct job *job = link_entry(waiting, struct job, link);

		waiting = waiting->next;
		tk->ops->submit(tk->arg, job);
	}
}

/* With the last one the carriers go. The program in the scheduler stays: it takes long to load, and
 * while nobody is followed it takes next to nothing to run. */
void rider_free(struct tracker *tk, struct rider *r)
{
	struct rider **at = &tk->riders;
	struct link *waiting;

	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	unhash(tk, r);
	tk->tr.seats[r->slot].rider = NULL;
	r->tenant->rider = NULL;
	tk->tr.stats->threads--;
	principal_unref(r->whose);
	waiting = queue_take(&r->loads);
	free(r->end);
	free(r);
	submit_loads(tk, waiting);
	if (tk->riders)
		return;
	if (tk->tr.stats->carriers)
		retire_all(tk);
	else
		tk->ops->idle(tk->arg);
}

void rider_prod(struct tracker *tk, const struct rider *r)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct carrier *c = atomic_load(&tk->tr.carriers[cpu]);

		if (c && cpus_has(&r->where, cpu))
			carrier_prod(c);
	}
}

void tracker_job_done(struct job *job)
{
	free(job);
}

static enum sched_death death_of(const struct tracker *tk, const struct rider *r)
{
	return __atomic_load_n(&sched_slot(tk->tr.sched, r->slot)->dead, __ATOMIC_ACQUIRE);
}

bool rider_is_dead(const struct tracker *tk, const struct rider *r)
{
	return death_of(tk, r);
}

static void tell_if_barred(struct tracker *tk, const struct rider *r)
{
	const struct sched_slot *s = sched_slot(tk->tr.sched, r->slot);
	struct err e;

	if (death_of(tk, r) != SCHED_BARRED)
		return;
	err_set(&e, EPERM,
		"thread %u has executed a program that you may not trace, and is not followed any "
		"more: load as root",
		__atomic_load_n(&s->tid, __ATOMIC_RELAXED));
	r->tenant->trouble(r->tenant, &e);
}

void rider_end(struct tracker *tk, struct rider *r)
{
	if (!r->end || r->coming)
		return;
	tell_if_barred(tk, r);
	*r->end = (struct job){
		.tenant = r->tenant,
		.cmd.verb = CMD_END,
		.done = tracker_job_done,
	};
	tk->ops->submit(tk->arg, take_ptr(&r->end));
}

void tracker_died(struct tracker *tk, struct track_news *n)
{
	struct seat *s = link_entry(n, struct seat, died);

	/* It may have been unloaded meanwhile, and the seat be another's, whose thread lives. */
	if (s->rider && rider_is_dead(tk, s->rider))
		rider_end(tk, s->rider);
	else
		atomic_store(&s->dying, false);
}

/* --- Those that are let go of */

/* Without memory, a load that comes too soon is EBUSY. */
void tracker_release(struct tracker *tk, pid_t tid)
{
	struct leaving *l = calloc(1, sizeof(*l));

	if (l) {
		l->tid = tid;
		l->next = tk->leaving;
		tk->leaving = l;
	}
	tracer_release(tk->tr.tracer, tid);
}

struct leaving *tracker_leaving(struct tracker *tk, pid_t tid)
{
	struct leaving *l = tk->leaving;

	while (l && l->tid != tid)
		l = l->next;
	return l;
}

void tracker_left(struct tracker *tk, struct leaving *l)
{
	struct link *waiting = queue_take(&l->loads);
	struct leaving **at = &tk->leaving;

	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	free(l);
	submit_loads(tk, waiting);
}

void tracker_wait_no_more(struct tracker *tk)
{
	for (struct leaving *l = tk->leaving; l; l = l->next)
		submit_loads(tk, queue_take(&l->loads));
}

/* --- Carriers */

int tracker_man(struct tracker *tk, const struct cpus *where, struct err *e)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct carrier *c = atomic_load(&tk->tr.carriers[cpu]);
		int rc;

		if (c || !cpus_has(where, cpu))
			continue;
		rc = carrier_new(&tk->tr, cpu, &c, e);
		if (rc < 0)
			return rc;
		atomic_store(&tk->tr.carriers[cpu], c);
		tk->tr.stats->carriers++;
	}
	return 0;
}

/* --- Commands for loaded ones */

/* What is started, stopped or unloaded, is so with all that it has brought forth. */
static void pass_on(struct tracker *tk, const struct job *job)
{
	for (struct rider *r = tk->riders; r; r = r->next) {
		struct job *copy;

		if (r->root != job->tenant || r->tenant == job->tenant)
			continue;
		copy = calloc(1, sizeof(*copy));
		if (!copy)
			return;
		copy->tenant = r->tenant;
		copy->cmd = job->cmd;
		copy->done = tracker_job_done;
		tk->ops->submit(tk->arg, copy);
	}
}

static bool is_for_all(enum cmd_verb verb)
{
	return verb == CMD_START || verb == CMD_STOP || verb == CMD_UNLOAD;
}

void tracker_submit(struct tracker *tk, struct job *job)
{
	struct tenant *t = job->tenant;
	struct rider *r = t->rider;
	unsigned cpu;

	if (r->coming) {
		queue_put(&t->bounced, &job->link);
		return;
	}
	if (r->follow && r->root == t && is_for_all(job->cmd.verb))
		pass_on(tk, job);
	if (command_needs_session(job->cmd.verb))
		job->here = true;
	job->tracked = true;
	cpu = seat_cpu(atomic_load(&tk->tr.seats[r->slot].word));
	atomic_fetch_add(&t->inflight, 1);
	carrier_mail(atomic_load(&tk->tr.carriers[cpu]), job);
}

void tracker_unloaded(struct tracker *tk, struct tenant *t)
{
	struct rider *r = t->rider;

	/* Of one that has ended, the number may be another's. */
	if (r->traced && r->tid && !r->over && !rider_is_dead(tk, r))
		tracker_release(tk, r->tid);
	sched_forget(tk->tr.sched, r->slot);
	rider_free(tk, r);
}
