// SPDX-License-Identifier: MIT
/*
 * burner CPU shares | burner CPU steps NS: a program whose profile is known. A thread of its own,
 * pinned to CPU, spends its time in the functions a to f; a line "NAME START END" for each is
 * printed first, then "thread PID TID". It ends when its parent ends.
 *
 * shares: 60 % in a, 30 % in b, 10 % in c, by counted work, in rounds of irregular length, so that
 * no period is in step with them.
 * steps: all six take turns, each for NS by CLOCK_MONOTONIC (specification, figure 3.20).
 */
#include <err.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/fs/before_others.h"

/* Each is alone in a section, as the linker says where those with such names begin and end. */
#define BURN(name)                                                                                 \
	extern const char __start_burn_##name[], __stop_burn_##name[];                             \
	static void __attribute__((noinline, section("burn_" #name))) name(uint64_t n)             \
	{                                                                                          \
		__asm__ volatile(".p2align 6\n1:\tdec %0\n\tjnz 1b" : "+r"(n) : : "cc");           \
	}

BURN(a)
BURN(b)
BURN(c)
BURN(d)
BURN(e)
BURN(f)

static const struct {
	const char *name, *start, *end;
	void (*burn)(uint64_t n);
} functions[] = {
	{"a", __start_burn_a, __stop_burn_a, a},
	{"b", __start_burn_b, __stop_burn_b, b},
	{"c", __start_burn_c, __stop_burn_c, c},
	{"d", __start_burn_d, __stop_burn_d, d},
	{"e", __start_burn_e, __stop_burn_e, e},
	{"f", __start_burn_f, __stop_burn_f, f},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void __attribute__((noreturn)) shares(void)
{
	for (uint32_t random = 1;; random = random * 1664525 + 1013904223) {
		uint64_t unit = 500 + random / 4294968;

		a(6 * unit);
		b(3 * unit);
		c(unit);
	}
}

/* A microsecond or so at a time: the clock is asked so seldom that this does not show. */
static void __attribute__((noreturn)) steps(uint64_t ns)
{
	for (;;)
		functions[now() / ns % FUNCTIONS].burn(10000);
}

static void *burn(void *arg)
{
	uint64_t step = *(uint64_t *)arg;

	printf("thread %d %d\n", getpid(), gettid());
	fflush(stdout);
	if (step)
		steps(step);
	shares();
}

int main(int argc, char **argv)
{
	uint64_t step = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
	pthread_t thread;
	cpu_set_t set;

	if (argc < 3 || strcmp(argv[2], step ? "steps" : "shares") != 0)
		errx(2, "usage: burner CPU shares | burner CPU steps NS");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	before_others();
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "CPU %s", argv[1]);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		printf("%s %#lx %#lx\n", functions[i].name, (unsigned long)functions[i].start,
			(unsigned long)functions[i].end);
	if (pthread_create(&thread, NULL, burn, &step))
		errx(1, "thread");
	pthread_join(thread, NULL);
}
