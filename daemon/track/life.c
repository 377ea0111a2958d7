// SPDX-License-Identifier: MIT
/*
 * What the lives of followed threads bring: children that get contexts of their own, programs that
 * are exchanged, and the end. The tracer tells it in its own thread; it is dealt with in the
 * session thread, while the thread concerned stands still.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/track/tracker_i.h"

/* A thread and another: parent and child, or what it was and is. */
struct event {
	struct track_news news;
	pid_t one, other;
};

static void send_event(struct tracker *tk, pid_t one, pid_t other,
	void (*take)(struct tracker *tk, struct track_news *n))
{
	struct event *ev = calloc(1, sizeof(*ev));

	/* Without memory it runs on as if it were not followed. */
	if (!ev) {
		tracer_go(tk->tr.tracer, other);
		return;
	}
	*ev = (struct event){
		.news = {.news.kind = NEWS_TRACK, .take = take}, .one = one, .other = other};
	news_send(tk->tr.box, &ev->news.news);
}

/* --- Birth */

struct birth {
	struct job job; /* CMD_CLONE, of the parent */
	struct tracker *tk;
	struct rider *child; /* coming */
};

/* The child counts from its first instruction on if its parent does. */
static int begin(struct birth *b, const struct command *cloned, struct err *e)
{
	struct rider *r = b->child;
	struct command load = {
		.verb = CMD_LOAD,
		.tid = r->tid,
		.rights = r->whose->rights,
		.limits = r->whose->limits,
	};
	struct command start = {
		.verb = CMD_START, .rights = r->whose->rights, .limits = r->whose->limits};
	bool counts = cloned->info.state == CTX_RUNNING || cloned->info.state == CTX_MASKED;
	struct target target = {.dir = -1};
	int rc = target_open(getpid(), r->tid, &target, e);

	if (rc == 0)
		rc = rider_follow(b->tk, r, false, e);
	if (rc == 0) {
		r->traced = true;
		r->tenant->ctx.pid = target.tgid;
		rc = rider_seat(b->tk, r, &load, counts ? &start : NULL, e);
	}
	target_close(&target);
	return rc;
}

/* Unless somebody else does, too. Without memory, it stays behind empty. */
static void discard(struct tracker *tk, struct tenant *child)
{
	struct job *job = child && !child->doomed ? calloc(1, sizeof(*job)) : NULL;

	if (!job)
		return;
	*job = (struct job){.tenant = child, .cmd.verb = CMD_DESTROY, .done = tracker_job_done};
	tk->ops->submit(tk->arg, job);
}

/* It runs on, as if it were not followed. */
static void come_to_nothing(
	struct tracker *tk, struct tenant *root, struct tenant *child, pid_t tid, struct err *e)
{
	discard(tk, child);
	root->unfollowed(root, tid, e);
}

static void cloned(struct job *job)
{
	struct birth *b = link_entry(job, struct birth, job);
	struct tracker *tk = b->tk;
	struct rider *r = b->child;
	pid_t tid = r->tid;
	struct err e = job->err;
	/* What has been unloaded follows nobody any more. */
	bool alone = job->rc == 0 && job->cmd.info.state == CTX_UNLOADED && !job->cmd.info.ended;
	int rc = job->rc;

	if (alone)
		rc = -ESRCH;
	else if (rc == 0)
		rc = begin(b, &job->cmd, &e);
	if (rc == 0)
		tracer_go(tk->tr.tracer, tid);
	else if (!r->over)
		tracker_release(tk, tid);
	if (alone)
		discard(tk, r->tenant);
	else if (rc < 0)
		come_to_nothing(tk, r->root, r->tenant, tid, &e);
	rider_come(tk, r, rc);
	free(b);
}

/* What of its parent's is the child's, too. */
static void inherit(struct rider *r, const struct rider *parent)
{
	r->root = parent->root;
	r->follow = true;
	r->coming = true;
	r->wanted = parent->wanted;
	r->confined = parent->confined;
	r->where = parent->where;
	r->whose = parent->whose;
	r->whose->refs++;
}

