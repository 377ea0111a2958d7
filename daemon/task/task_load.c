// SPDX-License-Identifier: MIT
/*
 * Loading a context on a thread (specification 3.1.7): who it is and whether the caller may, a
 * carrier on each CPU where it may run, which tries what the PMCs ask for; and then it is followed,
 * checked once more, for it has lived on meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/track/tracker_i.h"

/* From one carrier to the next. */
struct load_steps {
	struct carrier_try try;
	struct job *job;
	struct target target;
	struct cpus manned; /* where it is followed, or may end unnoticed */
	unsigned cpu;       /* being tried */
};

static void steps_free(struct load_steps *l)
{
	target_close(&l->target);
	free(l);
}

static int first_use(struct tracker *tk, struct err *e)
{
	int rc = 0;

	if (!tk->tr.seats)
		tk->tr.seats = calloc(SCHED_SLOTS, sizeof(*tk->tr.seats));
	if (!tk->tr.seats)
		return err_set(e, ENOMEM, "no memory");
	if (!tk->tr.sched)
		rc = sched_open(&tk->tr.sched, e);
	if (rc == 0 && !tk->tr.tracer)
		rc = tracer_new(&tracker_life, tk, &tk->tr.tracer, e);
	return rc;
}

/*
 * @wanted: of the list that was given, or of all, for where it may run can be changed any time,
 * those that there are; @where: of these, those online. @manned: they have carriers; if it is not
 * traced, all that are online, for only a carrier tells of its end.
 */
static int find_cpus(struct tracker *tk, const struct command *cmd, struct cpus *wanted,
	struct cpus *where, struct cpus *manned, struct err *e)
{
	struct backend *be = tk->tr.be;
	unsigned limit = be->ops->cpu_limit(be);
	bool any = false;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		bool listed = !cmd->cpus || cpus_has(cmd->cpus, cpu);

		if (cpu >= limit && cmd->cpus && listed)
			return err_set(e, EINVAL, "there is no CPU %u: see cpus", cpu);
		if (cpu >= limit)
			continue;
		if (listed)
			cpus_add(wanted, cpu);
		if ((!listed && !cmd->untraced) || !be->ops->cpu_online(be, cpu))
			continue;
		cpus_add(manned, cpu);
		if (!listed)
			continue;
		cpus_add(where, cpu);
		any = true;
	}
	return any ? 0 : err_set(e, ENXIO, "none of these CPUs is online: see cpus");
}

/* --- Who it is */

static int check_blocking(
	const struct context *ctx, const struct load_steps *l, pid_t caller, struct err *e)
{
	if ((ctx->flags & CTX_NOTIFY_BLOCK) && l->target.tid == caller)
		return err_set(e, EINVAL,
			"notify_block would block the thread that is to write restart: clear it, "
			"or load from another thread");
	return 0;
}

static int already(struct tracker *tk, pid_t tid, struct command *cmd, struct err *e)
{
	struct rider *r = rider_find(tk, tid);

	if (!r || r->tenant->doomed) /* whose end is waited for */
		return 0;
	cmd->taken = true;
	return err_set(e, EBUSY, "thread %d is monitored already, by context '%s' of uid %u", tid,
		r->tenant->name, r->tenant->uid);
}

/* --- Being followed */

static unsigned first_cpu(const struct cpus *c)
{
	unsigned cpu = 0;

	while (!cpus_has(c, cpu))
		cpu++;
	return cpu;
}

/* Before it is checked for the last time: what it executes then is seen by the one or the other. */
static int guard(struct tracker *tk, const struct rider *r, struct err *e)
{
	const struct credentials *who = &r->whose->who;
	struct sched_guard g = {
		.permitted = who->permitted,
		.uid = who->uid,
		.gid = who->gid,
		.user_ns = (sched_u32)who->user_ns,
	};

	return sched_guard(tk->tr.sched, r->slot, &g, e);
}

int rider_follow(struct tracker *tk, struct rider *r, bool seize, struct err *e)
{
	int rc = sched_follow(tk->tr.sched, r->slot, r->tid, e);

	if (rc < 0)
		return rc;
	if (r->confined)
		rc = sched_confine(tk->tr.sched, r->slot, &r->wanted, e);
	if (rc == 0 && r->guarded)
		rc = guard(tk, r, e);
	if (rc == 0 && seize) {
		rc = tracer_seize(tk->tr.tracer, r->tid, r->follow, e);
		r->traced = rc == 0;
	}
	if (rc < 0)
		sched_forget(tk->tr.sched, r->slot);
	return rc;
}

int rider_seat(struct tracker *tk, struct rider *r, struct command *load, struct command *start,
	struct err *e)
{
	struct context *ctx = &r->tenant->ctx;
	struct sched_slot *s = sched_slot(tk->tr.sched, r->slot);
	int rc = exec_command(&tk->x, ctx, load, e);

	if (rc < 0) {
		sched_forget(tk->tr.sched, r->slot);
		return rc;
	}
	if (start)
		exec_command(&tk->x, ctx, start, e); /* of a context that is parked: it succeeds */
	__atomic_store_n(&s->wanted, ctx->state == CTX_RUNNING, __ATOMIC_RELEASE);
	tenant_settled(r->tenant, tk->tr.box);
	/* From here on it is the carriers'. */
	atomic_store(&tk->tr.seats[r->slot].word, seat_word(SEAT_PARKED, first_cpu(&r->where)));
	return 0;
}

