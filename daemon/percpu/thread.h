/* SPDX-License-Identifier: MIT */
/* Threads of the daemon: start, name, priority, CPU. */
#ifndef PERCPU_THREAD_H
#define PERCPU_THREAD_H

#include <pthread.h>

/* From here on, the calling thread is the session thread. */
void thread_is_session(void);
/* Ends the daemon if another thread calls what is the session thread's alone. Any thread may, until
 * one has become the session thread. */
void assert_session_thread(void);

/* Starts a thread with all signals blocked: signals are for the session thread. Returns 0 or a
 * positive errno. */
int thread_start(pthread_t *thread, void *(*start)(void *arg), void *arg);
/* thread_start() on @cpu, from the first instruction on. Returns EINVAL if @cpu is offline. */
int thread_start_on(pthread_t *thread, unsigned cpu, void *(*start)(void *arg), void *arg);

/* Names the calling thread; 15 bytes of the name are kept. */
void thread_set_name(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes @thread SCHED_FIFO at @priority; what it forks is SCHED_OTHER. Returns 0 or a positive
 * errno, EPERM without CAP_SYS_NICE or without a real-time budget in the cgroup. */
int thread_set_fifo(pthread_t thread, int priority);

/* Pins the calling thread to @cpu. Returns 0 or a positive errno, EINVAL if @cpu is offline. */
int thread_pin(unsigned cpu);

#endif
