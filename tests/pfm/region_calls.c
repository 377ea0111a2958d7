// SPDX-License-Identifier: MIT
/* region_calls CASE: a program with regions, for regions.bats. */
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfmonfs/region.h"

static void fails(int rc, int no)
{
	assert(rc == -1);
	if (errno != no)
		err(1, "instead of errno %d", no);
}

static void works(int rc)
{
	if (rc < 0)
		err(1, "region");
}

/* Lets the test go on, and waits for it. */
static void meet(void)
{
	char line[8];

	puts("here");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		errx(1, "no line");
}

/* Refuses perf_event_open(2), as containers do. */
static void forbid_events(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		err(1, "seccomp");
}

static void case_errors(void)
{
	char name[16], longest[65];

	memset(longest, 'x', sizeof(longest));
	longest[64] = '\0';
	fails(pfm_region_begin(longest), ENAMETOOLONG);
	fails(pfm_region_begin(""), EINVAL);
	fails(pfm_region_end("one"), EINVAL);
	works(pfm_region_begin("one"));
	fails(pfm_region_begin("one"), EBUSY);
	works(pfm_region_end("one"));
	fails(pfm_region_end("one"), EINVAL);
	longest[63] = '\0';
	works(pfm_region_begin(longest));
	works(pfm_region_end(longest));
	for (int i = 2; i < 64; i++) {
		snprintf(name, sizeof(name), "r%d", i);
		works(pfm_region_begin(name));
	}
	fails(pfm_region_begin("more"), ENOSPC);
}

static void case_killed(void)
{
	works(pfm_region_begin("before"));
	works(pfm_region_end("before"));
	works(pfm_region_begin("within"));
	raise(SIGKILL);
}

static void case_fork(void)
{
	pid_t pid;

	works(pfm_region_begin("parent"));
	pid = fork();
	if (pid == 0) {
		fails(pfm_region_end("parent"), EINVAL);
		works(pfm_region_begin("child"));
		works(pfm_region_end("child"));
		_exit(0);
	}
	assert(waitpid(pid, NULL, 0) == pid);
	works(pfm_region_end("parent"));
}

static void *thread_fork(void *unused)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(fcntl(STDIN_FILENO, F_GETFD) < 0);
	assert(waitpid(pid, &status, 0) == pid && status == 0);
	return unused;
}

/* By a thread that has no regions: it has no descriptor to close. */
static void case_fork_other(void)
{
	pthread_t thread;

	works(pfm_region_begin("one"));
	assert(pthread_create(&thread, NULL, thread_fork, NULL) == 0);
	pthread_join(thread, NULL);
	works(pfm_region_end("one"));
}

static void *thread_region(void *end)
{
	works(pfm_region_begin("thread"));
	if (end)
		works(pfm_region_end("thread"));
	return NULL;
}

/* One after the other. The first ends within its region. */
static void case_threads(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++) {
		assert(pthread_create(&thread, NULL, thread_region, i ? &thread : NULL) == 0);
		pthread_join(thread, NULL);
	}
}

/* Goes on in a region. */
static void case_own(void)
{
	works(pfm_region_begin("one"));
	meet();
	works(pfm_region_end("one"));
}

/* Closes all descriptors, as daemons do, and reuses their numbers. */
static void case_closed(void)
{
	char line[8];

	works(pfm_region_begin("good"));
	works(pfm_region_end("good"));
	works(pfm_region_begin("bad"));
	assert(close_range(3, ~0U, 0) == 0);
	for (int i = 0; i < 8; i++)
		assert(dup(STDIN_FILENO) == 3 + i);
	fails(pfm_region_end("bad"), EIO);
	assert(read(3, line, sizeof(line)) == 5);
}

/* By a context. */
static void case_forbidden(void)
{
	forbid_events();
	works(pfm_region_begin("one"));
	meet();
	works(pfm_region_end("one"));
}

static void case_lost(void)
{
	forbid_events();
	works(pfm_region_begin("good"));
	works(pfm_region_end("good"));
	works(pfm_region_begin("bad"));
	meet();
	fails(pfm_region_end("bad"), EIO);
	fails(pfm_region_begin("bad"), EIO);
	fails(pfm_region_end("bad"), EIO);
}

static void case_refused(void)
{
	forbid_events();
	meet();
	fails(pfm_region_begin("one"), EBUSY);
	fails(pfm_region_end("one"), EBUSY);
}

static void case_name(void)
{
	works(pfm_region_begin("a\033[31m\n\"b,\xff"));
	works(pfm_region_end("a\033[31m\n\"b,\xff"));
}

/* Without pfm. */
static void case_alone(void)
{
	works(pfm_region_end("one"));
	works(pfm_region_begin("one"));
	works(pfm_region_begin("one"));
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"errors", case_errors},
	{"killed", case_killed},
	{"fork", case_fork},
	{"fork-other", case_fork_other},
	{"threads", case_threads},
	{"lost", case_lost},
	{"refused", case_refused},
	{"name", case_name},
	{"alone", case_alone},
	{"own", case_own},
	{"closed", case_closed},
	{"forbidden", case_forbidden},
};

int main(int argc, char **argv)
{
	for (unsigned i = 0; argc == 2 && i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	}
	errx(2, "usage: region_calls CASE");
}
