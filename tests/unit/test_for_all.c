// SPDX-License-Identifier: MIT
/* Commands for all threads of a load, and their ends: how many threads get one between two
 * requests, and in which order. The contexts are made here, and no thread executes the jobs. */
#include <sys/eventfd.h>

#include "daemon/ctxsw/ctxsw_i.h"
#include "daemon/task/task_registry_i.h"
#include "tests/unit/unit.h"

enum { THREADS = 300, LOADS = 3, SLICE_MAX = 128 };

/* A context on a thread, and the commands submitted to it. */
struct member {
	struct engine_ctx ec;
	struct task_ctx task;
	unsigned njobs;
};

/* The first of each load is its root; one more is created by a test. The last load is another
 * user's. */
static struct member members[LOADS][THREADS + 1];
static struct requester requester;
static struct task_registry *reg;
static struct event_queue events;
static struct engine_stats stats;
static const struct worker_shared shared = {.events = &events, .stats = &stats};
static struct ctxsw_thread ctxsw;
static unsigned njobs_all, ndone;
static struct engine_ctx *resubmitted;

static void count_job(void *arg, struct job *job)
{
	(void)arg;
	container_of(job->ec, struct member, ec)->njobs++;
	njobs_all++;
	job->done(job);
}

static void resubmit(void *arg, struct engine_ctx *ec)
{
	(void)arg;
	resubmitted = ec;
}

static const struct task_registry_ops ops = {.submit = count_job, .resubmit = resubmit};

static void member_add(struct member *m, struct member *root)
{
	*m = (struct member){
		.ec.uid = root->ec.uid,
		.task = {.ec = &m->ec, .root = &root->ec, .slot = 1, .process = true},
	};
	m->task.requester = &requester;
	list_init(&m->task.end_work.link);
	m->ec.task = &m->task;
	list_add(&m->task.link, &reg->tasks);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(event_queue_open(&events, &why), 0);
	assert_int_equal(task_registry_new(&shared, &ops, NULL, &reg, &why), 0);
	reg->shared.slots = calloc(2, sizeof(*reg->shared.slots));
	ctxsw.fds[FD_WAKEUP].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	atomic_store(&reg->shared.ctxsw_threads[0], &ctxsw);
	for (unsigned l = 0; l < LOADS; l++) {
		members[l][0].ec.uid = l == LOADS - 1;
		for (unsigned i = 0; i < THREADS; i++)
			member_add(&members[l][i], &members[l][0]);
	}
	njobs_all = ndone = 0;
	resubmitted = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(ctxsw.fds[FD_WAKEUP].fd);
	task_registry_free(reg);
	event_queue_close(&events);
	return 0;
}

static void submit(struct job *job, struct member *m, enum cmd_verb verb)
{
	*job = (struct job){.ec = &m->ec, .cmd.verb = verb};
	task_submit(reg, job);
}

/* Handles events as between two requests. False: there were none. */
static bool handle_round(void)
{
	struct link *next, *l = event_queue_take(&events);
	unsigned before = njobs_all;
	bool any = l;

	for (; l; l = next) {
		struct event *ev = container_of(l, struct event, link);
		struct task_event *task_event = container_of(ev, struct task_event, event);

		next = l->next;
		task_event->handle(reg, task_event);
	}
	assert_in_range(njobs_all - before, 0, SLICE_MAX);
	return any;
}

static void want_one_each(struct member *load)
{
	for (unsigned i = 1; i < THREADS; i++)
		assert_int_equal(load[i].njobs, 1);
	assert_int_equal(load[0].njobs, 0);
}

/* The loaded context is last, and its later commands wait; but not its thread's end. */
TEST_WITH(setup, teardown, slices)
{
	struct member *root = &members[0][0];
	struct job unload, stop, end;

	submit(&unload, root, CMD_UNLOAD);
	assert_in_range(njobs_all, 1, SLICE_MAX);
	assert_null(queue_take(&ctxsw.inbox));
	submit(&stop, root, CMD_STOP);
	assert_ptr_equal(queue_take(&root->ec.requeued), &stop.link);
	submit(&end, root, CMD_END);
	assert_ptr_equal(queue_take(&ctxsw.inbox), &end.link);
	while (njobs_all < THREADS - 1) {
		assert_true(queue_empty(&ctxsw.inbox));
		assert_null(resubmitted);
		assert_true(handle_round());
	}
	while (handle_round())
		;
	want_one_each(members[0]);
	assert_ptr_equal(queue_take(&ctxsw.inbox), &unload.link);
	assert_ptr_equal(resubmitted, &root->ec);
	assert_int_equal(atomic_load(&root->ec.inflight), 2);
}

