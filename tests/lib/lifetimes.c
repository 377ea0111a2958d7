// SPDX-License-Identifier: MIT
/*
 * How long a context lives: as its open file does, over dup, fork and exec, and while a call is
 * under way. "lifetimes inherited FD" is the program that inherits one, "lifetimes narrow" one that
 * has no descriptors left.
 */
#include <perfmon/perfmon.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/check.h"

enum { MANY = 5000 }; /* more than the library keeps in mind */

static int make(void)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE};

	return FD(pfm_create_context(&ctx, NULL, NULL, 0));
}

static void copies(void)
{
	pfarg_pmd_t pmd = {.reg_value = 42};
	int fd = make(), copy = FD(dup(fd));

	OK(pfm_write_pmds(fd, &pmd, 1));
	close(fd);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBADF);
	pmd.reg_value = 0;
	OK(pfm_read_pmds(copy, &pmd, 1));
	IS(pmd.reg_value, 42);
	IS(contexts(), 1);
	close(copy);
	all_gone();
}

/* An unloaded context can be read on any CPU. PERFMONFS does not matter for existing contexts. */
static void unloaded_by_child(int fd)
{
	char *mnt = strdup(getenv("PERFMONFS"));
	pfarg_pmd_t pmd = {0};

	OK(setenv("PERFMONFS", "/nowhere", 1));
	OK(pfm_read_pmds(fd, &pmd, 1));
	OK(pfm_write_pmds(fd, &pmd, 1));
	OK(setenv("PERFMONFS", mnt, 1));
	free(mnt);
}

/* A copy knows of the CPU, as does a child. */
static void same_rules(void)
{
	pfarg_load_t load = {0};
	pfarg_pmd_t pmd = {0};
	int fd = make(), copy = FD(dup(fd));

	run_on(0);
	OK(pfm_load_context(fd, &load));
	run_on(1);
	FAILS(pfm_read_pmds(copy, &pmd, 1), EBUSY);
	pid_t child = fork();
	if (child == 0) {
		FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
		run_on(0);
		OK(pfm_read_pmds(fd, &pmd, 1));
		_exit(0);
	}
	ends_well(child);
	child = fork();
	if (child == 0) {
		run_on(0);
		OK(pfm_unload_context(fd));
		_exit(0);
	}
	ends_well(child);
	unloaded_by_child(fd);
	run_on(0);
	OK(pfm_load_context(fd, &load));
	run_on(1);
	OK(setenv("PERFMONFS_ANYCPU", "1", 1));
	OK(pfm_read_pmds(fd, &pmd, 1));
	OK(pfm_unload_context(fd));
	OK(pfm_load_context(fd, &load)); /* CPU 0, from CPU 1 */
	OK(unsetenv("PERFMONFS_ANYCPU"));
	close(fd);
	close(copy);
	all_gone();
}

static void children(void)
{
	pfarg_pmd_t pmd = {0};
	int fd = make();
	pid_t child = fork();

	if (child == 0) {
		pmd.reg_value = 43;
		OK(pfm_write_pmds(fd, &pmd, 1));
		_exit(0);
	}
	ends_well(child);
	OK(pfm_read_pmds(fd, &pmd, 1));
	IS(pmd.reg_value, 43);
	close(fd);
	all_gone();
}

static void exec_keeps_it(const char *self)
{
	int fd = make();
	char text[16];
	pid_t child;

	snprintf(text, sizeof(text), "%d", fd);
	child = fork();
	if (child == 0) {
		execl(self, self, "inherited", text, (char *)NULL);
		_exit(127);
	}
	ends_well(child);
	OK(fcntl(fd, F_SETFD, FD_CLOEXEC));
	child = fork();
	if (child == 0) {
		execl(self, self, "closed", text, (char *)NULL);
		_exit(127);
	}
	ends_well(child);
	close(fd);
	all_gone();
}

/* Another process has it where it is now. */
static void moved(void)
{
	pfarg_load_t load = {0};
	int fd = make();
	pid_t child;

	run_on(0);
	OK(pfm_load_context(fd, &load));
	child = fork();
	if (child == 0) {
		OK(pfm_unload_context(fd));
		run_on(1);
		load.load_pid = 1;
		OK(pfm_load_context(fd, &load));
		_exit(0);
	}
	ends_well(child);
	run_on(1);
	OK(pfm_start(fd, NULL));
	run_on(0);
	FAILS(pfm_stop(fd), EBUSY);
	close(fd);
	all_gone();
}

static int inherited(int fd)
{
	pfarg_load_t load = {0};
	pfarg_pmd_t pmd = {.reg_value = 44};

	OK(pfm_write_pmds(fd, &pmd, 1));
	OK(fcntl(fd, F_SETFL, O_ASYNC)); /* and then something is known of it */
	run_on(1);
	FAILS(pfm_load_context(fd, &load), EINVAL);
	run_on(0);
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	run_on(1);
	FAILS(pfm_read_pmds(fd, &pmd, 1), EBUSY);
	run_on(0);
	OK(pfm_read_pmds(fd, &pmd, 1));
	OK(pfm_unload_context(fd));
	return 0;
}

static int closed(int fd)
{
	FAILS(pfm_stop(fd), EBADF);
	return 0;
}

static _Atomic int current;
static _Atomic bool enough;

/* It meets contexts that are being closed, and descriptors that are none. */
static void *caller(void *arg)
{
	pfarg_pmd_t pmd = {0};

	(void)arg;
	while (!atomic_load(&enough))
		if (pfm_read_pmds(atomic_load(&current), &pmd, 1) < 0)
			IS(errno, EBADF);
	return NULL;
}

