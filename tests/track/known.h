/* SPDX-License-Identifier: MIT */
/* What the programs of this directory have in common: they know what they have done. */
#ifndef TESTS_TRACK_KNOWN_H
#define TESTS_TRACK_KNOWN_H

#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Waits for a line. False: end of file, as the test has exited. */
static inline int next_line(void)
{
	char c = 0;

	while (c != '\n')
		if (read(STDIN_FILENO, &c, 1) != 1)
			return 0;
	return 1;
}

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* This thread's page faults so far; exec does not reset them. */
static inline long my_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

static inline void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "CPU %u", cpu);
}

/* Memory in which each page is a fault of its own, not locked by what mlockall() says. */
static inline volatile char *fault_area(size_t pages)
{
	char *p = mmap(
		NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap");
	madvise(p, pages * PAGE, MADV_NOHUGEPAGE);
	munlock(p, pages * PAGE);
	return p;
}

/* @n faults, @pages at a time. */
static inline void fault(volatile char *area, size_t pages, uint64_t n)
{
	while (n) {
		madvise((void *)(uintptr_t)area, pages * PAGE, MADV_DONTNEED);
		for (size_t i = 0; i < pages && n; i++, n--)
			area[i * PAGE] = 1;
	}
}

/* Nothing shall be left of a test that has failed. */
static inline void end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

#endif
