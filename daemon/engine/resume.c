// SPDX-License-Identifier: MIT
/*
 * Background contexts that have yielded get their CPU again when it is free, in the order in which
 * they yielded. A context that cannot resume, as its CPU is offline or other software uses a
 * counter, is tried again each second.
 */
#include <stdlib.h>
#include <sys/timerfd.h>

#include "base/nsec.h"
#include "daemon/engine/engine_i.h"

static void resume_set_timer(struct engine *eng, uint64_t at)
{
	const struct itimerspec when = {.it_value = nsec_timespec(at)};

	eng->resume_at = at;
	timerfd_settime(eng->resume_timer, TFD_TIMER_ABSTIME, &when, NULL);
}

int engine_resume_fd(const struct engine *eng)
{
	return eng->resume_at ? eng->resume_timer : -1;
}

static void resume_done(struct job *job)
{
	if (job->rc < 0) {
		err_prefix(&job->err, "the context has given way and cannot resume");
		job->ec->ops->report_error(job->ec, &job->err);
	}
	free(job);
}

static int resume_submit(struct engine *eng, struct engine_ctx *ec)
{
	struct job *job = calloc(1, sizeof(*job));
	struct err ignored;

	if (!job)
		return -1;
	list_del(&ec->loaded_entry);
	if (engine_open_worker(eng, ec, ec->ctx.target.cpu, &ignored) < 0) {
		list_add(&ec->loaded_entry, &eng->yielded);
		free(job);
		return -1;
	}
	ec->yield.done = false;
	job->event.kind = EVENT_JOB;
	job->ec = ec;
	job->cmd.verb = CMD_RESUME;
	job->cmd.limits = ec->ctx.limits;
	job->kind = JOB_FIRST_LOAD;
	job->session_done = true;
	job->done = resume_done;
	engine_post(eng, job);
	return 0;
}

/* Tries to resume @ec. Returns when to try again (ns); 0: an event will tell. */
static uint64_t resume_try(struct engine *eng, struct engine_ctx *ec, uint64_t now)
{
	unsigned cpu = ec->ctx.target.cpu;

	if (engine_owner(eng, cpu))
		return 0;
	if (engine_has_ctxsw(eng, cpu)) {
		ec->yield.resume_after = 0;
		return 0;
	}
	if (now < ec->yield.resume_after)
		return ec->yield.resume_after;
	if (!task_take_cpu(eng->task_registry, cpu, ec->uid))
		return 0;
	/* In case resuming fails. */
	ec->yield.resume_after = now + RESUME_RETRY_NS;
	return resume_submit(eng, ec) < 0 ? ec->yield.resume_after : 0;
}

void engine_resume_yielded(struct engine *eng)
{
	struct engine_ctx *ec, *next;
	uint64_t now, soonest = 0;

	if (list_empty(&eng->yielded) || eng->ending)
		return;
	now = nsec_now(CLOCK_MONOTONIC);
	list_for_each_entry_safe (ec, next, &eng->yielded, loaded_entry) {
		uint64_t at = resume_try(eng, ec, now);

		if (at && (!soonest || at < soonest))
			soonest = at;
	}
	if (soonest != eng->resume_at)
		resume_set_timer(eng, soonest);
}

void engine_resume(struct engine *eng)
{
	resume_set_timer(eng, 0);
	engine_resume_yielded(eng);
}
