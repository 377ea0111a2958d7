/* SPDX-License-Identifier: MIT */
/* How every thread of the daemon but the first is made. */
#ifndef CPU_THREAD_H
#define CPU_THREAD_H

#include <pthread.h>

/* Signals are the session thread's: every other one is born with all of them blocked.
 * 0, or a positive errno. */
int thread_start(pthread_t *thread, void *(*start)(void *arg), void *arg);
/* On @cpu from its first instruction on. EINVAL: that is offline. */
int thread_start_on(pthread_t *thread, unsigned cpu, void *(*start)(void *arg), void *arg);

#endif
