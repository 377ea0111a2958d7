// SPDX-License-Identifier: MIT
/* The engine with its threads, on the simulator. */
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "backend/sim/sim.h"
#include "base/text.h"
#include "daemon/engine/engine_i.h"
#include "perfmonfs/sim.h"
#include "tests/unit/hw_truth.h"
#include "tests/unit/unit.h"

enum { CPUS = 4, CONTEXTS = 100, NS = 1000000 };

static struct backend *be;
static struct engine *eng;

struct test_ctx {
	struct engine_ctx ec;
	char name[16];
	unsigned destroyed; /* Calls of on_destroyed(). */
	bool allocated;     /* engine_ctx_free() is still to be called. */
};

struct test_job {
	struct job job;
	struct cmd_reg reg;
	atomic_uint done;
};

static int setup(void **state)
{
	const struct backend_conf conf = {.model = "intel_v4"};
	struct err e;

	(void)state;
	assert_int_equal(sim_backend_ops.open(&conf, &be, &e), 0);
	assert_int_equal(engine_new(be, &eng, &e), 0);
	return 0;
}

static struct test_ctx *kept[CONTEXTS]; /* Freed at the end of the test. */
static unsigned nkept;

static void context_free(struct test_ctx *c)
{
	if (c->allocated)
		engine_ctx_free(&c->ec);
	c->allocated = false;
}

/* A context that the test unloads. */
#define CONTEXT(c) __attribute__((cleanup(context_free))) struct test_ctx c = {.allocated = false}

static int teardown(void **state)
{
	(void)state;
	engine_free(eng);
	while (nkept)
		context_free(kept[--nkept]);
	be->ops->close(be);
	return 0;
}

static void on_destroyed(struct engine_ctx *ec)
{
	struct test_ctx *c = (struct test_ctx *)ec;

	c->destroyed++;
	context_free(c);
}

static const struct engine_ctx_ops ctx_ops = {.destroyed = on_destroyed};

static void context_init(struct test_ctx *c, const char *name)
{
	memset(c, 0, sizeof(*c));
	assert_int_equal(engine_ctx_init(eng, &c->ec), 0);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->ec.name = c->name;
	c->ec.uid = 1000;
	c->ec.ops = &ctx_ops;
	c->allocated = true;
}

/* A context that engine_free() may unload. */
static void context_keep(struct test_ctx *c, const char *name)
{
	context_init(c, name);
	kept[nkept++] = c;
}

static void job_done(struct job *job)
{
	struct test_job *j = (struct test_job *)job;

	atomic_fetch_add(&j->done, 1);
}

static void job_init(struct test_job *j, struct test_ctx *c, enum cmd_verb verb)
{
	memset(j, 0, sizeof(*j));
	j->job.ec = &c->ec;
	j->job.cmd.verb = verb;
	j->job.cmd.rights = (struct rights){.system = true, .kernel = true};
	j->job.pid = 4711;
	j->job.done = job_done;
}

static void job_load(struct test_job *j, struct test_ctx *c, unsigned cpu)
{
	job_init(j, c, CMD_LOAD);
	j->job.cmd.load.cpu = cpu;
}

static void job_reg(
	struct test_job *j, struct test_ctx *c, enum cmd_verb verb, bool pmd, uint64_t value)
{
	job_init(j, c, verb);
	j->reg = (struct cmd_reg){.pmd = pmd, .value = value};
	j->job.cmd.vector.regs = &j->reg;
	j->job.cmd.vector.nregs = 1;
}

/* What the session does before each request. The wait is one of turns, as clocks leap: a minute, if
 * nothing else runs. */
static void serve(unsigned *turns)
{
	if (++*turns > 1000000)
		fail_msg("timeout");
	usleep(10);
	engine_handle_events(eng);
}

static void wait_done(struct test_job *j)
{
	unsigned turns = 0;

	while (!atomic_load(&j->done))
		serve(&turns);
	engine_handle_events(eng);
}

static void wait_workers(unsigned n)
{
	unsigned turns = 0;

	while (engine_stats(eng)->workers != n)
		serve(&turns);
}

static int run(struct test_job *j)
{
	engine_submit(eng, &j->job);
	wait_done(j);
	assert_int_equal(atomic_load(&j->done), 1);
	return j->job.rc;
}

static int run_verb(struct test_ctx *c, enum cmd_verb verb)
{
	struct test_job j;

	job_init(&j, c, verb);
	return run(&j);
}

static int run_load(struct test_ctx *c, unsigned cpu, struct err *e)
{
	struct test_job j;
	int rc;

	job_load(&j, c, cpu);
	rc = run(&j);
	*e = j.job.err;
	return rc;
}

