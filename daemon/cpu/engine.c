// SPDX-License-Identifier: MIT
#include "daemon/cpu/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/cpu/engine_i.h"
#include "daemon/cpu/exec.h"
#include "daemon/track/tracker.h"

struct engine {
	struct backend *be;
	struct news_box box;
	struct engine_stats stats;
	struct tenant *loaded; /* those that have a home, */
	unsigned watched;      /* and how many of them are watched */
	struct survey *survey; /* the one under way */
	struct tracker *tracker;
	struct queue waiting; /* loads, until the tracker is idle or somebody is out of the way */
	bool ending;          /* nothing more is loaded */
	unsigned expected;    /* news to come, at least as many as 1 if there are any */
	uint64_t owed;        /* news taken before their senders have made the box readable */
	struct executor x;    /* of commands on unloaded contexts */
};

static bool submit_bounced(struct engine *eng, struct tenant *t);

/* What the tracker asks for. */

static void submit(void *arg, struct job *job)
{
	engine_submit(arg, job);
}

static void resubmit(void *arg, struct tenant *t)
{
	submit_bounced(arg, t);
}

static void submit_waiting(void *arg)
{
	struct engine *eng = arg;
	struct link *l = queue_take(&eng->waiting);

	while (l) {
		struct job *job = link_entry(l, struct job, link);

		l = l->next;
		engine_submit(eng, job);
	}
}

static const struct tracker_ops tracker_ops = {submit, resubmit, submit_waiting};

