// SPDX-License-Identifier: MIT
/*
 * skew CPU LOOKS TICK_US...: how old the newest note of who is running is when a worker looks at
 * its counters, with a busy thread on the CPU. "timer" is for comparison: a worker that sleeps to
 * a time, whenever the witness ticks. An overflow happened up to a tick before its look.
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "daemon/cpu/lookout.h"

struct looks {
	uint64_t *age;
	unsigned n, right;
	uint64_t cpu_ns;
};

static struct context ctx = {.state = CTX_RUNNING, .kernel_ip = true};
static const pfm_buffer_fmt_t fmt;
static pid_t burner;

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void bind_to(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "CPU %u", cpu);
}

static void burn(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void look(struct lookout *l, struct looks *s, unsigned i)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	pfm_smpl_where_t where;

	lookout_read(l, &ctx, now, &where);
	s->age[i] = now - witness_time(l->witness);
	s->right += where.pid == (uint32_t)burner;
}

static void in_step(struct lookout *l, struct looks *s, uint64_t tick)
{
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		lookout_set(l, &ctx, (struct wake){.at = now + tick}, now);
		while (lookout_sleep(l) != WOKEN_LOOK)
			;
		look(l, s, i);
	}
}

static void by_timer(struct lookout *l, struct looks *s, uint64_t tick)
{
	uint64_t at = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < s->n; i++) {
		/* Drifts through the phases of the witness. */
		struct timespec until;

		at += tick + tick / 97;
		until = (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		look(l, s, i);
	}
}

static void measure(unsigned cpu, unsigned n, uint64_t tick, const char *how,
	void (*loop)(struct lookout *, struct looks *, uint64_t))
{
	struct looks s = {.age = calloc(n, sizeof(uint64_t)), .n = n};
	struct lookout l = {0};
	int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct err e;

	if (!s.age || bell < 0)
		err(1, "skew");
	if (lookout_open(&l, cpu, tick, false, bell, &e) < 0)
		errx(1, "%s", e.text);
	l.tick_ns = ctx.limits.tick_ns = tick;
	s.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	loop(&l, &s, tick);
	s.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - s.cpu_ns;
	qsort(s.age, n, sizeof(*s.age), compare);
	printf("%7.0f %-8s %8.1f %8.1f %8.1f %8.1f %9.1f%% %8.1f\n", (double)tick / 1e3, how,
		(double)s.age[n / 2] / 1e3, (double)s.age[n * 9 / 10] / 1e3,
		(double)s.age[n * 99UL / 100] / 1e3, (double)s.age[n - 1] / 1e3,
		100.0 * s.right / n, (double)s.cpu_ns / n / 1e3);
	lookout_close(&l);
	close(bell);
	free(s.age);
}

int main(int argc, char **argv)
{
	struct sched_param param = {.sched_priority = 1};
	unsigned cpu = argc > 3 ? (unsigned)atoi(argv[1]) : 0,
		 n = argc > 3 ? (unsigned)atoi(argv[2]) : 0;

	if (!n)
		errx(2, "usage: skew CPU LOOKS TICK_US...");
	bind_to(cpu);
	burner = fork();
	if (burner == 0)
		burn();
	ctx.cpu = cpu;
	ctx.smpl.fmt = &fmt;
	if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) != 0)
		warnx("not SCHED_FIFO: a busy CPU will delay it");
	printf("%7s %-8s %8s %8s %8s %8s %10s %8s\n", "tick_us", "wakes", "median", "90%", "99%",
		"max us", "busy one", "cpu us");
	for (int i = 3; i < argc; i++) {
		uint64_t tick = (uint64_t)atoi(argv[i]) * 1000;

		measure(cpu, n, tick, "in step", in_step);
		measure(cpu, n, tick, "timer", by_timer);
	}
	kill(burner, SIGKILL);
	return 0;
}
