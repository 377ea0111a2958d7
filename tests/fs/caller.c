// SPDX-License-Identifier: MIT
/*
 * caller DEPTH [ROUNDS]: a program whose call tree is known, compiled with frame pointers. Of its
 * work, 60 % is called by heavy(), 30 % by light() and 10 % below DEPTH calls of down(). Rounds
 * have an irregular length, so that no period is in step with them. Now and then it is in the
 * kernel, by in_kernel(). It ends when its parent ends, or after ROUNDS; then it prints its CPU
 * time in ns.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "tests/fs/before_others.h"

#define CALLER static void __attribute__((noinline))

CALLER work(uint64_t n)
{
	while (n--)
		__asm__ volatile("");
}

CALLER heavy(uint64_t unit)
{
	work(6 * unit);
}

CALLER light(uint64_t unit)
{
	work(3 * unit);
}

CALLER down(int depth, uint64_t unit)
{
	if (depth > 0)
		down(depth - 1, unit);
	else
		work(unit);
}

CALLER in_kernel(int zero)
{
	static char page[1 << 16];

	if (read(zero, page, sizeof(page)) < 0)
		err(1, "/dev/zero");
}

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	uint64_t rounds = argc == 3 ? strtoull(argv[2], NULL, 10) : UINT64_MAX;
	uint32_t random = 1;

	if (argc < 2 || argc > 3 || zero < 0)
		errx(2, "usage: caller DEPTH [ROUNDS]");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	before_others();
	for (uint64_t i = 0; i < rounds; i++, random = random * 1664525 + 1013904223) {
		uint64_t unit = 5000 + random / 429496;

		heavy(unit);
		light(unit);
		down(atoi(argv[1]), unit);
		in_kernel(zero);
	}
	printf("%" PRIu64 "\n", cpu_time());
	return 0;
}
