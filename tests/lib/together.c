// SPDX-License-Identifier: MIT
/*
 * Calls from a signal handler, in the midst of other calls; and two threads in one context. Both
 * write values and read them back: each finds what was written, whole.
 */
#include <perfmon/perfmon.h>

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/lib/check.h"

enum { ROUNDS = 3000, INTERVAL_US = 300 };

static int fd;
static volatile sig_atomic_t handled, failed;

static int round_trip(uint16_t num, uint64_t value)
{
	pfarg_pmd_t pmd;

	CLEAR(pmd);
	pmd.reg_num = num;
	pmd.reg_value = value;
	if (pfm_write_pmds(fd, &pmd, 1) < 0)
		return -1;
	pmd.reg_value = 0;
	return pfm_read_pmds(fd, &pmd, 1) < 0 || pmd.reg_value != value ? -1 : 0;
}

static void handler(int sig)
{
	int before = errno;

	(void)sig;
	if (round_trip(1, (uint64_t)handled) < 0)
		failed = 1;
	handled++;
	errno = before;
}

static void in_handlers(void)
{
	struct sigaction act = {.sa_handler = handler, .sa_flags = SA_RESTART};
	const struct itimerval often = {{0, INTERVAL_US}, {0, INTERVAL_US}},
			       never = {{0, 0}, {0, 0}};

	OK(sigaction(SIGALRM, &act, NULL));
	OK(setitimer(ITIMER_REAL, &often, NULL));
	for (uint64_t i = 0; i < ROUNDS || !handled; i++)
		OK(round_trip(0, i));
	OK(setitimer(ITIMER_REAL, &never, NULL));
	IS(failed, 0);
}

static void *other(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < ROUNDS; i++)
		OK(round_trip(1, i << 32 | i));
	return NULL;
}

static void in_threads(void)
{
	pthread_t thread;

	OK(pthread_create(&thread, NULL, other, NULL));
	for (uint64_t i = 0; i < ROUNDS; i++)
		OK(round_trip(0, ~i));
	OK(pthread_join(thread, NULL));
}

int main(void)
{
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	in_handlers();
	in_threads();
	close(fd);
	return 0;
}
