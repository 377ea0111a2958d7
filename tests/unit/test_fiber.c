// SPDX-License-Identifier: MIT
/* Fibers: their order, how many there may be, and the end of their stack. */
#include <limits.h>
#include <signal.h>
#include <sys/wait.h>

#include "daemon/fiber/fiber.h"
#include "tests/unit/unit.h"

#ifdef __SANITIZE_THREAD__
enum { MANY = 200 }; /* each takes a megabyte of ThreadSanitizer's */
#else
enum { MANY = 10000 };
#endif

static char order[32];

static void say(char c)
{
	size_t n = strlen(order);

	assert_true(n + 1 < sizeof(order));
	order[n] = c;
	order[n + 1] = '\0';
}

static int setup(void **state)
{
	(void)state;
	order[0] = '\0';
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fiber_free_stacks();
	return 0;
}

static void start(void (*fn)(void *arg), void *arg)
{
	assert_int_equal(fiber_start(fn, arg, &why), 0);
}

/* A fiber that waits twice. */
static struct fiber_wait first, second;

static void wait_twice(void *arg)
{
	(void)arg;
	say('a');
	fiber_wait(&first);
	say('b');
	fiber_wait(&second);
	say('c');
}

static void reset(void)
{
	first = second = (struct fiber_wait){0};
}

TEST_WITH(setup, teardown, waits)
{
	reset();
	start(wait_twice, NULL);
	assert_string_equal(order, "a");
	fiber_wake(&first);
	assert_string_equal(order, "ab");
	fiber_wake(&second);
	assert_string_equal(order, "abc");
}

/* What has happened already is not waited for. */
TEST_WITH(setup, teardown, woken_before)
{
	reset();
	fiber_wake(&second);
	start(wait_twice, NULL);
	fiber_wake(&first);
	assert_string_equal(order, "abc");
}

static void start_another(void *arg)
{
	say('1');
	start(wait_twice, arg);
	say('2');
	fiber_wake(&first);
	say('3');
}

/* A fiber that starts and wakes another goes on when that one waits. */
TEST_WITH(setup, teardown, nested)
{
	reset();
	start(start_another, NULL);
	assert_string_equal(order, "1a2b3");
	fiber_wake(&second);
	assert_string_equal(order, "1a2b3c");
}

/* More than FIBER_STACK bytes of the stack, and another fiber. */
static void nest_deeply(void *arg)
{
	volatile char frame[4 * FIBER_STACK];

	for (size_t i = 0; i < sizeof(frame); i += 512)
		frame[i] = 1;
	start(wait_twice, arg);
	say('o');
}

static struct fiber_wait third;

static void go_outside(void *arg)
{
	say('1');
	fiber_outside(nest_deeply, arg);
	say('2');
	fiber_wait(&third);
	say('3');
	fiber_outside(nest_deeply, arg);
	say('4');
}

TEST_WITH(setup, teardown, outside)
{
	reset();
	third = (struct fiber_wait){0};
	start(go_outside, NULL);
	assert_string_equal(order, "1ao2");
	fiber_wake(&first);
	fiber_wake(&second);
	assert_string_equal(order, "1ao2bc");
	reset();
	fiber_wake(&third);
	assert_string_equal(order, "1ao2bc3ao4");
	fiber_wake(&first);
	fiber_wake(&second);
	assert_string_equal(order, "1ao2bc3ao4bc");
}

struct one {
	struct fiber_wait wait;
	unsigned n, sum;
};

/* Its sum shows whether anything else has used its stack meanwhile. */
static void add_up(void *arg)
{
	struct one *one = arg;
	volatile unsigned own[64];

	for (unsigned i = 0; i < COUNT(own); i++)
		own[i] = one->n;
	fiber_wait(&one->wait);
	for (unsigned i = 0; i < COUNT(own); i++)
		one->sum += own[i];
}

TEST_WITH(setup, teardown, many)
{
	struct one *all = calloc(MANY, sizeof(*all));

	assert_non_null(all);
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			all[i] = (struct one){.n = i};
			start(add_up, &all[i]);
		}
		for (unsigned i = 0; i < MANY; i++)
			fiber_wake(&all[i * 7 % MANY].wait);
		for (unsigned i = 0; i < MANY; i++)
			assert_int_equal(all[i].sum, 64 * i);
	}
	free(all);
}

static unsigned sink;

/* NOLINTNEXTLINE: recursion without end is the test. */
static unsigned overflow(unsigned n)
{
	volatile char frame[512];

	frame[0] = (char)n;
	sink = n < UINT_MAX ? overflow(n + 1) + (unsigned)frame[0] : 0;
	return sink;
}

static void begin_overflow(void *arg)
{
	(void)arg;
	overflow(0);
}

/* The guard page ends the process; nothing else is overwritten. */
TEST_WITH(setup, teardown, stack_overflow)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDERR_FILENO); /* a sanitizer's report */
		alarm(60);
		fiber_start(begin_overflow, NULL, &why);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV : WEXITSTATUS(status));
}
