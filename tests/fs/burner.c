// SPDX-License-Identifier: MIT
/*
 * burner CPU shares: a program whose profile is known. A thread of its own, pinned to CPU, spends
 * 60 % of its time in the function a, 30 % in b, 10 % in c, by counted work, in rounds of irregular
 * length, so that no period is in step with them. A line "NAME START END" for each is printed
 * first, then "thread PID TID". It ends when its parent ends.
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

static const struct {
	const char *name, *start, *end;
} functions[] = {
	{"a", __start_burn_a, __stop_burn_a},
	{"b", __start_burn_b, __stop_burn_b},
	{"c", __start_burn_c, __stop_burn_c},
};
enum { FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

static void __attribute__((noreturn)) shares(void)
{
	for (uint32_t random = 1;; random = random * 1664525 + 1013904223) {
		uint64_t unit = 500 + random / 4294968;

		a(6 * unit);
		b(3 * unit);
		c(unit);
	}
}

static void *burn(void *arg)
{
	(void)arg;
	printf("thread %d %d\n", getpid(), gettid());
	fflush(stdout);
	shares();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t set;

	if (argc < 3 || strcmp(argv[2], "shares") != 0)
		errx(2, "usage: burner CPU shares");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	before_others();
	CPU_ZERO(&set);
	CPU_SET(atoi(argv[1]), &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "CPU %s", argv[1]);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		printf("%s %#lx %#lx\n", functions[i].name, (unsigned long)functions[i].start,
			(unsigned long)functions[i].end);
	if (pthread_create(&thread, NULL, burn, NULL))
		errx(1, "thread");
	pthread_join(thread, NULL);
}
