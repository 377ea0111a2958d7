// SPDX-License-Identifier: MIT
/* The engine with its real threads, over the hardware model. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/text.h"
#include "daemon/cpu/engine_i.h"
#include "perfmonfs/sim.h"

enum { CPUS = 4, TENANTS = 100, NS = 1000000 };

static struct backend *be;
static struct engine *eng;

struct context_of_test {
	struct tenant tenant;
	char name[16];
	unsigned gone; /* how often gone() was called */
	bool held;     /* the core's part has not been freed */
};

struct job_of_test {
	struct job job;
	struct cmd_reg reg;
	atomic_uint done;
};

static int setup(void **state)
{
	const struct backend_conf conf = {.model = "intel_v4"};
	struct err e;

	(void)state;
	assert_int_equal(sim_backend_open(&conf, &be, &e), 0);
	assert_int_equal(engine_new(be, &eng, &e), 0);
	return 0;
}

static struct context_of_test *kept[TENANTS]; /* until the end of the test */
static unsigned nkept;

static void context_free(struct context_of_test *c)
{
	if (c->held)
		engine_tenant_free(&c->tenant);
	c->held = false;
}

/* One that the test itself unloads. */
#define CONTEXT(c) __attribute__((cleanup(context_free))) struct context_of_test c = {.held = false}

static int teardown(void **state)
{
	(void)state;
	engine_free(eng);
	while (nkept)
		context_free(kept[--nkept]);
	be->ops->close(be);
	return 0;
}

static void gone(struct tenant *t)
{
	struct context_of_test *c = (struct context_of_test *)t;

	c->gone++;
	context_free(c);
}

static void context_init(struct context_of_test *c, const char *name)
{
	memset(c, 0, sizeof(*c));
	assert_int_equal(engine_tenant_init(eng, &c->tenant), 0);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->tenant.name = c->name;
	c->tenant.uid = 1000;
	c->tenant.gone = gone;
	c->held = true;
}

/* One that may be left to the engine's end. */
static void context_keep(struct context_of_test *c, const char *name)
{
	context_init(c, name);
	kept[nkept++] = c;
}

static void job_done(struct job *job)
{
	struct job_of_test *j = (struct job_of_test *)job;

	atomic_fetch_add(&j->done, 1);
}

static void job_init(struct job_of_test *j, struct context_of_test *c, enum cmd_verb verb)
{
	memset(j, 0, sizeof(*j));
	j->job.tenant = &c->tenant;
	j->job.cmd.verb = verb;
	j->job.cmd.rights = (struct rights){.system = true, .kernel = true};
	j->job.pid = 4711;
	j->job.done = job_done;
}

static void job_load(struct job_of_test *j, struct context_of_test *c, unsigned cpu)
{
	job_init(j, c, CMD_LOAD);
	j->job.cmd.cpu = cpu;
}

static void job_reg(struct job_of_test *j, struct context_of_test *c, enum cmd_verb verb, bool pmd,
	uint64_t value)
{
	job_init(j, c, verb);
	j->reg = (struct cmd_reg){.pmd = pmd, .value = value};
	j->job.cmd.regs = &j->reg;
	j->job.cmd.nregs = 1;
}

/* As the session does before each request, but without any. */
static void serve(struct timespec *since)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!since->tv_sec)
		*since = now;
	if (now.tv_sec - since->tv_sec > 20)
		fail_msg("it never happens");
	usleep(10);
	engine_news(eng);
}

static void wait_done(struct job_of_test *j)
{
	struct timespec since = {0};

	while (!atomic_load(&j->done))
		serve(&since);
	engine_news(eng);
}

static void wait_workers(unsigned n)
{
	struct timespec since = {0};

	while (engine_stats(eng)->workers != n)
		serve(&since);
}

static int run(struct job_of_test *j)
{
	engine_submit(eng, &j->job);
	wait_done(j);
	assert_int_equal(atomic_load(&j->done), 1);
	return j->job.rc;
}

static int run_verb(struct context_of_test *c, enum cmd_verb verb)
{
	struct job_of_test j;

	job_init(&j, c, verb);
	return run(&j);
}

static int run_load(struct context_of_test *c, unsigned cpu, struct err *e)
{
	struct job_of_test j;
	int rc;

	job_load(&j, c, cpu);
	rc = run(&j);
	*e = j.job.err;
	return rc;
}

static int run_reg(struct context_of_test *c, enum cmd_verb verb, bool pmd, uint64_t *value)
{
	struct job_of_test j;
	int rc;

	job_reg(&j, c, verb, pmd, *value);
	rc = run(&j);
	*value = j.reg.value;
	return rc;
}

