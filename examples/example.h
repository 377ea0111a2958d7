/* SPDX-License-Identifier: MIT */
/* Shared by the examples: numbers from the command line, and page faults to count. */
#ifndef EXAMPLES_EXAMPLE_H
#define EXAMPLES_EXAMPLE_H

#include <err.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static inline uint64_t number(const char *text)
{
	char *end;

	errno = 0;
	uint64_t n = strtoull(text, &end, 0);
	if (errno || end == text || *end)
		errx(2, "'%s' is not a number", text);
	return n;
}

/* Pins the caller to a CPU. */
static inline void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "running on CPU %d", cpu);
}

/* Causes @n page faults. */
static inline void fault(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		err(1, "mmap");
	madvise(at, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		((volatile char *)at)[i * page] = 1;
	munmap(at, n * page);
}

#endif
