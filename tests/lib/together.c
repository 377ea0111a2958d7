// SPDX-License-Identifier: MIT
/*
 * Calls from a signal handler that interrupts other calls, and two threads in one context. Both
 * write values and read them back, which must be complete. Then from a handler on a
 * stack of its own, as small as libperfmonfs(7) says that it may be.
 */
#include <perfmon/perfmon.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/lib/check.h"

enum { ROUNDS = 3000, INTERVAL_US = 300 };

static int fd;
static volatile sig_atomic_t handled, failed;

static int round_trip(uint16_t num, uint64_t value)
{
	pfarg_pmd_t pmd = {.reg_num = num, .reg_value = value};

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

static atomic_bool over;

static void *asking_for_signals(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		OK(fcntl(fd, F_SETFL, O_ASYNC));
		OK(fcntl(fd, F_SETFL, 0));
	}
	return NULL;
}

/* What one thread makes known is not undone by another, which makes something else known. */
static void known_together(void)
{
	pfarg_load_t load = {0};
	pthread_t thread;

	OK(pthread_create(&thread, NULL, asking_for_signals, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		run_on(0);
		OK(pfm_load_context(fd, &load));
		run_on(1);
		FAILS(pfm_stop(fd), EBUSY);
		run_on(0);
		OK(pfm_unload_context(fd));
	}
	atomic_store(&over, true);
	OK(pthread_join(thread, NULL));
}

/* Where most of it is wanted: the library looks for the mount, and for the context's state. */
static void handler_from_elsewhere(int sig)
{
	pfarg_pmd_t pmd = {0};

	(void)sig;
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	FAILS(pfm_stop(fd), EBUSY);
	handled = 1;
}

/* What is under the stack cannot be written. */
static void on_small_stack(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 16384;
	char *room =
		mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = {.sa_handler = handler_from_elsewhere, .sa_flags = SA_ONSTACK};
	stack_t stack = {.ss_sp = room + page, .ss_size = size};
	pfarg_load_t load = {0};

	IS(room != MAP_FAILED, 1);
	OK(mprotect(room, page, PROT_NONE));
	OK(sigaltstack(&stack, NULL));
	OK(sigaction(SIGUSR1, &act, NULL));
	run_on(0);
	OK(pfm_load_context(fd, &load));
	run_on(1);
	handled = 0;
	OK(raise(SIGUSR1));
	IS(handled, 1);
}

int main(void)
{
	pfarg_ctx_t ctx = {0};

	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	in_handlers();
	in_threads();
	close(fd);
	ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	known_together();
	on_small_stack();
	close(fd);
	return 0;
}
