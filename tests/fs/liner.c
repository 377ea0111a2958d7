// SPDX-License-Identifier: MIT
/*
 * liner: a program whose lines and instructions are known. Three lines of its function lines() take
 * 60, 30 and 10 % of its time; of a line, nearly all is in an instruction that interrupts do not
 * end. It calls two functions, and ends when its parent ends.
 */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "tests/fs/before_others.h"

static uint8_t bytes[6 * 2000];
static unsigned seed;

/* Its time is proportional to @n. */
#define READ(n)                                                                                    \
	do {                                                                                       \
		const uint8_t *from = bytes;                                                       \
		size_t rest = (n);                                                                 \
		__asm__ volatile("rep lodsb" : "+S"(from), "+c"(rest) : : "rax", "memory");        \
	} while (0)

static void __attribute__((noinline)) called_by_a_name_that_is_longer_than_forty_bytes(void)
{
	__asm__ volatile("");
}

static void __attribute__((noinline)) lines(size_t unit)
{
	READ(6 * unit); /* 60 */
	READ(3 * unit); /* 30 */
	READ(unit);     /* 10 */
	rand_r(&seed);
	called_by_a_name_that_is_longer_than_forty_bytes();
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	before_others();
	for (uint32_t random = 1;; random = random * 1664525 + 1013904223)
		for (unsigned i = 0; i < 100; i++)
			lines(1000 + random / 4294968);
}