static int run_reg(struct test_ctx *c, enum cmd_verb verb, bool pmd, uint64_t *value)
{
	struct test_job j;
	int rc;

	job_reg(&j, c, verb, pmd, *value);
	rc = run(&j);
	*value = j.reg.value;
	return rc;
}

static void program(struct test_ctx *c)
{
	uint64_t sel = 0x4300c0;

	assert_int_equal(run_reg(c, CMD_WRITE, false, &sel), 0);
}

/* Counter 0 and its selector on every CPU, and the global control. */
static void want_clean(void)
{
	static const uint32_t addrs[] = {0x186, 0xc1, 0x38d};
	uint64_t value;

	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(hw_rdmsr(be->sim->hw, cpu, addrs[i], &value), 0);
			assert_int_equal(value, 0);
		}
		assert_int_equal(hw_rdmsr(be->sim->hw, cpu, 0x38f, &value), 0);
		assert_int_equal(value, 0xf);
	}
}

static void offline(const char *list)
{
	struct err e;

	assert_int_equal(hw_knob_store(be->sim->hw, "offline", slice_of(list), &e), 0);
}

TEST_WITH(setup, teardown, load)
{
	CONTEXT(a);
	CONTEXT(b);
	struct err e;
	uint64_t value = 0;

	context_init(&a, "first");
	context_init(&b, "second");
	program(&a);
	assert_int_equal(run_load(&a, 2, &e), 0);
	assert_int_equal(engine_stats(eng)->workers, 1);
	assert_ptr_equal(engine_owner(eng, 2), &a.ec);
	assert_null(engine_owner(eng, 1));
	assert_int_equal(run_load(&b, 2, &e), -EBUSY);
	assert_non_null(strstr(e.text, "'first'"));
	assert_non_null(strstr(e.text, "uid 1000"));
	assert_non_null(strstr(e.text, "pid 4711"));
	assert_int_equal(run_load(&a, 3, &e), -EBUSY);
	assert_int_equal(run_load(&b, CPUS, &e), -EINVAL);
	offline("3");
	assert_int_equal(run_load(&b, 3, &e), -ENXIO);
	offline("");
	assert_int_equal(run_load(&b, 3, &e), 0);
	assert_int_equal(engine_stats(eng)->workers, 2);

	assert_int_equal(run_verb(&a, CMD_START), 0);
	hw_advance(be->sim->hw, NS);
	assert_int_equal(run_reg(&a, CMD_READ, true, &value), 0);
	assert_int_equal(value, hw_truth(be->sim->hw, 0x300c0, NS));
	assert_int_equal(run_verb(&a, CMD_UNLOAD), 0);
	assert_null(engine_owner(eng, 2));
	wait_workers(1);
	/* Its registers are free as soon as the unload is done. */
	assert_int_equal(run_verb(&b, CMD_UNLOAD), 0);
	assert_int_equal(run_load(&b, 2, &e), 0);
	assert_int_equal(run_verb(&b, CMD_UNLOAD), 0);
	assert_int_equal(run_load(&a, 2, &e), 0);
	assert_int_equal(run_reg(&a, CMD_READ, true, &value), 0);
	assert_int_equal(value, hw_truth(be->sim->hw, 0x300c0, NS));
	assert_int_equal(run_verb(&a, CMD_UNLOAD), 0);
	wait_workers(0);
	want_clean();
}

/* Commands on one context take effect in the order they were given. */
TEST_WITH(setup, teardown, order)
{
	enum { JOBS = 50 };
	static struct test_job jobs[JOBS];
	CONTEXT(c);
	struct err e;

	context_init(&c, "order");
	program(&c);
	assert_int_equal(run_load(&c, 1, &e), 0);
	for (unsigned i = 0; i < JOBS; i++) {
		job_reg(&jobs[i], &c, i % 2 ? CMD_READ : CMD_WRITE, true, 1000 + i);
		engine_submit(eng, &jobs[i].job);
	}
	for (unsigned i = 0; i < JOBS; i++) {
		wait_done(&jobs[i]);
		assert_int_equal(jobs[i].job.rc, 0);
		assert_int_equal(jobs[i].reg.value, 1000 + (i & ~1u));
	}
	assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
}

TEST_WITH(setup, teardown, destroy)
{
	CONTEXT(c);
	struct err e;

	/* never loaded */
	context_init(&c, "short");
	assert_int_equal(run_verb(&c, CMD_DESTROY), 0);
	assert_int_equal(c.destroyed, 1);

	context_init(&c, "running");
	program(&c);
	assert_int_equal(run_load(&c, 0, &e), 0);
	assert_int_equal(run_verb(&c, CMD_START), 0);
	assert_int_equal(run_verb(&c, CMD_DESTROY), 0);
	wait_workers(0);
	assert_int_equal(c.destroyed, 1);
	want_clean();
}

