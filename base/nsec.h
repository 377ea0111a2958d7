/* SPDX-License-Identifier: MIT */
/* Times in nanoseconds. */
#ifndef BASE_NSEC_H
#define BASE_NSEC_H

#include <stdint.h>
#include <time.h>

#define NSEC_PER_SEC 1000000000ULL

static inline uint64_t nsec_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static inline struct timespec nsec_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
}

static inline uint64_t nsec_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return nsec_of(t);
}

#endif
