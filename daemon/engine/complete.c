// SPDX-License-Identifier: MIT
/* Events that workers, ctxsw threads and CPU scans send to the session thread. */
#include "base/nsec.h"
#include "daemon/engine/engine_i.h"
#include "daemon/percpu/thread.h"

void engine_retire_worker(struct engine *eng, struct worker *w)
{
	worker_retire(w);
	engine_expect(eng, 1);
}

/* Completes an unload: the session thread owns @ec again. */
static void complete_unload(struct engine *eng, struct engine_ctx *ec)
{
	/* CMD_DESTROY was executed, or is requeued. */
	bool destroying = ec->destroying;

	if (ec->ops->unloaded)
		ec->ops->unloaded(ec, eng->ending);
	if (!engine_submit_requeued(eng, ec) && destroying)
		ec->ops->destroyed(ec);
	engine_submit_waiting(eng);
	engine_resume_yielded(eng);
}

/* Completes a yield: another context waits for the CPU, or @ec could not resume. */
static void complete_yield(struct engine *eng, struct engine_ctx *ec)
{
	if (ec->yield.asked)
		ec->yield.resume_after =
			ec->yield.to_thread ? nsec_now(CLOCK_MONOTONIC) + RESUME_RETRY_NS : 0;
	ec->yield.asked = false;
	ec->yield.done = true;
	list_add_tail(&ec->loaded_entry, &eng->yielded);
	engine_submit_requeued(eng, ec);
	engine_submit_waiting(eng);
	engine_resume_yielded(eng);
}

/*
 * One of the events that @ec->inflight counts has arrived. If it was the last, @ec is unloaded: the
 * session thread takes it back from its worker, which ends. If not, the jobs still in the inbox
 * send EVENT_UNLOADED again.
 */
static void complete_inflight(struct engine *eng, struct engine_ctx *ec)
{
	if (engine_ctx_release(ec))
		return;
	if (ec->task) {
		task_unloaded(eng->task_registry, ec);
		complete_unload(eng, ec);
		return;
	}
	list_del(&ec->loaded_entry);
	eng->watched -= atomic_load(&ec->watched);
	engine_expected_unloaded(eng, ec, ec->expected_events);
	task_return_cpu(eng->task_registry, worker_cpu(ec->worker));
	engine_retire_worker(eng, ec->worker);
	ec->worker = NULL;
	if (ec->ctx.yielded) {
		complete_yield(eng, ec);
		return;
	}
	ec->yield.asked = false;
	complete_unload(eng, ec);
}

static void complete_job(struct engine *eng, struct job *job)
{
	struct engine_ctx *ec = job->ec;

	if (!job->for_task)
		engine_expected(eng, 1);
	if (job->requeued) {
		queue_put(&ec->requeued, &job->link);
		complete_inflight(eng, ec);
		return;
	}
	/* A load that fails leaves its context unloaded only if it is the first load of a
	 * worker. */
	if ((job->cmd.verb == CMD_LOAD || job->cmd.verb == CMD_RESUME) && ec->expected_events &&
		(job->rc == 0 || !job_is_first_load(job)))
		engine_expected_unloaded(eng, ec, 1);
	job->done(job);
}

static void complete_change(struct engine_ctx *ec)
{
	/* First, so that a change from now on sends an event again. */
	atomic_store(&ec->event_pending, false);
	ec->ops->on_change(ec);
}

static void complete_worker_exit(struct engine *eng, struct worker *w)
{
	worker_free(w);
	eng->stats.workers--;
	engine_expected(eng, 1);
}

static void complete_task_event(struct engine *eng, struct task_event *ev)
{
	ev->handle(eng->task_registry, ev);
}

static void complete_event(struct engine *eng, struct event *ev)
{
	switch (ev->kind) {
	case EVENT_JOB:
		complete_job(eng, container_of(ev, struct job, event));
		break;
	case EVENT_UNLOADED:
		complete_inflight(eng, container_of(ev, struct engine_ctx, unloaded_event));
		break;
	case EVENT_CHANGED:
		complete_change(container_of(ev, struct engine_ctx, changed_event));
		break;
	case EVENT_WORKER_EXIT:
		complete_worker_exit(eng, worker_of_event(ev));
		break;
	case EVENT_CPU_SCAN:
		engine_expected(eng, 1);
		cpu_scan_complete(ev);
		break;
	case EVENT_WORK:
		workqueue_complete(ev);
		break;
	case EVENT_TASK:
		complete_task_event(eng, container_of(ev, struct task_event, event));
		break;
	}
}

bool engine_expects_events(const struct engine *eng)
{
	return eng->expected || eng->watched || workqueue_expects_events(eng->lookups) ||
	       workqueue_expects_events(eng->openings) || task_expects_events(eng->task_registry);
}

void engine_handle_events(struct engine *eng)
{
	struct event *ev;

	assert_session_thread();
	queue_for_each (ev, event_queue_take(&eng->events), link)
		complete_event(eng, ev);
}