/* A load that must wait for an unload, directly followed by a destroy. */
TEST_WITH(setup, teardown, destroy_queue)
{
	static const enum cmd_verb verbs[] = {CMD_UNLOAD, CMD_LOAD, CMD_READ, CMD_DESTROY};
	struct test_job jobs[4];
	CONTEXT(c);
	struct err e;

	for (int round = 0; round < 200; round++) {
		context_init(&c, "hasty");
		program(&c);
		assert_int_equal(run_load(&c, 0, &e), 0);
		for (unsigned i = 0; i < 4; i++) {
			job_reg(&jobs[i], &c, verbs[i], true, 0);
			engine_submit(eng, &jobs[i].job);
		}
		for (unsigned i = 0; i < 4; i++)
			wait_done(&jobs[i]);
		wait_workers(0);
		assert_int_equal(c.destroyed, 1);
		assert_int_equal(jobs[0].job.rc, 0);
		if (jobs[1].job.rc != 0)
			assert_int_equal(jobs[1].job.rc, -ENODEV);
		assert_int_equal(jobs[3].job.rc, 0);
	}
	want_clean();
}

/* An end of the thread that is reported after the unload does not end the next load. */
TEST_WITH(setup, teardown, late_end)
{
	struct test_job load, end;
	CONTEXT(c);

	context_init(&c, "again");
	program(&c);
	job_load(&load, &c, 2);
	job_init(&end, &c, CMD_END);
	queue_put(&c.ec.requeued, &load.job.link);
	queue_put(&c.ec.requeued, &end.job.link);
	assert_false(engine_submit_requeued(eng, &c.ec));
	wait_done(&load);
	wait_done(&end);
	assert_int_equal(load.job.rc, 0);
	assert_int_equal(end.job.rc, 0);
	assert_int_equal(run_verb(&c, CMD_START), 0); /* It is loaded. */
	assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
	wait_workers(0);
	want_clean();
}

/* A job that is cancelled before it begins has no effect; done() is called all the same. */
TEST_WITH(setup, teardown, cancel)
{
	CONTEXT(c);
	struct test_job j;
	uint64_t value = 7;
	bool cancelled;
	struct err e;

	context_init(&c, "cancel");
	assert_int_equal(run_reg(&c, CMD_WRITE, true, &value), 0);
	assert_int_equal(run_load(&c, 0, &e), 0);
	for (int i = 0; i < 200; i++) {
		uint64_t before = value;

		job_reg(&j, &c, CMD_WRITE, true, before + 1);
		/* Cancelled before it is submitted, or after. */
		cancelled = i % 2 && engine_cancel(&j.job);
		engine_submit(eng, &j.job);
		cancelled = cancelled || engine_cancel(&j.job);
		wait_done(&j);
		assert_int_equal(atomic_load(&j.done), 1);
		assert_int_equal(j.job.rc, cancelled ? -EINTR : 0);
		assert_int_equal(run_reg(&c, CMD_READ, true, &value), 0);
		assert_int_equal(value, cancelled ? before : before + 1);
	}
	/* A cancelled load leaves no worker. */
	assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
	job_load(&j, &c, 1);
	assert_true(engine_cancel(&j.job));
	assert_int_equal(run(&j), -EINTR);
	assert_null(engine_owner(eng, 1));
	wait_workers(0);
	/* CMD_DESTROY cannot be cancelled. */
	job_init(&j, &c, CMD_DESTROY);
	assert_false(engine_cancel(&j.job));
}

static void called(void *arg)
{
	++*(unsigned *)arg;
}

TEST_WITH(setup, teardown, poll_all)
{
	static struct test_ctx c[CPUS]; /* Unloaded by engine_drain() at the end. */
	unsigned turns = 0;
	unsigned calls = 0;
	struct err e;

	engine_poll_all(eng, called, &calls);
	assert_int_equal(calls, 1);
	for (unsigned i = 0; i < CPUS; i++) {
		context_keep(&c[i], "poll");
		program(&c[i]);
		assert_int_equal(run_load(&c[i], i, &e), 0);
		assert_int_equal(run_verb(&c[i], CMD_START), 0);
	}
	for (unsigned round = 0; round < 20; round++) {
		uint64_t value = 0;

		hw_advance(be->sim->hw, pmu_poll_ns(be->pmu));
		engine_poll_all(eng, called, &calls);
		while (calls == 1 + round)
			serve(&turns);
		assert_int_equal(calls, 2 + round);
		for (unsigned i = 0; i < CPUS; i++)
			assert_int_equal(run_reg(&c[i], CMD_READ, true, &value), 0);
	}
}

