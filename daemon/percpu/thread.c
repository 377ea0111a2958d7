// SPDX-License-Identifier: MIT
#include "daemon/cpu/thread.h"

#include <sched.h>
#include <signal.h>

static int start_thread(
	pthread_t *thread, const cpu_set_t *where, void *(*start)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	sigfillset(&all);
	rc = pthread_attr_setsigmask_np(&attr, &all);
	if (!rc && where)
		rc = pthread_attr_setaffinity_np(&attr, sizeof(*where), where);
	if (!rc)
		rc = pthread_create(thread, &attr, start, arg);
	pthread_attr_destroy(&attr);
	return rc;
}

int thread_start(pthread_t *thread, void *(*start)(void *arg), void *arg)
{
	return start_thread(thread, NULL, start, arg);
}

int thread_start_on(pthread_t *thread, unsigned cpu, void *(*start)(void *arg), void *arg)
{
	cpu_set_t where;

	CPU_ZERO(&where);
	if (cpu < CPU_SETSIZE)
		CPU_SET(cpu, &where);
	return start_thread(thread, &where, start, arg);
}
