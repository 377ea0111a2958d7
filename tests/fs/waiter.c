// SPDX-License-Identifier: MIT
/*
 * waiter CPU: threads whose waits are known. They sleep, read a pipe, wait for a futex, and two,
 * which are pinned to CPU, compute and wait for nothing but that CPU. Each prints a line "FUNCTION
 * TID START END CPU": ns of CLOCK_MONOTONIC, and of the CPU time that it has used between them.
 */
#include <err.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/raw_syscall.h"

enum { WAITS = 60, NAP_NS = 4000000, COMPUTED_NS = 150000000 };

static int ends[2];
static int pinned;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The system calls are a part of these functions: a chain by frame pointers has them. */
static void __attribute__((noinline)) naps(void)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};

	for (int i = 0; i < WAITS; i++)
		raw_syscall4(SYS_nanosleep, (long)&nap, 0, 0, 0);
}

static void __attribute__((noinline)) reads(void)
{
	char c[1];

	while (raw_syscall4(SYS_read, ends[0], (long)c, 1, 0) == 1)
		;
}

static void __attribute__((noinline)) futexes(void)
{
	const struct timespec nap = {.tv_nsec = NAP_NS};
	int futex = 0;

	for (int i = 0; i < WAITS; i++)
		raw_syscall4(SYS_futex, (long)&futex, FUTEX_WAIT_PRIVATE, 0, (long)&nap);
}

static void __attribute__((noinline)) computes(void)
{
	while (now(CLOCK_THREAD_CPUTIME_ID) < COMPUTED_NS)
		;
}

struct part {
	const char *name;
	void (*run)(void);
};

static void *run(void *arg)
{
	const struct part *part = arg;
	uint64_t start, end, before, after;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(pinned, &set);
	if (part->run == computes && sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "sched_setaffinity");
	start = now(CLOCK_MONOTONIC);
	before = now(CLOCK_THREAD_CPUTIME_ID);
	part->run();
	after = now(CLOCK_THREAD_CPUTIME_ID);
	end = now(CLOCK_MONOTONIC);
	printf("%s %d %ju %ju %ju\n", part->name, gettid(), (uintmax_t)start, (uintmax_t)end,
		(uintmax_t)(after - before));
	return NULL;
}

int main(int argc, char **argv)
{
	static struct part parts[] = {{"naps", naps}, {"reads", reads}, {"futexes", futexes},
		{"computes", computes}, {"computes", computes}};
	enum { PARTS = sizeof(parts) / sizeof(parts[0]) };
	const struct timespec nap = {.tv_nsec = NAP_NS};
	pthread_t thread[PARTS];

	pinned = argc > 1 ? atoi(argv[1]) : 0;
	if (pipe(ends) < 0)
		err(1, "pipe");
	for (int i = 0; i < PARTS; i++)
		if (pthread_create(&thread[i], NULL, run, &parts[i]) != 0)
			errx(1, "no thread");
	for (int i = 0; i < WAITS; i++) {
		nanosleep(&nap, NULL);
		if (write(ends[1], "", 1) != 1)
			err(1, "write");
	}
	close(ends[1]);
	for (int i = 0; i < PARTS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