/* The event descriptor is readable only while there are events. */
TEST_WITH(setup, teardown, event_fd)
{
	struct pollfd p = {.fd = engine_event_fd(eng), .events = POLLIN};
	CONTEXT(c);
	struct err e;

	context_init(&c, "event_fd");
	for (int i = 0; i < 300; i++) {
		assert_int_equal(run_load(&c, 0, &e), 0);
		assert_int_equal(run_verb(&c, CMD_START), 0);
		assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
		while (engine_stats(eng)->workers)
			engine_handle_events(eng); /* Each request does this, without poll(). */
	}
	for (int i = 0; i < 100 && poll(&p, 1, 0) == 1; i++)
		engine_handle_events(eng);
	assert_int_equal(poll(&p, 1, 0), 0);
}

static unsigned long random_next(unsigned long *s)
{
	*s = *s * 6364136223846793005UL + 1442695040888963407UL;
	return *s >> 33;
}

/* Many contexts on few CPUs, with several commands under way for each. */
TEST_WITH(setup, teardown, crowd)
{
	enum { JOBS = 2000, VERBS = 8 };
	static const enum cmd_verb verbs[VERBS] = {CMD_LOAD, CMD_LOAD, CMD_LOAD, CMD_START,
		CMD_STOP, CMD_UNLOAD, CMD_UNLOAD, CMD_INFO};
	static struct test_ctx c[CONTEXTS];
	static struct test_job jobs[JOBS];
	unsigned long rnd = 1;
	unsigned loads = 0;

	for (unsigned i = 0; i < CONTEXTS; i++) {
		context_keep(&c[i], "crowd");
		program(&c[i]);
	}
	for (unsigned i = 0; i < JOBS; i++) {
		/* Often the same few contexts, so that jobs are posted while one unloads. */
		struct test_ctx *ctx = &c[random_next(&rnd) % (i % 4 ? 6 : CONTEXTS)];

		job_load(&jobs[i], ctx, (unsigned)(random_next(&rnd) % CPUS));
		jobs[i].job.cmd.verb = verbs[random_next(&rnd) % VERBS];
		jobs[i].job.session_done = random_next(&rnd) % 2;
		engine_submit(eng, &jobs[i].job);
		if (random_next(&rnd) % 8 == 0)
			engine_cancel(&jobs[i].job);
		if (random_next(&rnd) % 3 == 0)
			engine_handle_events(eng);
		if (random_next(&rnd) % 64 == 0)
			usleep(100);
	}
	for (unsigned i = 0; i < JOBS; i++) {
		wait_done(&jobs[i]);
		if (jobs[i].job.cmd.verb == CMD_LOAD && jobs[i].job.rc == 0)
			loads++;
	}
	assert_int_not_equal(loads, 0);
	for (unsigned i = 0; i < CONTEXTS; i++) {
		job_init(&jobs[i], &c[i], CMD_DESTROY);
		engine_submit(eng, &jobs[i].job);
	}
	wait_workers(0);
	for (unsigned i = 0; i < JOBS; i++)
		assert_int_equal(atomic_load(&jobs[i].done), 1);
	for (unsigned i = 0; i < CONTEXTS; i++)
		assert_int_equal(c[i].destroyed, 1);
	want_clean();
}

TEST_WITH(setup, teardown, drain)
{
	static struct test_ctx c[CPUS];
	struct err e;

	for (unsigned i = 0; i < CPUS; i++) {
		context_keep(&c[i], "drain");
		program(&c[i]);
		assert_int_equal(run_load(&c[i], i, &e), 0);
		assert_int_equal(run_verb(&c[i], CMD_START), 0);
	}
	assert_int_equal(engine_stats(eng)->workers, CPUS);
	engine_drain(eng);
	assert_int_equal(engine_stats(eng)->workers, 0);
	want_clean();
}

/* A page of live counts, and the results of a thread that reads it in a loop. */
struct live_reader {
	struct pfm_live page;
	atomic_bool over;
	atomic_uint reads, fallen, wrong;
};

static void *live_reader_main(void *arg)
{
	struct live_reader *r = arg;
	uint64_t last = 0, count;

	while (!atomic_load(&r->over)) {
		uint32_t cpu = __atomic_load_n(&r->page.cpu, __ATOMIC_ACQUIRE);

		if (pfm_live_read(&r->page, 0, 0, &count))
			continue;
		atomic_fetch_add(&r->fallen, count < last);
		atomic_fetch_add(&r->wrong, cpu > 2);
		atomic_fetch_add(&r->reads, 1);
		last = count;
	}
	return NULL;
}