int engine_new(struct backend *be, struct engine **out, struct err *e)
{
	CLEANUP_FREE struct engine *eng = calloc(1, sizeof(*eng));
	int rc;

	if (!eng)
		return err_set(e, ENOMEM, "no memory");
	eng->be = be;
	eng->x.be = be;
	eng->x.stats = &eng->stats.exec;
	eng->box.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (eng->box.fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	rc = tracker_new(be, &eng->box, &eng->stats, &tracker_ops, eng, &eng->tracker, e);
	if (rc < 0)
		return rc;
	*out = take_ptr(&eng);
	return 0;
}

void engine_free(struct engine *eng)
{
	engine_drain(eng);
	tracker_stop(eng->tracker);
	engine_news(eng);
	tracker_free(eng->tracker);
	virtuals_close(&eng->x.virtuals);
	close(eng->box.fd);
	free(eng);
}

struct news_box *engine_box(struct engine *eng)
{
	return &eng->box;
}

void engine_expect(struct engine *eng)
{
	eng->expected++;
}

struct survey **engine_survey_slot(struct engine *eng)
{
	return &eng->survey;
}

struct backend *engine_backend(struct engine *eng)
{
	return eng->be;
}

struct engine_stats *engine_stats(struct engine *eng)
{
	return &eng->stats;
}

int engine_news_fd(const struct engine *eng)
{
	return eng->box.fd;
}

int engine_tenant_init(struct engine *eng, struct tenant *t)
{
	*t = (struct tenant){.news.kind = NEWS_UNLOADED, .happened.kind = NEWS_HAPPENED};
	return ctx_init(&t->ctx, eng->be->pmu);
}

void engine_tenant_free(struct tenant *t)
{
	ctx_free(&t->ctx);
}

void engine_watch(struct engine *eng, struct tenant *t)
{
	if (!atomic_exchange(&t->watched, true) && t->home)
		eng->watched++;
}

const struct tenant *engine_owner(const struct engine *eng, unsigned cpu)
{
	for (const struct tenant *t = eng->loaded; t; t = t->loaded_next)
		if (worker_cpu(t->home) == cpu)
			return t;
	return NULL;
}

unsigned engine_on_cpus(const struct engine *eng)
{
	unsigned n = 0;

	for (const struct tenant *t = eng->loaded; t; t = t->loaded_next)
		n++;
	return n;
}

bool engine_carries(const struct engine *eng, unsigned cpu)
{
	return tracker_carries(eng->tracker, cpu);
}

/* An unloaded tenant is news: a job that may leave it so makes it expected. */
static void expect_unloaded(struct engine *eng, struct tenant *t)
{
	t->expects++;
	eng->expected++;
}

/* After starting, the worker must do no more than it has to. */
static bool leaves_it_to_session(enum cmd_verb verb)
{
	return verb == CMD_START || verb == CMD_RESTART || command_needs_session(verb);
}

static void mail(struct engine *eng, struct job *job)
{
	struct tenant *t = job->tenant;

	if (leaves_it_to_session(job->cmd.verb))
		job->here = true;
	if (job->here)
		eng->expected++;
	if (job->cmd.verb == CMD_LOAD || job->cmd.verb == CMD_UNLOAD ||
		job->cmd.verb == CMD_DESTROY)
		expect_unloaded(eng, t);
	atomic_fetch_add(&t->inflight, 1);
	worker_mail(t->home, job);
}

/* Gives the tenant a worker of its own for the CPU of its load. */
static int move_in(struct engine *eng, struct job *job, struct err *e)
{
	struct tenant *t = job->tenant;
	unsigned cpu = job->cmd.cpu;
	const struct tenant *owner = engine_owner(eng, cpu);
	const struct tenant *rider = tracker_any(eng->tracker);
	int rc;

	if (rider)
		return err_set(e, EBUSY,
			"threads are monitored, by context '%s' of uid %u (loaded by pid %d) and "
			"perhaps others: the PMU is theirs until all are unloaded",
			rider->name, rider->uid, rider->pid);
	if (owner)
		return err_set(e, EBUSY,
			"CPU %u is taken by context '%s' of uid %u (loaded by pid %d): see cpus",
			cpu, owner->name, owner->uid, owner->pid);
	if (cpu >= eng->be->ops->cpu_limit(eng->be))
		return err_set(e, EINVAL, "there is no CPU %u: see cpus", cpu);
	rc = worker_new(eng->be, &eng->box, &eng->stats, cpu, &t->home, e);
	if (rc < 0)
		return rc;
	eng->stats.workers++;
	t->pid = job->pid;
	t->loaded_next = eng->loaded;
	eng->loaded = t;
	eng->watched += atomic_load(&t->watched);
	return 0;
}

static void finish(struct job *job)
{
	struct tenant *t = job->tenant;
	bool over = t->doomed && job->cmd.verb == CMD_DESTROY && !t->home && !t->rider;

	job->done(job);
	if (over)
		t->gone(t);
}

static bool only_looks(enum cmd_verb verb)
{
	return verb == CMD_READ || verb == CMD_INFO || verb == CMD_EVTSET_READ ||
	       verb == CMD_MESSAGES || verb == CMD_LIVE_READ;
}

/*
 * Reading needs no thread on the CPU: while its worker has nothing to do, the tenant is borrowed
 * from it. That is several times quicker than mail, and the monitored CPU executes no user
 * instruction for it; the kernel gets the register by an interrupt there, which the session
 * thread waits for, microseconds. An overflow that is found so is the worker's to act upon.
 * False: the worker is busy.
 */
static bool look(struct job *job)
{
	struct tenant *t = job->tenant;
	unsigned none = 0;
	bool found;

	if (!only_looks(job->cmd.verb))
		return false;
	if (!atomic_compare_exchange_strong(&t->inflight, &none, 1))
		return false;
	job->rc = exec_command(worker_executor(t->home), &t->ctx, &job->cmd, &job->err);
	tenant_publish(t);
	found = ctx_wake(&t->ctx).at == 1;
	atomic_fetch_sub(&t->inflight, 1);
	if (found)
		worker_prod(t->home);
	job->done(job);
	return true;
}

static int ride(struct engine *eng, struct job *job, struct err *e)
{
	const struct tenant *owner = eng->loaded;
	int rc;

	if (owner)
		return err_set(e, EBUSY,
			"CPU %u is monitored, by context '%s' of uid %u (loaded by pid %d) and "
			"perhaps "
			"others: no thread can be until all are unloaded",
			worker_cpu(owner->home), owner->name, owner->uid, owner->pid);
	rc = tracker_load(eng->tracker, job, e);
	if (rc == 0)
		job->tenant->pid = job->pid;
	return rc;
}

/* Whose being loaded excludes that load. */
static const struct tenant *in_the_way(const struct engine *eng, const struct command *cmd)
{
	const struct tenant *rider = tracker_any(eng->tracker);

	if (cmd->tid)
		return eng->loaded;
	return rider ? rider : engine_owner(eng, cmd->cpu);
}

/* Done by the caller if it fails, or has to be. False: it is under way. */
static bool load(struct engine *eng, struct job *job)
{
	const struct tenant *other = in_the_way(eng, &job->cmd);
	struct err *e = &job->err;

	job->rc = core_load_check(&job->tenant->ctx, &job->cmd, e);
	if (job->rc < 0)
		return true;
	if (eng->ending) {
		job->rc = err_set(e, ENODEV, "the daemon is ending");
		return true;
	}
	/* Somebody has unloaded a thread just now, and its carriers put registers back; or has
	 * closed a context, which is being unloaded. */
	if ((other && other->doomed) ||
		(!tracker_any(eng->tracker) && !tracker_idle(eng->tracker))) {
		queue_put(&eng->waiting, &job->link);
		return false;
	}
	if (job->cmd.tid) {
		job->rc = ride(eng, job, e);
		return job->rc < 0;
	}
	job->rc = move_in(eng, job, e);
	if (job->rc < 0)
		return true;
	job->initial = true;
	mail(eng, job);
	return false;
}

void engine_submit(struct engine *eng, struct job *job)
{
	struct tenant *t = job->tenant;

	job->news.kind = NEWS_JOB;
	atomic_fetch_add(&eng->stats.commands, 1);
	if (job->cmd.verb == CMD_DESTROY)
		t->doomed = true;
	if (t->home) {
		if (!look(job))
			mail(eng, job);
		return;
	}
	if (t->rider) {
		tracker_submit(eng->tracker, job);
		return;
	}
	if (t->doomed && job->cmd.verb != CMD_DESTROY) {
		job->rc = err_set(&job->err, ENODEV, "the context is being removed");
	} else if (job->cmd.verb == CMD_LOAD) {
		if (!load(eng, job))
			return;
	} else {
		job->rc = exec_command(&eng->x, &t->ctx, &job->cmd, &job->err);
		tenant_publish(t);
	}
	finish(job);
}

bool engine_cancel(struct job *job)
{
	int waiting = JOB_WAITING;

	return job->cmd.verb != CMD_DESTROY &&
	       atomic_compare_exchange_strong(&job->state, &waiting, JOB_CANCELLED);
}

/* CMD_DESTROY comes last, whatever it has overtaken: true if it is among them. */
static bool submit_bounced(struct engine *eng, struct tenant *t)
{
	struct link *l = queue_take(&t->bounced);
	struct job *destroy = NULL;

	while (l) {
		struct job *job = link_entry(l, struct job, link);

		l = l->next;
		job->bounced = false;
		if (job->cmd.verb == CMD_DESTROY) {
			destroy = job;
		} else if (t->doomed) {
			job->rc = err_set(&job->err, ENODEV, "the context is being removed");
			job->done(job);
		} else {
			engine_submit(eng, job);
		}
	}
	if (destroy)
		engine_submit(eng, destroy);
	return destroy;
}

/* It is the session thread's again. */
static void moved_out(struct engine *eng, struct tenant *t)
{
	bool over = t->doomed; /* by a command that has been carried out, or has bounced */

	if (!submit_bounced(eng, t) && over)
		t->gone(t);
	submit_waiting(eng);
}

/*
 * Something that was in flight has arrived here. If it was the last, the tenant is unloaded and
 * taken back from its worker, which then has nothing left to do.
 */
static void move_out(struct engine *eng, struct tenant *t)
{
	struct tenant **at = &eng->loaded;

	if (atomic_fetch_sub(&t->inflight, 1) != 1)
		return; /* what is still in the mail brings the news again */
	if (t->rider) {
		tracker_unloaded(eng->tracker, t);
		moved_out(eng, t);
		return;
	}
	while (*at != t)
		at = &(*at)->loaded_next;
	*at = t->loaded_next;
	eng->watched -= atomic_load(&t->watched);
	eng->expected -= t->expects;
	t->expects = 0;
	worker_retire(t->home);
	eng->expected++; /* that it is gone */
	t->home = NULL;
	moved_out(eng, t);
}

static void job_news(struct engine *eng, struct job *job)
{
	if (!job->tracked)
		eng->expected--;
	if (!job->bounced) {
		/* Only the load that a worker was made for leaves its tenant unloaded if it fails.
		 */
		if (job->cmd.verb == CMD_LOAD && job->tenant->expects &&
			(job->rc == 0 || !job->initial)) {
			job->tenant->expects--;
			eng->expected--;
		}
		job->done(job);
		return;
	}
	queue_put(&job->tenant->bounced, &job->link);
	move_out(eng, job->tenant);
}

static void happened(struct tenant *t)
{
	/* First, so that what happens from now on is told again. */
	atomic_store(&t->told, false);
	t->event(t);
}

bool engine_expects_news(const struct engine *eng)
{
	return eng->expected || eng->watched || tracker_expects_news(eng->tracker);
}

static void take_track_news(struct tracker *tk, struct track_news *n)
{
	n->take(tk, n);
}

void engine_news(struct engine *eng)
{
	struct link *l;
	uint64_t n = 0;

	if (queue_empty(&eng->box.queue) && !eng->owed)
		return;
	/* A sender puts its news first, then writes 1: that may be still to come. If it were left
	 * unread, the box would stay readable with nothing in it. */
	if (read(eng->box.fd, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	eng->owed -= n;
	l = queue_take(&eng->box.queue);
	while (l) {
		struct news *news = link_entry(l, struct news, link);

		l = l->next;
		eng->owed++;
		switch (news->kind) {
		case NEWS_JOB:
			job_news(eng, link_entry(news, struct job, news));
			break;
		case NEWS_UNLOADED:
			move_out(eng, link_entry(news, struct tenant, news));
			break;
		case NEWS_HAPPENED:
			happened(link_entry(news, struct tenant, happened));
			break;
		case NEWS_WORKER_GONE:
			worker_free(worker_of_news(news));
			eng->stats.workers--;
			eng->expected--;
			break;
		case NEWS_SURVEY:
			eng->expected--;
			survey_news(news);
			break;
		case NEWS_TRACK:
			take_track_news(eng->tracker, link_entry(news, struct track_news, news));
			break;
		}
	}
}

static void wait_for_news(struct engine *eng)
{
	struct pollfd p = {.fd = eng->box.fd, .events = POLLIN};

	poll(&p, 1, -1);
	engine_news(eng);
}

/* An unload without a client, for which there is always memory. */
struct last_unload {
	struct job job;
	bool done;
};

static void unload_done(struct job *job)
{
	link_entry(job, struct last_unload, job)->done = true;
}

static void unload(struct engine *eng, struct tenant *t)
{
	struct last_unload last = {
		.job =
			{
				.tenant = t,
				.cmd.verb = CMD_UNLOAD,
				.done = unload_done,
				.here = true,
			},
	};

	engine_submit(eng, &last.job);
	while (!last.done)
		wait_for_news(eng);
}

void engine_drain(struct engine *eng)
{
	struct tenant *t;

	eng->ending = true;
	tracker_wait_no_more(eng->tracker);
	while (eng->loaded) {
		t = eng->loaded;
		unload(eng, t);
		while (eng->loaded == t)
			wait_for_news(eng);
	}
	while ((t = tracker_any(eng->tracker))) {
		unload(eng, t);
		while (t == tracker_any(eng->tracker))
			wait_for_news(eng);
	}
	while (eng->stats.workers || eng->survey || !tracker_idle(eng->tracker))
		wait_for_news(eng);
}

uint64_t engine_wake(const struct engine *eng)
{
	uint64_t soonest = 0;

	for (const struct tenant *t = eng->loaded; t; t = t->loaded_next) {
		uint64_t at = worker_wake(t->home);

		if (at && (!soonest || at < soonest))
			soonest = at;
	}
	return soonest;
}

/* One round of polls: the last job to be done calls back. */
struct round {
	unsigned left;
	void (*after)(void *arg);
	void *arg;
};

struct poll_job {
	struct job job;
	struct round *round;
};

static void round_done(struct round *r)
{
	if (--r->left)
		return;
	r->after(r->arg);
	free(r);
}

static void poll_done(struct job *job)
{
	struct poll_job *p = link_entry(job, struct poll_job, job);

	round_done(p->round);
	free(p);
}

void engine_poll_all(struct engine *eng, void (*after)(void *arg), void *arg)
{
	struct round *r = calloc(1, sizeof(*r));

	if (!r) {
		after(arg);
		return;
	}
	*r = (struct round){.left = 1, .after = after, .arg = arg};
	for (struct tenant *t = eng->loaded, *next; t; t = next) {
		struct poll_job *p = calloc(1, sizeof(*p));

		next = t->loaded_next;
		if (!p)
			break;
		p->round = r;
		p->job.tenant = t;
		p->job.cmd.verb = CMD_POLL;
		p->job.here = true;
		p->job.done = poll_done;
		r->left++;
		engine_submit(eng, &p->job);
	}
	round_done(r);
}
