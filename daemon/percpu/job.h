/* SPDX-License-Identifier: MIT */
/* A job: one command on one context, from its submission until its requester has the result. */
#ifndef PERCPU_JOB_H
#define PERCPU_JOB_H

#include "daemon/core/request.h"
#include "daemon/percpu/event_queue.h"

struct engine_ctx;

enum job_state { JOB_WAITING, JOB_BEGUN, JOB_CANCELLED };

enum job_kind {
	JOB_COMMAND,
	/* The load that the worker was created for: the worker ends if it fails. */
	JOB_FIRST_LOAD,
	/* The same, but done() decides whether the worker ends. */
	JOB_FIRST_LOAD_KEEPS_WORKER,
	/* The same, and the worker starts the counters. From then on, cmd.verb is CMD_START. */
	JOB_FIRST_LOAD_AND_START,
	/* For a worker of a thread: asks the backend whether the thread's registers still count.
	 * There is no command. */
	JOB_CHECK_THREAD,
};

struct job {
	/* In an inbox, or in a queue of jobs to be submitted again. */
	struct link link;
	/* EVENT_JOB: the session thread calls done(). */
	struct event event;
	struct engine_ctx *ec;
	struct command cmd;
	/* The requester's process. */
	int pid;
	/* The result: 0, or -errno with err. */
	int rc;
	struct err err;
	/* Called exactly once, by the session thread or by the thread that executed the job; frees
	 * the job. After CMD_DESTROY, ec may be gone, unless the submitter keeps it alive. */
	void (*done)(struct job *job);
	/* The session thread calls done(), even if another thread executes the job: see
	 * command_needs_session(). */
	bool session_done;
	/* enum job_state */
	atomic_int state;
	enum job_kind kind;
	/* The tracer was about to stop the requester when it sent the job: the kernel reports this
	 * as an interrupt. */
	bool stopping;
	/* Posted by the task registry, whose events the engine always expects. */
	bool for_task;
	/* The thread that took the job cannot execute it: the session thread submits it again. */
	bool requeued;
	/* It is counted in engine_stats.commands: submitting it again does not add to that. */
	bool counted;
};

/* Sets the error of a job that was cancelled. Returns -EINTR. */
int job_cancelled(struct job *job);

/* The first step of executing @job. EINTR: it was cancelled before. Inline, because a worker does
 * this while counters count. */
static inline int job_begin(struct job *job)
{
	return atomic_exchange(&job->state, JOB_BEGUN) == JOB_WAITING ? 0 : job_cancelled(job);
}

static inline bool job_keeps_worker(const struct job *job)
{
	return job->kind == JOB_FIRST_LOAD_KEEPS_WORKER || job->kind == JOB_FIRST_LOAD_AND_START;
}

static inline bool job_is_first_load(const struct job *job)
{
	return job->kind == JOB_FIRST_LOAD || job_keeps_worker(job);
}

/* The last step: the result goes to the requester, or by @events to the session thread. */
static inline void job_finish(struct job *job, struct event_queue *events)
{
	if (job->requeued || job->session_done)
		event_send(events, &job->event);
	else
		job->done(job);
}

/* Commands about data that only the session thread has, so done() must run there. */
static inline bool command_needs_session(enum cmd_verb verb)
{
	return verb == CMD_LOAD || verb == CMD_EVTSET_NEW || verb == CMD_EVTSET_DELETE ||
	       verb == CMD_LIVE || verb == CMD_FORMAT || verb == CMD_SETUP || verb == CMD_CLONE;
}

#endif
