// SPDX-License-Identifier: MIT
/* A thread with a pending cancellation makes calls as usual: they are no cancellation points. */
#include <perfmon/perfmon.h>

#include <pthread.h>
#include <unistd.h>

#include "tests/lib/check.h"

static bool all_made;

static void *calls(void *arg)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE};
	pfarg_load_t load = {.load_pid = 0};
	pfarg_pmd_t pmd = {0};
	int fd;

	(void)arg;
	run_on(0);
	OK(pthread_cancel(pthread_self()));
	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	run_on(1);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY); /* this call reads files */
	all_made = true;
	close(fd);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	void *end;

	OK(pthread_create(&thread, NULL, calls, NULL));
	OK(pthread_join(thread, &end));
	IS(all_made, true);
	IS(end == PTHREAD_CANCELED, true); /* in close() */
	return 0;
}