static void program(struct context_of_test *c)
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

static void test_load(void **state)
{
	CONTEXT(a);
	CONTEXT(b);
	struct err e;
	uint64_t value = 0;

	(void)state;
	context_init(&a, "first");
	context_init(&b, "second");
	program(&a);
	assert_int_equal(run_load(&a, 2, &e), 0);
	assert_int_equal(engine_stats(eng)->workers, 1);
	assert_ptr_equal(engine_owner(eng, 2), &a.tenant);
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
	/* its registers are free as soon as unload is answered */
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
static void test_order(void **state)
{
	enum { JOBS = 50 };
	static struct job_of_test jobs[JOBS];
	CONTEXT(c);
	struct err e;

	(void)state;
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

static void test_destroy(void **state)
{
	CONTEXT(c);
	struct err e;

	(void)state;
	/* never loaded */
	context_init(&c, "short");
	assert_int_equal(run_verb(&c, CMD_DESTROY), 0);
	assert_int_equal(c.gone, 1);

	context_init(&c, "running");
	program(&c);
	assert_int_equal(run_load(&c, 0, &e), 0);
	assert_int_equal(run_verb(&c, CMD_START), 0);
	assert_int_equal(run_verb(&c, CMD_DESTROY), 0);
	wait_workers(0);
	assert_int_equal(c.gone, 1);
	want_clean();
}

/* A load that has to wait for an unload, and a destroy on its heels. */
static void test_destroy_queue(void **state)
{
	static const enum cmd_verb verbs[] = {CMD_UNLOAD, CMD_LOAD, CMD_READ, CMD_DESTROY};
	struct job_of_test jobs[4];
	CONTEXT(c);
	struct err e;

	(void)state;
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
		assert_int_equal(c.gone, 1);
		assert_int_equal(jobs[0].job.rc, 0);
		if (jobs[1].job.rc != 0)
			assert_int_equal(jobs[1].job.rc, -ENODEV);
		assert_int_equal(jobs[3].job.rc, 0);
	}
	want_clean();
}

/* The end of a thread, told when it has been unloaded already: it is not that of the next load. */
static void test_late_end(void **state)
{
	struct job_of_test load, end;
	CONTEXT(c);

	(void)state;
	context_init(&c, "again");
	program(&c);
	job_load(&load, &c, 2);
	job_init(&end, &c, CMD_END);
	queue_put(&c.tenant.bounced, &load.job.link);
	queue_put(&c.tenant.bounced, &end.job.link);
	assert_false(engine_submit_bounced(eng, &c.tenant));
	wait_done(&load);
	wait_done(&end);
	assert_int_equal(load.job.rc, 0);
	assert_int_equal(end.job.rc, 0);
	assert_int_equal(run_verb(&c, CMD_START), 0); /* it is loaded */
	assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
	wait_workers(0);
	want_clean();
}

/* What is cancelled before its turn has no effect, though it is answered. */
static void test_cancel(void **state)
{
	CONTEXT(c);
	struct job_of_test j;
	uint64_t value = 7;
	bool cancelled;
	struct err e;

	(void)state;
	context_init(&c, "cancel");
	assert_int_equal(run_reg(&c, CMD_WRITE, true, &value), 0);
	assert_int_equal(run_load(&c, 0, &e), 0);
	for (int i = 0; i < 200; i++) {
		uint64_t before = value;

		job_reg(&j, &c, CMD_WRITE, true, before + 1);
		/* cancelled before it is mailed or some time later */
		cancelled = i % 2 && engine_cancel(&j.job);
		engine_submit(eng, &j.job);
		cancelled = cancelled || engine_cancel(&j.job);
		wait_done(&j);
		assert_int_equal(atomic_load(&j.done), 1);
		assert_int_equal(j.job.rc, cancelled ? -EINTR : 0);
		assert_int_equal(run_reg(&c, CMD_READ, true, &value), 0);
		assert_int_equal(value, cancelled ? before : before + 1);
	}
	/* a load that is cancelled leaves nobody behind */
	assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
	job_load(&j, &c, 1);
	assert_true(engine_cancel(&j.job));
	assert_int_equal(run(&j), -EINTR);
	assert_null(engine_owner(eng, 1));
	wait_workers(0);
	/* destroying cannot be taken back */
	job_init(&j, &c, CMD_DESTROY);
	assert_false(engine_cancel(&j.job));
}

static void called(void *arg)
{
	++*(unsigned *)arg;
}

static void test_poll_all(void **state)
{
	static struct context_of_test c[CPUS]; /* left to the drain at the end */
	struct timespec since = {0};
	unsigned calls = 0;
	struct err e;

	(void)state;
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
			serve(&since);
		assert_int_equal(calls, 2 + round);
		for (unsigned i = 0; i < CPUS; i++)
			assert_int_equal(run_reg(&c[i], CMD_READ, true, &value), 0);
	}
}