static unsigned count_jobs(const struct member *load)
{
	unsigned n = 0;

	for (unsigned i = 0; i < THREADS; i++)
		n += load[i].njobs;
	return n;
}

/* Users take turns, however many loads each has: in each round, one of them. */
TEST_WITH(setup, teardown, turns)
{
	const struct member *other = members[LOADS - 1];
	struct job unload[LOADS];

	for (unsigned l = 0; l < LOADS; l++)
		submit(&unload[l], &members[l][0], CMD_UNLOAD);
	do
		assert_true(count_jobs(other) == THREADS - 1 ||
			    njobs_all - 2 * count_jobs(other) <= SLICE_MAX);
	while (handle_round());
	for (unsigned l = 0; l < LOADS; l++)
		want_one_each(members[l]);
	assert_ptr_equal(queue_take(&ctxsw.inbox), &unload[0].link);
}

/* All threads of a process end at once, and some of them are unloaded before it is their turn. */
TEST_WITH(setup, teardown, ends)
{
	enum { UNLOADED = 7 };
	struct member *other = members[LOADS - 1];
	struct job start;

	for (unsigned i = 0; i < THREADS; i++) {
		struct task_ctx *task = &members[0][i].task;

		task->process = false;
		task->worker = (struct worker *)&start; /* it has no slot of the scheduler */
		task->end_job = calloc(1, sizeof(*task->end_job));
		task->end_job->done = task_job_done;
		task_ctx_end(reg, task);
		task_ctx_end(reg, task);
	}
	assert_int_equal(njobs_all, 0);
	list_del(&members[0][UNLOADED].task.end_work.link);
	submit(&start, &other[0], CMD_START);
	assert_int_equal(njobs_all, SLICE_MAX);
	while (count_jobs(other) < THREADS - 1) {
		assert_true(njobs_all - count_jobs(other) <= count_jobs(other));
		assert_true(handle_round());
	}
	while (handle_round())
		;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(members[0][i].njobs, i != UNLOADED);
	free(members[0][UNLOADED].task.end_job);
}

/* A new thread has what its parent got already, and gets what its parent has yet to get. */
TEST_WITH(setup, teardown, born)
{
	for (unsigned got = 0; got < 2; got++) {
		struct member *load = members[got], *parent = &load[1], *child = &load[THREADS];
		struct job start;

		(void)state;
		submit(&start, &load[0], CMD_START);
		while (parent->njobs != got)
			parent++;
		member_add(child, &load[0]);
		task_ctx_inherit(&child->task, &parent->task);
		while (handle_round())
			;
		want_one_each(load);
		assert_int_equal(child->njobs, !got);
	}
}

static void count_done(struct job *job)
{
	assert_int_equal(job->rc, -EINTR);
	ndone++;
}

/* A command is cancelled before it begins or not at all. */
TEST_WITH(setup, teardown, cancel)
{
	struct member *root = &members[0][0];
	struct job stop = {.ec = &root->ec, .cmd.verb = CMD_STOP, .done = count_done}, start;

	atomic_store(&stop.state, JOB_CANCELLED);
	task_submit(reg, &stop);
	assert_int_equal(ndone, 1);
	assert_int_equal(njobs_all, 0);
	submit(&start, root, CMD_START);
	assert_int_equal(atomic_load(&start.state), JOB_BEGUN);
	while (handle_round())
		;
	assert_int_equal(atomic_load(&start.state), JOB_WAITING);
}

/* Threads go on when the one that was loaded has ended. They belong to the next load of its
 * context, too. */
TEST_WITH(setup, teardown, loaded_again)
{
	struct member *root = &members[0][0];
	struct job start, unload;

	submit(&start, root, CMD_START);
	while (handle_round())
		;
	list_del(&root->task.link);
	member_add(root, root);
	submit(&unload, root, CMD_UNLOAD);
	while (handle_round())
		;
	assert_int_equal(njobs_all, 2 * (THREADS - 1));
}