static void closed_meanwhile(void)
{
	pthread_t thread;

	atomic_store(&current, -1);
	OK(pthread_create(&thread, NULL, caller, NULL));
	for (int i = 0; i < 200; i++) {
		int fd = make();
		atomic_store(&current, fd);
		close(fd);
	}
	atomic_store(&enough, true);
	OK(pthread_join(thread, NULL));
	all_gone();
}

struct reader {
	pthread_t thread;
	int fd;
	_Atomic pid_t tid;
	ssize_t n;
	int err;
};

static void *reading(void *arg)
{
	struct reader *r = arg;
	pfarg_msg_t msg;

	atomic_store(&r->tid, gettid());
	r->n = read(r->fd, &msg, sizeof(msg));
	r->err = errno;
	return NULL;
}

/* It is in the system call, and not on its way there. */
static bool waits(const struct reader *r)
{
	char path[64], text[64];
	FILE *f;
	long call = -1;
	unsigned fd = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", atomic_load(&r->tid));
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(text, sizeof(text), f))
		sscanf(text, "%ld %x", &call, &fd);
	fclose(f);
	return call == SYS_read && fd == (unsigned)r->fd;
}

static void by_message(const struct reader *r, unsigned long number)
{
	(void)r;
	(void)number;
	advance(10000000);
}

static void by_signal(const struct reader *r, unsigned long number)
{
	(void)number;
	OK(pthread_kill(r->thread, SIGUSR1));
}

static void by_rmdir(const struct reader *r, unsigned long number)
{
	char path[4096];

	(void)r;
	snprintf(path, sizeof(path), "%s/ctx/%lu", getenv("PERFMONFS"), number);
	OK(rmdir(path));
}

static void nothing(int sig)
{
	(void)sig;
}

static int overflowing(void)
{
	pfarg_load_t load = {.load_pid = 0};
	pfarg_pmc_t pmc = {.reg_value = INSTRUCTIONS};
	pfarg_pmd_t pmd = {.reg_value = (uint64_t)-1000, .reg_flags = PFM_REGFL_OVFL_NOTIFY};
	int fd = make();

	run_on(0);
	OK(pfm_write_pmcs(fd, &pmc, 1));
	OK(pfm_write_pmds(fd, &pmd, 1));
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	return fd;
}

/* The context lives as long as another thread waits for a message. */
static void closed_under_reader(void)
{
	static const struct {
		void (*end)(const struct reader *r, unsigned long number);
		ssize_t n;
		int err;
	} ends[] = {{by_message, sizeof(pfarg_msg_t), 0}, {by_signal, -1, EINTR},
		{by_rmdir, -1, ENODEV}};
	const struct sigaction act = {.sa_handler = nothing};
	const struct timespec ms = {0, 1000000};

	OK(sigaction(SIGUSR1, &act, NULL));
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		struct reader r = {.fd = overflowing()};
		unsigned long number = the_context();
		OK(pthread_create(&r.thread, NULL, reading, &r));
		while (!waits(&r))
			nanosleep(&ms, NULL);
		OK(close(r.fd));
		FAILS(pfm_stop(r.fd), EBADF);
		IS(the_context(), (long long)number);
		ends[i].end(&r, number);
		OK(pthread_join(r.thread, NULL));
		IS(r.n, ends[i].n);
		if (r.n < 0)
			IS(r.err, ends[i].err);
		all_gone();
	}
}

/* What is known of a context is not lost among many that there are and have been, old or new. */
static void many(void)
{
	pfarg_load_t load = {0};
	int first = make(), fd = -1;

	run_on(0);
	OK(pfm_load_context(first, &load));
	for (int i = 0; i < MANY; i++) {
		close(fd);
		fd = make();
	}
	FAILS(pfm_load_context(fd, &load), EBUSY);
	run_on(1);
	load.load_pid = 1;
	OK(pfm_load_context(fd, &load));
	FAILS(pfm_stop(first), EBUSY);
	run_on(0);
	FAILS(pfm_stop(fd), EBUSY);
	close(first);
	close(fd);
	all_gone();
}

static void descriptors_below(int n)
{
	struct rlimit limit;

	OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = n < 0 ? limit.rlim_max : (rlim_t)n;
	OK(setrlimit(RLIMIT_NOFILE, &limit));
}

/* For the clone itself, and for the table of mounts, while it is not known yet. */
static int narrow(void)
{
	int next = FD(dup(0));
	char *mnt = strdup(getenv("PERFMONFS"));
	pfarg_ctx_t ctx = {0};

	close(next);
	descriptors_below(next);
	FAILS(pfm_create_context(&ctx, NULL, NULL, 0), EMFILE);
	descriptors_below(next + 1);
	FAILS(pfm_create_context(&ctx, NULL, NULL, 0), EMFILE);
	OK(unsetenv("PERFMONFS"));
	descriptors_below(next);
	FAILS(pfm_create_context(&ctx, NULL, NULL, 0), EMFILE);
	descriptors_below(-1);
	OK(setenv("PERFMONFS", mnt, 1));
	free(mnt);
	close(make());
	return 0;
}

static void without_descriptors(const char *self)
{
	pid_t child = fork();

	if (child == 0) {
		execl(self, self, "narrow", (char *)NULL);
		_exit(127);
	}
	ends_well(child);
	all_gone();
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "inherited") == 0)
		return inherited(atoi(argv[2]));
	if (argc == 3 && strcmp(argv[1], "closed") == 0)
		return closed(atoi(argv[2]));
	if (argc == 2 && strcmp(argv[1], "narrow") == 0)
		return narrow();
	copies();
	same_rules();
	children();
	exec_keeps_it(argv[0]);
	moved();
	closed_meanwhile();
	closed_under_reader();
	without_descriptors(argv[0]);
	many();
	return 0;
}
