/* SPDX-License-Identifier: MIT */
/* Condition variables. */
#ifndef BASE_COND_H
#define BASE_COND_H

#include <pthread.h>
#include <time.h>

/* Initializes @cond so that pthread_cond_timedwait() uses CLOCK_MONOTONIC, which cannot be set. */
static inline void cond_init_monotonic(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

#endif
