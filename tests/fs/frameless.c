// SPDX-License-Identifier: MIT
/*
 * frameless ROUNDS: calls a chain of twelve functions, f1() to f12(), compiled without frame
 * pointers, and without tail calls or inlining. Nearly all of its time is spent in the last one.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What follows the call makes it no tail call. */
#define FRAMELESS(name, next)                                                                      \
	static uint64_t __attribute__((noinline)) name(uint64_t n)                                 \
	{                                                                                          \
		uint64_t found = next(n + 1);                                                      \
                                                                                                   \
		__asm__ volatile("" : "+r"(found));                                                \
		return found + 1;                                                                  \
	}

static uint64_t __attribute__((noinline)) f12(uint64_t n)
{
	for (uint64_t i = 0; i < 1000000; i++)
		__asm__ volatile("" : "+r"(n));
	return n;
}

FRAMELESS(f11, f12)
FRAMELESS(f10, f11)
FRAMELESS(f9, f10)
FRAMELESS(f8, f9)
FRAMELESS(f7, f8)
FRAMELESS(f6, f7)
FRAMELESS(f5, f6)
FRAMELESS(f4, f5)
FRAMELESS(f3, f4)
FRAMELESS(f2, f3)
FRAMELESS(f1, f2)

int main(int argc, char **argv)
{
	uint64_t rounds = argc == 2 ? strtoull(argv[1], NULL, 10) : 0, found = 0;

	for (uint64_t i = 0; i < rounds; i++)
		found += f1(i);
	printf("%llu\n", (unsigned long long)found);
	return 0;
}