/* --- The steps */

void rider_come(struct tracker *tk, struct rider *r, int rc)
{
	struct tenant *t = r->tenant;

	r->coming = false;
	if (rc < 0)
		rider_free(tk, r);
	else if (r->over || rider_is_dead(tk, r))
		rider_end(tk, r); /* it has meanwhile */
	tk->ops->resubmit(tk->arg, t);
}

static void finished(struct tracker *tk, struct load_steps *l, int rc)
{
	struct job *job = l->job;
	struct rider *r = job->tenant->rider;

	steps_free(l);
	job->rc = rc;
	job->done(job);
	rider_come(tk, r, rc);
}

/* Once it is followed it is looked at again: it may have ended, and its number be another's; or
 * have become a program that the caller may not trace. Only then is it loaded, and all is done. */
static int check_and_seat(struct tracker *tk, struct load_steps *l, struct rider *r)
{
	struct job *job = l->job;
	int rc = target_alive(&l->target, &job->err);

	if (rc == 0)
		rc = target_check_again(&l->target, &r->whose->who, &job->err);
	if (rc == 0)
		rc = job_begin(job);
	if (rc < 0) {
		sched_forget(tk->tr.sched, r->slot);
		return rc;
	}
	r->tenant->ctx.pid = l->target.tgid;
	return rider_seat(tk, r, &job->cmd, NULL, &job->err);
}

static int follow(struct tracker *tk, struct load_steps *l, struct rider *r)
{
	bool seize = !l->job->cmd.untraced;
	int rc;

	if (!r->tid) /* another thread of its process has executed a program, and has its number */
		return err_set(&l->job->err, ESRCH,
			"the thread has ended: load on the program that its process is now");
	rc = rider_follow(tk, r, seize, &l->job->err);
	if (rc < 0)
		return rc;
	rc = check_and_seat(tk, l, r);
	if (rc == 0)
		rider_prod(tk, r);
	else if (seize)
		tracker_release(tk, r->tid);
	return rc;
}

static void next_try(struct tracker *tk, struct load_steps *l)
{
	struct rider *r = l->job->tenant->rider;

	while (++l->cpu < CPUS_MAX)
		if (cpus_has(&l->manned, l->cpu)) {
			l->try.ctx = cpus_has(&r->where, l->cpu) ? &r->tenant->ctx : NULL;
			carrier_try(atomic_load(&tk->tr.carriers[l->cpu]), &l->try);
			return;
		}
	finished(tk, l, follow(tk, l, r));
}

static void tried(struct tracker *tk, struct track_news *n)
{
	struct carrier_try *try = link_entry(n, struct carrier_try, news);
	struct load_steps *l = link_entry(try, struct load_steps, try);

	if (try->rc == 0 || !try->ctx) {
		next_try(tk, l);
		return;
	}
	l->job->err = try->err;
	finished(tk, l, try->rc);
}

static int prepare(struct tracker *tk, struct load_steps *l, struct cpus *wanted,
	struct cpus *where, struct principal **whose, struct err *e)
{
	struct job *job = l->job;
	int rc = target_open(job->pid, job->cmd.tid, &l->target, e);

	if (rc == 0)
		rc = principal_new(whose, job, e);
	if (rc == 0)
		rc = target_check(&l->target, &(*whose)->who, e);
	if (rc == 0)
		rc = check_blocking(&job->tenant->ctx, l, job->pid, e);
	if (rc == 0)
		rc = already(tk, l->target.tid, &job->cmd, e);
	if (rc == 0)
		rc = find_cpus(tk, &job->cmd, wanted, where, &l->manned, e);
	if (rc == 0)
		rc = first_use(tk, e);
	return rc;
}

int tracker_load(struct tracker *tk, struct job *job, struct err *e)
{
	struct load_steps *l = calloc(1, sizeof(*l));
	struct cpus wanted = {{0}}, where = {{0}};
	struct principal *whose = NULL;
	struct leaving *leaving;
	struct rider *before, *r;
	int rc;

	if (!l)
		return err_set(e, ENOMEM, "no memory");
	l->job = job;
	l->target.dir = -1;
	rc = prepare(tk, l, &wanted, &where, &whose, e);
	before = rc == 0 ? rider_find(tk, l->target.tid) : NULL;
	leaving = rc == 0 && !job->cmd.untraced ? tracker_leaving(tk, l->target.tid) : NULL;
	if (before || leaving) {
		/* and then from the beginning */
		queue_put(before ? &before->loads : &leaving->loads, &job->link);
		principal_unref(whose);
		steps_free(l);
		return 0;
	}
	if (rc == 0)
		rc = rider_new(tk, job->tenant, l->target.tid, &r, e);
	if (rc < 0) {
		principal_unref(whose);
		steps_free(l);
		return rc;
	}
	r->whose = whose;
	r->wanted = wanted;
	r->confined = job->cmd.cpus;
	r->where = where;
	r->follow = job->cmd.follow;
	r->guarded = job->cmd.untraced && !credentials_trace_all(&whose->who);
	r->coming = true;
	job->cmd.tid = l->target.tid;
	l->cpu = first_cpu(&l->manned) - 1;
	l->try.news.news.kind = NEWS_TRACK;
	l->try.news.take = tried;
	rc = tracker_man(tk, &l->manned, e);
	if (rc < 0) {
		steps_free(l);
		rider_free(tk, r);
		return rc;
	}
	next_try(tk, l);
	return 0;
}
