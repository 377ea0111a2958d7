// SPDX-License-Identifier: MIT
#include "daemon/engine/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/engine/engine_i.h"
#include "daemon/percpu/thread.h"

/* Callbacks of the task registry. */

static void engine_op_submit(void *arg, struct job *job)
{
	engine_submit(arg, job);
}

static void engine_op_submit_requeued(void *arg, struct engine_ctx *ec)
{
	engine_submit_requeued(arg, ec);
}

static void engine_op_resubmit_loads(void *arg)
{
	struct engine *eng = arg;
	struct engine_ctx *ec;

	/* The load on a thread for which they have waited has ended. */
	list_for_each_entry (ec, &eng->yielded, loaded_entry)
		if (ec->yield.to_thread)
			ec->yield.resume_after = 0;
	engine_submit_waiting(arg);
	engine_resume_yielded(arg);
}

static void engine_op_retire(void *arg, struct worker *w)
{
	engine_retire_worker(arg, w);
}

static int engine_op_work(void *arg, struct work *w, struct err *e)
{
	return engine_work(arg, w, e);
}

static bool engine_op_admit(void *arg, struct job *job)
{
	return submit_admit(arg, job);
}

static int engine_op_make_way(void *arg, struct job *job, struct err *e)
{
	return submit_make_way(arg, job, e);
}

static const struct task_registry_ops engine_ops = {
	.submit = engine_op_submit,
	.admit = engine_op_admit,
	.make_way = engine_op_make_way,
	.resubmit = engine_op_submit_requeued,
	.resubmit_loads = engine_op_resubmit_loads,
	.retire = engine_op_retire,
	.work = engine_op_work,
};

int engine_new(struct backend *be, struct engine **out, struct err *e)
{
	CLEANUP_FREE struct engine *eng = calloc(1, sizeof(*eng));
	int rc;

	if (!eng)
		return err_set(e, ENOMEM, "no memory");
	thread_is_session();
	eng->be = be;
	eng->x.be = be;
	eng->x.stats = &eng->stats.exec;
	budget_init(&eng->budget, be);
	eng->shared = (struct worker_shared){be, &eng->events, &eng->stats, &eng->budget};
	list_init(&eng->loaded);
	list_init(&eng->yielded);
	eng->resume_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (eng->resume_timer < 0)
		return err_set(e, errno, "timerfd_create: %s", err_name(errno));
	rc = event_queue_open(&eng->events, e);
	if (rc < 0) {
		close(eng->resume_timer);
		return rc;
	}
	rc = workqueue_new(&eng->events, &eng->lookups, e);
	if (rc == 0)
		rc = workqueue_new(&eng->events, &eng->openings, e);
	if (rc == 0)
		rc = task_registry_new(&eng->shared, &engine_ops, eng, &eng->task_registry, e);
	if (rc < 0) {
		workqueue_free(eng->lookups);
		workqueue_free(eng->openings);
		event_queue_close(&eng->events);
		close(eng->resume_timer);
		return rc;
	}
	*out = take_ptr(&eng);
	return 0;
}

void engine_free(struct engine *eng)
{
	engine_drain(eng);
	task_registry_stop(eng->task_registry);
	engine_handle_events(eng);
	task_registry_free(eng->task_registry);
	workqueue_free(eng->lookups);
	workqueue_free(eng->openings);
	virtual_pmd_close(&eng->x.virtuals);
	event_queue_close(&eng->events);
	close(eng->resume_timer);
	free(eng);
}

int engine_work(struct engine *eng, struct work *w, struct err *e)
{
	return workqueue_submit(w->may_hang ? eng->openings : eng->lookups, w, e);
}

bool engine_cancel_work(struct engine *eng, struct work *w)
{
	return workqueue_cancel(w->may_hang ? eng->openings : eng->lookups, w);
}

void engine_stop_works(struct engine *eng)
{
	workqueue_stop(eng->lookups);
	workqueue_stop(eng->openings);
	engine_handle_events(eng);
}

bool engine_delays_work(struct engine *eng, unsigned uid)
{
	return workqueue_delays(eng->lookups, uid);
}

struct engine_stats *engine_stats(struct engine *eng)
{
	return &eng->stats;
}

void engine_set_grants(struct engine *eng, const struct grants *grants)
{
	eng->grants = grants;
}

int engine_event_fd(const struct engine *eng)
{
	return eng->events.fd;
}

int engine_ctx_init(struct engine *eng, struct engine_ctx *ec)
{
	*ec = (struct engine_ctx){
		.unloaded_event.kind = EVENT_UNLOADED, .changed_event.kind = EVENT_CHANGED};
	return ctx_init(&ec->ctx, eng->be->pmu);
}

void engine_ctx_free(struct engine_ctx *ec)
{
	ctx_free(&ec->ctx);
}

static void engine_wait_events(struct engine *eng)
{
	struct pollfd p = {.fd = eng->events.fd, .events = POLLIN};

	poll(&p, 1, -1);
	engine_handle_events(eng);
}

/* An unload without a request. It is on the stack, so that it needs no memory. */
struct last_unload {
	struct job job;
	bool done;
};

static void engine_last_unload_done(struct job *job)
{
	container_of(job, struct last_unload, job)->done = true;
}

static void engine_unload(struct engine *eng, struct engine_ctx *ec)
{
	struct last_unload last = {
		.job =
			{
				.ec = ec,
				.cmd.verb = CMD_UNLOAD,
				.done = engine_last_unload_done,
				.session_done = true,
			},
	};

	engine_submit(eng, &last.job);
	while (!last.done)
		engine_wait_events(eng);
}

void engine_drain(struct engine *eng)
{
	struct engine_ctx *ec;

	eng->ending = true;
	engine_stop_works(eng);
	task_registry_stop_waiting(eng->task_registry);
	while ((ec = engine_any_loaded(eng))) {
		engine_unload(eng, ec);
		while (engine_any_loaded(eng) == ec)
			engine_wait_events(eng);
	}
	while ((ec = task_any(eng->task_registry))) {
		engine_unload(eng, ec);
		while (ec == task_any(eng->task_registry))
			engine_wait_events(eng);
	}
	while (eng->stats.workers || eng->cpu_scan || !task_idle(eng->task_registry))
		engine_wait_events(eng);
}
