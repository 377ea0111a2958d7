// SPDX-License-Identifier: MIT
#include "daemon/percpu/thread.h"

#include <assert.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

/* Its address tells threads apart. */
static _Thread_local char thread_here;
static _Atomic(const char *) thread_session;

void thread_is_session(void)
{
	atomic_store(&thread_session, &thread_here);
}

void assert_session_thread(void)
{
	const char *session = atomic_load_explicit(&thread_session, memory_order_relaxed);

	assert(!session || session == &thread_here);
}

static cpu_set_t thread_cpu_set(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &set);
	return set;
}

static int thread_start_affine(
	pthread_t *thread, const cpu_set_t *affinity, void *(*start)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	sigfillset(&all);
	rc = pthread_attr_setsigmask_np(&attr, &all);
	if (!rc && affinity)
		rc = pthread_attr_setaffinity_np(&attr, sizeof(*affinity), affinity);
	if (!rc)
		rc = pthread_create(thread, &attr, start, arg);
	pthread_attr_destroy(&attr);
	return rc;
}

int thread_start(pthread_t *thread, void *(*start)(void *arg), void *arg)
{
	return thread_start_affine(thread, NULL, start, arg);
}

int thread_start_on(pthread_t *thread, unsigned cpu, void *(*start)(void *arg), void *arg)
{
	cpu_set_t affinity = thread_cpu_set(cpu);

	return thread_start_affine(thread, &affinity, start, arg);
}

void thread_set_name(const char *fmt, ...)
{
	char name[16];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	pthread_setname_np(pthread_self(), name);
}

int thread_set_fifo(pthread_t thread, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return pthread_setschedparam(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

int thread_pin(unsigned cpu)
{
	cpu_set_t set = thread_cpu_set(cpu);

	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}