/* The box is readable as long as there is something in it, and no longer. */
static void test_box(void **state)
{
	struct pollfd p = {.fd = engine_news_fd(eng), .events = POLLIN};
	CONTEXT(c);
	struct err e;

	(void)state;
	context_init(&c, "box");
	for (int i = 0; i < 300; i++) {
		assert_int_equal(run_load(&c, 0, &e), 0);
		assert_int_equal(run_verb(&c, CMD_START), 0);
		assert_int_equal(run_verb(&c, CMD_UNLOAD), 0);
		while (engine_stats(eng)->workers)
			engine_news(eng); /* as each request does: without asking the box */
	}
	for (int i = 0; i < 100 && poll(&p, 1, 0) == 1; i++)
		engine_news(eng);
	assert_int_equal(poll(&p, 1, 0), 0);
}

static unsigned long random_next(unsigned long *s)
{
	*s = *s * 6364136223846793005UL + 1442695040888963407UL;
	return *s >> 33;
}

/* Many contexts come and go on few CPUs, several commands under way for each. */
static void test_crowd(void **state)
{
	enum { JOBS = 2000, VERBS = 8 };
	static const enum cmd_verb verbs[VERBS] = {CMD_LOAD, CMD_LOAD, CMD_LOAD, CMD_START,
		CMD_STOP, CMD_UNLOAD, CMD_UNLOAD, CMD_INFO};
	static struct context_of_test c[TENANTS];
	static struct job_of_test jobs[JOBS];
	unsigned long rnd = 1;
	unsigned loads = 0;

	(void)state;
	for (unsigned i = 0; i < TENANTS; i++) {
		context_keep(&c[i], "crowd");
		program(&c[i]);
	}
	for (unsigned i = 0; i < JOBS; i++) {
		/* two of a few, so that mail meets unloading */
		struct context_of_test *who = &c[random_next(&rnd) % (i % 4 ? 6 : TENANTS)];

		job_load(&jobs[i], who, (unsigned)(random_next(&rnd) % CPUS));
		jobs[i].job.cmd.verb = verbs[random_next(&rnd) % VERBS];
		jobs[i].job.here = random_next(&rnd) % 2;
		engine_submit(eng, &jobs[i].job);
		if (random_next(&rnd) % 8 == 0)
			engine_cancel(&jobs[i].job);
		if (random_next(&rnd) % 3 == 0)
			engine_news(eng);
		if (random_next(&rnd) % 64 == 0)
			usleep(100);
	}
	for (unsigned i = 0; i < JOBS; i++) {
		wait_done(&jobs[i]);
		if (jobs[i].job.cmd.verb == CMD_LOAD && jobs[i].job.rc == 0)
			loads++;
	}
	assert_int_not_equal(loads, 0);
	for (unsigned i = 0; i < TENANTS; i++) {
		job_init(&jobs[i], &c[i], CMD_DESTROY);
		engine_submit(eng, &jobs[i].job);
	}
	wait_workers(0);
	for (unsigned i = 0; i < JOBS; i++)
		assert_int_equal(atomic_load(&jobs[i].done), 1);
	for (unsigned i = 0; i < TENANTS; i++)
		assert_int_equal(c[i].gone, 1);
	want_clean();
}

static void test_drain(void **state)
{
	static struct context_of_test c[CPUS];
	struct err e;

	(void)state;
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

/* A page of live counts, and what somebody who reads it all the time has found. */
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

/* The worker writes the page, and the session thread, when it has borrowed the context to read. */
static void test_live(void **state)
{
	static struct live_reader r;
	struct job_of_test j;
	pthread_t thread;
	CONTEXT(a);
	uint64_t value = 0;
	struct err e;

	(void)state;
	context_init(&a, "live");
	program(&a);
	job_init(&j, &a, CMD_LIVE);
	j.job.cmd.live = &r.page;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_load, setup, teardown),
		cmocka_unit_test_setup_teardown(test_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_queue, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
		cmocka_unit_test_setup_teardown(test_poll_all, setup, teardown),
		cmocka_unit_test_setup_teardown(test_box, setup, teardown),
		cmocka_unit_test_setup_teardown(test_crowd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drain, setup, teardown),
		cmocka_unit_test_setup_teardown(test_live, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