static int make_child(struct tracker *tk, struct rider *parent, pid_t tid, struct birth *b,
	struct tenant **child, struct err *e)
{
	int rc;

	*child = NULL;
	if (!b)
		return err_set(e, ENOMEM, "no memory");
	*child = parent->root->child(parent->root, tid, e);
	if (!*child)
		return -e->no;
	rc = rider_new(tk, *child, tid, &b->child, e);
	if (rc == 0)
		inherit(b->child, parent);
	return rc;
}

static void take_birth(struct tracker *tk, struct track_news *n)
{
	CLEANUP_FREE struct event *ev = link_entry(n, struct event, news);
	struct rider *parent = rider_find(tk, ev->one);
	CLEANUP_FREE struct birth *b = calloc(1, sizeof(*b));
	struct tenant *child;
	struct err e;

	if (!tk->tr.tracer)
		return; /* it has let go of all */
	if (!parent || !parent->root->child) {
		tracker_release(tk, ev->other);
		return;
	}
	if (make_child(tk, parent, ev->other, b, &child, &e) < 0) {
		tracker_release(tk, ev->other);
		come_to_nothing(tk, parent->root, child, ev->other, &e);
		return;
	}
	b->tk = tk;
	b->job = (struct job){
		.tenant = parent->tenant,
		.cmd = {.verb = CMD_CLONE, .into = &b->child->tenant->ctx},
		.done = cloned,
		.here = true,
	};
	tk->ops->submit(tk->arg, &take_ptr(&b)->job);
}

static void born(void *arg, pid_t parent, pid_t child)
{
	send_event(arg, parent, child, take_birth);
}

/* --- Another program */

/* Rights are asked for anew: it may have more than it had. */
static int may_still(const struct rider *r, struct err *e)
{
	struct target target = {.dir = -1};
	int rc = target_open(getpid(), r->tid, &target, e);

	if (rc == 0)
		rc = target_check_again(&target, &r->whose->who, e);
	target_close(&target);
	return rc;
}

static void take_exec(struct tracker *tk, struct track_news *n)
{
	CLEANUP_FREE struct event *ev = link_entry(n, struct event, news);
	struct leaving *l = tracker_leaving(tk, ev->one);
	struct rider *r = rider_find(tk, ev->one);
	struct err e;

	if (!tk->tr.tracer)
		return;
	if (l)
		l->tid = ev->other;
	if (!r) {
		/* By its old number, it may not have been released. */
		tracer_release(tk->tr.tracer, ev->other);
		return;
	}
	if (ev->one != ev->other)
		rider_rename(tk, r, ev->other);
	if (may_still(r, &e) < 0) {
		err_prefix(&e, "it is not followed any more");
		r->tenant->trouble(r->tenant, &e);
		rider_end(tk, r); /* and then it is released */
		return;
	}
	tracer_go(tk->tr.tracer, ev->other);
}

static void executed(void *arg, pid_t was, pid_t now)
{
	send_event(arg, was, now, take_exec);
}

/* --- The end, should the scheduler not have told of it: on a CPU without a carrier it cannot */

static void take_end(struct tracker *tk, struct track_news *n)
{
	CLEANUP_FREE struct event *ev = link_entry(n, struct event, news);
	struct leaving *l = tracker_leaving(tk, ev->one);
	struct rider *r = rider_find(tk, ev->one);

	if (l) {
		tracker_left(tk, l);
	} else if (r) {
		r->over = true;
		rider_end(tk, r); /* or when it has come, if it is coming */
	}
}

/* Whoever wants to know reads the messages. */
static void held(void *arg, pid_t tid)
{
	(void)arg, (void)tid;
}

static void is_over(void *arg, pid_t tid)
{
	send_event(arg, tid, 0, take_end);
}

const struct tracer_ops tracker_life = {
	.born = born,
	.exec = executed,
	.held = held,
	.ended = is_over,
};
