// SPDX-License-Identifier: MIT
/* The workqueue: whose work comes next, what a long one delays, and how it ends. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/nsec.h"
#include "daemon/percpu/workqueue.h"
#include "tests/unit/unit.h"

enum { WORKS = 8 };

struct item {
	struct work work;
	char name;
	/* run() waits for it. */
	atomic_bool *gate;
	/* CPU time that run() takes, ns. */
	uint64_t takes;
	bool done;
};

static struct event_queue events;
static struct workqueue *wq;
static struct item items[WORKS];
/* The names in the order of run() and of done(). */
static char ran[WORKS + 1], done[WORKS + 1];
static atomic_uint nran, ndone;
static atomic_bool open_gate, shut_gate;

static void item_run(struct work *w)
{
	struct item *i = container_of(w, struct item, work);
	uint64_t begun = nsec_now(CLOCK_THREAD_CPUTIME_ID);

	ran[atomic_load(&nran)] = i->name;
	atomic_fetch_add(&nran, 1);
	while (i->gate && !atomic_load(i->gate))
		poll(NULL, 0, 1);
	while (nsec_now(CLOCK_THREAD_CPUTIME_ID) - begun < i->takes)
		;
}

static void item_done(struct work *w)
{
	struct item *i = container_of(w, struct item, work);

	i->done = true;
	done[ndone++] = i->name;
}

static struct item *item_new(unsigned n, char name, uid_t uid)
{
	items[n] = (struct item){
		.work = {.uid = uid, .run = item_run, .done = item_done}, .name = name};
	return &items[n];
}

static void submit(struct item *i)
{
	struct err e;

	assert_int_equal(workqueue_submit(wq, &i->work, &e), 0);
}

static void handle_events(void)
{
	for (struct link *next, *l = event_queue_take(&events); l; l = next) {
		struct event *ev = container_of(l, struct event, link);

		next = l->next;
		assert_int_equal(ev->kind, EVENT_WORK);
		workqueue_complete(ev);
	}
}

static void wait_done(unsigned n)
{
	struct pollfd p = {.fd = events.fd, .events = POLLIN};

	while (ndone < n) {
		poll(&p, 1, -1);
		handle_events();
	}
	assert_int_equal(ndone, n);
}

static void wait_ran(unsigned n)
{
	while (atomic_load(&nran) < n)
		poll(NULL, 0, 1);
}

static int setup(void **state)
{
	struct err e;

	(void)state;
	memset(ran, 0, sizeof(ran));
	memset(done, 0, sizeof(done));
	nran = ndone = 0;
	atomic_store(&open_gate, false);
	atomic_store(&shut_gate, false);
	assert_int_equal(event_queue_open(&events, &e), 0);
	return workqueue_new(&events, &wq, &e);
}

static int teardown(void **state)
{
	(void)state;
	workqueue_stop(wq);
	handle_events();
	workqueue_free(wq);
	event_queue_close(&events);
	return 0;
}

/* The first one runs until open_gate. */
static void begin(void)
{
	struct item *i = item_new(0, '-', 1);

	i->gate = &open_gate;
	submit(i);
	wait_ran(1);
}

TEST_WITH(setup, teardown, turns)
{
	begin();
	submit(item_new(1, 'a', 1));
	submit(item_new(2, 'b', 1));
	submit(item_new(3, 'c', 2));
	submit(item_new(4, 'd', 2));
	submit(item_new(5, 'e', 3));
	item_new(6, 'f', 1)->work.first = true;
	submit(&items[6]);
	assert_true(workqueue_expects_events(wq));
	atomic_store(&open_gate, true);
	wait_done(7);
	assert_false(workqueue_expects_events(wq));
	assert_string_equal(ran, "-cefdab");
	assert_string_equal(done, ran);
}

/* A user's next work waits; others' do not. */
TEST_WITH(setup, teardown, delay)
{
	uint64_t begun = nsec_now(CLOCK_MONOTONIC);
	struct item *i;

	begin();
	i = item_new(1, 'l', 2);
	i->takes = 20000000;
	submit(i);
	submit(item_new(2, 'a', 2));
	submit(item_new(3, 'b', 3));
	assert_false(workqueue_delays(wq, 2));
	atomic_store(&open_gate, true);
	wait_done(4);
	assert_string_equal(ran, "-lba");
	assert_true(nsec_now(CLOCK_MONOTONIC) - begun >= 20000000);
	assert_false(workqueue_delays(wq, 2));
}

/* The delay begins after it. */
TEST_WITH(setup, teardown, no_delay_of_first)
{
	uint64_t begun = nsec_now(CLOCK_MONOTONIC);

	begin();
	item_new(1, 'l', 2)->takes = 20000000;
	items[1].gate = &shut_gate;
	submit(&items[1]);
	submit(item_new(2, 'a', 2));
	submit(item_new(3, 'b', 3));
	submit(item_new(4, 'c', 3));
	item_new(5, 'f', 2)->work.first = true;
	atomic_store(&open_gate, true);
	wait_ran(2);
	submit(&items[5]);
	atomic_store(&shut_gate, true);
	wait_done(6);
	assert_string_equal(ran, "-lbfca");
	assert_true(nsec_now(CLOCK_MONOTONIC) - begun >= 120000000);
}

TEST_WITH(setup, teardown, no_delay_of_root)
{
	struct item *i;

	begin();
	i = item_new(1, 'l', 0);
	i->takes = 20000000;
	submit(i);
	submit(item_new(2, 'a', 0));
	submit(item_new(3, 'b', 3));
	submit(item_new(4, 'c', 3));
	atomic_store(&open_gate, true);
	wait_done(5);
	assert_string_equal(ran, "-lbac");
}

TEST_WITH(setup, teardown, cancel)
{
	begin();
	submit(item_new(1, 'a', 2));
	submit(item_new(2, 'b', 2));
	submit(item_new(3, 'c', 1));
	assert_false(workqueue_cancel(wq, &items[0].work));
	assert_true(workqueue_cancel(wq, &items[1].work));
	assert_true(workqueue_cancel(wq, &items[3].work));
	assert_false(workqueue_cancel(wq, &items[3].work));
	atomic_store(&open_gate, true);
	wait_done(2);
	assert_string_equal(ran, "-b");
	assert_false(workqueue_cancel(wq, &items[2].work));
}

/* The thread of the last test still runs. */
static int end_stopped(void **state)
{
	(void)state;
	workqueue_free(wq);
	event_queue_close(&events);
	return 0;
}

/* One that may hang is not waited for, and those that wait are ended without having run. */
TEST_WITH(setup, end_stopped, stop)
{
	item_new(0, 'h', 1)->work.may_hang = true;
	items[0].gate = &shut_gate;
	submit(&items[0]);
	wait_ran(1);
	submit(item_new(1, 'a', 1));
	submit(item_new(2, 'b', 2));
	workqueue_stop(wq);
	workqueue_stop(wq);
	assert_string_equal(done, "hba");
	assert_true(items[0].work.hangs && items[0].work.ended);
	assert_true(items[1].work.ended && !items[1].work.hangs);
	assert_string_equal(ran, "h");
	submit(item_new(3, 'c', 3));
	assert_string_equal(ran, "hc");
	wait_done(4);
	assert_string_equal(done, "hbac");
	assert_false(workqueue_expects_events(wq) || items[3].work.ended);
}