/* The worker writes the page, and so does the session thread when it borrows the context. */
TEST_WITH(setup, teardown, live)
{
	static struct live_reader r;
	struct test_job j;
	pthread_t thread;
	CONTEXT(a);
	uint64_t value = 0;
	struct err e;

	context_init(&a, "live");
	program(&a);
	job_init(&j, &a, CMD_LIVE);
	j.job.cmd.live_page.page = &r.page;
	assert_int_equal(run(&j), 0);
	assert_int_equal(pthread_create(&thread, NULL, live_reader_main, &r), 0);
	for (unsigned n = 0; n < 30 || atomic_load(&r.reads) < 1000; n++) {
		assert_int_equal(run_load(&a, 2, &e), 0);
		assert_int_equal(run_verb(&a, CMD_START), 0);
		for (unsigned i = 0; i < 20; i++) {
			hw_advance(be->sim->hw, 1000);
			assert_int_equal(run_reg(&a, CMD_READ, true, &value), 0);
			assert_int_equal(run_verb(&a, CMD_POLL), 0);
		}
		assert_int_equal(run_verb(&a, CMD_STOP), 0);
		assert_int_equal(run_verb(&a, CMD_UNLOAD), 0);
		wait_workers(0);
	}
	atomic_store(&r.over, true);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&r.fallen), 0);
	assert_int_equal(atomic_load(&r.wrong), 0);
	assert_int_equal(run_reg(&a, CMD_READ, true, &value), 0);
	assert_int_equal(r.page.pmd[0].value, value);
}

/* A thread's worker on a simulated CPU. watch() answers with @answers, one after another: 0 is a
 * descriptor that is over. */
static struct {
	struct backend_ops ops;
	int over;
	const int *answers;
	struct engine_ctx *gone;
} watched;

static int open_thread(struct backend *b, const atomic_int *tid, const struct thread_conf *conf,
	struct backend_cpu **out, struct err *e)
{
	(void)tid, (void)conf;
	return b->ops->cpu_open(b, 0, out, e);
}

static uint64_t thread_time(struct backend_cpu *c)
{
	(void)c;
	return 0;
}

static void thread_at_once(struct backend_cpu *c, bool on)
{
	(void)c, (void)on;
}

static int watch(struct backend_cpu *c, struct err *e)
{
	int no = *watched.answers++;

	(void)c;
	return no ? err_set(e, no, "refused") : watched.over;
}

static void thread_gone(struct task_registry *reg, struct task_event *event)
{
	(void)reg;
	watched.gone = worker_gone_ctx(event);
}

/* A refused watch is tried again: it does not say that no thread is left. */
TEST_WITH(setup, teardown, watch_refused)
{
	static const int answers[] = {0, EPERM, EMFILE, 0, ESRCH};
	CONTEXT(a);
	struct test_job j;
	struct err e;
	int fds[2];
	unsigned turns = 0;

	watched.ops = *be->ops;
	watched.ops.thread_open = open_thread;
	watched.ops.thread_time = thread_time;
	watched.ops.thread_at_once = thread_at_once;
	watched.ops.thread_watch = watch;
	watched.answers = answers;
	be->ops = &watched.ops;
	assert_int_equal(pipe(fds), 0);
	watched.over = fds[0];
	context_init(&a, "watched");
	program(&a);
	assert_int_equal(worker_new(&eng->shared, 0, gettid(), &a.ec.worker, &e), 0);
	worker_set_gone(a.ec.worker, thread_gone);
	eng->stats.workers++;
	list_add(&a.ec.loaded_entry, &eng->loaded);
	job_init(&j, &a, CMD_LOAD);
	j.job.cmd.tid = gettid();
	j.job.cmd.rights.thread = true;
	j.job.cmd.load = (struct cmd_load){.always_active = true, .inherit = true};
	j.job.kind = JOB_FIRST_LOAD;
	j.job.event.kind = EVENT_JOB;
	engine_post(eng, &j.job);
	wait_done(&j);
	if (j.job.rc < 0)
		fail_msg("%s", j.job.err.text);
	close(fds[1]);
	while (!watched.gone)
		serve(&turns);
	assert_int_equal(run_verb(&a, CMD_UNLOAD), 0);
	wait_workers(0);
	close(fds[0]);
	assert_ptr_equal(watched.gone, &a.ec);
	assert_ptr_equal(watched.answers, answers + COUNT(answers));
}
