// SPDX-License-Identifier: MIT
/*
 * skew CPU N TICK_US...: the age of the newest sample of the running thread when a worker reads its
 * counters, over N readings with a busy thread on the CPU. "timer" is for comparison: a worker that
 * sleeps until a given time, regardless of the ip_sampler's ticks. An overflow happens up to a tick
 * before the reading that finds it.
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

#include "bench/compare.h"
#include "daemon/percpu/sample_tick.h"

struct ages {
	uint64_t *age;
	unsigned n, right;
	uint64_t cpu_ns;
};

static struct context ctx = {.state = CTX_RUNNING, .samples.kernel_ip = true};
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

static void note_age(struct sample_tick *l, struct ages *s, unsigned i)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	pfm_smpl_where_t where;

	sample_tick_read(l, &ctx, now, &where);
	s->age[i] = now - ip_sampler_time(l->ip_sampler);
	s->right += where.pid == (uint32_t)burner;
}

static void in_step(struct sample_tick *l, struct ages *s, uint64_t tick)
{
	for (unsigned i = 0; i < s->n; i++) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC);

		sample_tick_arm(l, &ctx, (struct wake){.at = now + tick}, now);
		while (sample_tick_sleep(l) != WOKEN_TICK)
			;
		note_age(l, s, i);
	}
}

static void by_timer(struct sample_tick *l, struct ages *s, uint64_t tick)
{
	uint64_t at = clock_ns(CLOCK_MONOTONIC);

	for (unsigned i = 0; i < s->n; i++) {
		/* Drifts through the phases of the ip_sampler. */
		struct timespec until;

		at += tick + tick / 97;
		until = (struct timespec){(time_t)(at / 1000000000), (long)(at % 1000000000)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		note_age(l, s, i);
	}
}

static void measure(unsigned cpu, unsigned n, uint64_t tick, const char *how,
	void (*loop)(struct sample_tick *, struct ages *, uint64_t))
{
	struct ages s = {.age = calloc(n, sizeof(uint64_t)), .n = n};
	struct sample_tick l = {0};
	const struct ip_sampler_conf conf = {.period_ns = tick};
	int wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct err e;

	if (!s.age || wakeup < 0)
		err(1, "skew");
	if (sample_tick_open(&l, cpu, &conf, wakeup, &e) < 0)
		errx(1, "%s", e.text);
	l.tick_ns = ctx.limits.tick_ns = tick;
	s.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	loop(&l, &s, tick);
	s.cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - s.cpu_ns;
	qsort(s.age, n, sizeof(*s.age), compare_u64);
	printf("%7.0f %-8s %8.1f %8.1f %8.1f %8.1f %9.1f%% %8.1f\n", (double)tick / 1e3, how,
		(double)s.age[n / 2] / 1e3, (double)s.age[n * 9 / 10] / 1e3,
		(double)s.age[n * 99UL / 100] / 1e3, (double)s.age[n - 1] / 1e3,
		100.0 * s.right / n, (double)s.cpu_ns / n / 1e3);
	sample_tick_close(&l);
	close(wakeup);
	free(s.age);
}

int main(int argc, char **argv)
{
	struct sched_param param = {.sched_priority = 1};
	unsigned cpu = argc > 3 ? (unsigned)atoi(argv[1]) : 0,
		 n = argc > 3 ? (unsigned)atoi(argv[2]) : 0;

	if (!n)
		errx(2, "usage: skew CPU N TICK_US...");
	bind_to(cpu);
	burner = fork();
	if (burner == 0)
		burn();
	ctx.target.cpu = cpu;
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
