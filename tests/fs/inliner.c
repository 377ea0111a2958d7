// SPDX-License-Identifier: MIT
/*
 * inliner: a program whose inlined functions are known. Of its work, 40 % is inner()'s, 20 %
 * middle()'s, and the rest is outer()'s; inner() is inlined into middle(), and that into outer().
 * Each function's work is in one line. It ends when its parent ends.
 */
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>

#include "tests/fs/before_others.h"

#define INLINED static inline __attribute__((always_inline)) void

/* Loops that begin at different bytes of a cache line differ in speed. */
#define WORK(n)                                                                                    \
	do {                                                                                       \
		uint64_t rest = (n);                                                               \
		__asm__ volatile(".p2align 6\n1: dec %0\n\tjnz 1b" : "+r"(rest));                  \
	} while (0)

INLINED inner(uint64_t unit)
{
	WORK(4 * unit); /* inner's line */
}

INLINED middle(uint64_t unit)
{
	inner(unit);
	WORK(2 * unit); /* middle's line */
}

static void __attribute__((noinline)) outer(uint64_t unit)
{
	middle(unit);
	WORK(4 * unit); /* outer's line */
}

int main(void)
{
	uint32_t random = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	before_others();
	for (;; random = random * 1664525 + 1013904223)
		outer(5000 + random / 429496);
}
