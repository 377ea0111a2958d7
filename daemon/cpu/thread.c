// SPDX-License-Identifier: MIT
#include "daemon/cpu/thread.h"

#include <signal.h>

int thread_start(pthread_t *thread, void *(*start)(void *arg), void *arg)
{
	pthread_attr_t attr;
	sigset_t all;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	sigfillset(&all);
	rc = pthread_attr_setsigmask_np(&attr, &all);
	if (!rc)
		rc = pthread_create(thread, &attr, start, arg);
	pthread_attr_destroy(&attr);
	return rc;
}
