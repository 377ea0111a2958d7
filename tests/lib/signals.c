// SPDX-License-Identifier: MIT
/*
 * Signals at notifications, asked for by fcntl(2); and that other descriptors are left alone.
 * "signals namespace": in a PID namespace that is not the daemon's.
 */
#include <perfmon/perfmon.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/check.h"

static void wait_for(int sig, siginfo_t *info)
{
	const struct timespec limit = {20, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	IS(sigtimedwait(&set, info, &limit), sig);
}

/* None of the two is waiting: what came is taken. */
static void none_waits(void)
{
	const struct timespec now = {0, 0};
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGUSR1);
	FAILS(sigtimedwait(&set, &info, &now), EAGAIN);
}

static int overflowing(uint32_t flags)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE | flags};
	pfarg_load_t load = {0};
	pfarg_pmc_t pmc = {.reg_value = INSTRUCTIONS};
	pfarg_pmd_t pmd = {.reg_flags = PFM_REGFL_OVFL_NOTIFY};
	int fd;

	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	pmd.reg_value = pmd.reg_long_reset = (uint64_t)-1000;
	OK(pfm_write_pmcs(fd, &pmc, 1));
	OK(pfm_write_pmds(fd, &pmd, 1));
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	return fd;
}

/* An overflow; by the time of the signal its message is there. */
static void overflow(void)
{
	advance(10000000);
}

static void drain(int fd)
{
	pfarg_msg_t msg;

	while (read(fd, &msg, sizeof(msg)) == sizeof(msg))
		IS(msg.type, PFM_MSG_OVFL);
	IS(errno, EAGAIN);
	OK(pfm_restart(fd));
}

static void by_owner(int fd)
{
	siginfo_t info;

	OK(fcntl(fd, F_SETOWN, getpid()));
	IS(fcntl(fd, F_GETOWN), getpid());
	OK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	IS(fcntl(fd, F_GETFL) & (O_ASYNC | O_NONBLOCK), O_ASYNC | O_NONBLOCK);
	overflow();
	wait_for(SIGIO, &info);
	drain(fd);
}

static void by_thread_and_signal(int fd)
{
	struct f_owner_ex owner = {F_OWNER_TID, gettid()}, got;
	siginfo_t info;

	OK(fcntl(fd, F_SETOWN_EX, &owner));
	OK(fcntl(fd, F_GETOWN_EX, &got));
	IS(got.type, F_OWNER_TID);
	IS(got.pid, gettid());
	OK(fcntl(fd, F_SETSIG, SIGUSR1));
	IS(fcntl(fd, F_GETSIG), SIGUSR1);
	overflow();
	wait_for(SIGUSR1, &info);
	IS(info.si_fd, fd);
	drain(fd);
}

struct owner {
	pthread_barrier_t set, overflowed;
	int fd;
};

/* As profilers of perfmon2's time: F_SETOWN with a number of gettid(). */
static void *own(void *arg)
{
	struct owner *o = arg;
	siginfo_t info;

	OK(fcntl(o->fd, F_SETOWN, gettid()));
	IS(fcntl(o->fd, F_GETOWN), gettid());
	OK(fcntl(o->fd, F_SETSIG, SIGUSR1));
	pthread_barrier_wait(&o->set);
	pthread_barrier_wait(&o->overflowed);
	wait_for(SIGUSR1, &info);
	IS(info.si_fd, o->fd);
	return NULL;
}

/* Another thread than the first is the owner: the signal is for that one alone. */
static void by_number_of_thread(int fd)
{
	struct owner o = {.fd = fd};
	pthread_t thread;

	OK(pthread_barrier_init(&o.set, NULL, 2));
	OK(pthread_barrier_init(&o.overflowed, NULL, 2));
	OK(pthread_create(&thread, NULL, own, &o));
	pthread_barrier_wait(&o.set);
	overflow();
	none_waits();
	pthread_barrier_wait(&o.overflowed);
	OK(pthread_join(thread, NULL));
	OK(fcntl(fd, F_SETOWN, getpid()));
	OK(fcntl(fd, F_SETSIG, 0));
	drain(fd);
}

/* Waits until the child has two threads, and returns the number of the second. */
static int second_thread(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int tid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	while (!tid) {
		DIR *dir = opendir(path);
		IS(dir != NULL, 1);
		while ((entry = readdir(dir)))
			if (atoi(entry->d_name) > 0 && atoi(entry->d_name) != pid)
				tid = atoi(entry->d_name);
		closedir(dir);
	}
	return tid;
}

static void *stay(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A thread of another process, by a number that is no process's. */
static void by_number_of_foreign_thread(int fd)
{
	pid_t child = fork();
	pthread_t thread;

	if (child == 0) {
		pthread_create(&thread, NULL, stay, NULL);
		stay(NULL);
	}
	FAILS(fcntl(fd, F_SETOWN, second_thread(child)), ESRCH);
	IS(fcntl(fd, F_GETOWN), getpid());
	OK(kill(child, SIGKILL));
	IS(waitpid(child, NULL, 0), child);
}

/* A copy of the descriptor is the same open file. */
static void by_copy(int fd)
{
	int copy = FD(dup(fd));
	siginfo_t info;

	IS(fcntl(copy, F_GETFL) & O_ASYNC, O_ASYNC);
	OK(fcntl(copy, F_SETSIG, SIGIO));
	overflow();
	wait_for(SIGIO, &info);
	IS(info.si_fd, copy);
	drain(copy);
	close(copy);
}

static void no_more(int fd)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};

	OK(fcntl(fd, F_SETFL, O_NONBLOCK));
	IS(fcntl(fd, F_GETFL) & O_ASYNC, 0);
	overflow();
	IS(poll(&poller, 1, 20000), 1);
	none_waits();
	drain(fd);
}

/* A child as owner: its pid is not valid in the daemon's namespace. */
static void asked_by_child(int fd, bool namespace)
{
	pid_t child;
	int status;

	OK(fcntl(fd, F_SETOWN, getpid()));
	child = fork();
	if (child == 0) {
		if (namespace)
			FAILS(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK), EINVAL);
		else
			OK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
		_exit(0);
	}
	IS(waitpid(child, &status, 0), child);
	IS(status, 0);
}

/* Any process that shares the file can disable the signals of another. */
static void asked_by_another(int fd, bool namespace)
{
	siginfo_t info;

	asked_by_child(fd, namespace);
	if (namespace)
		return;
	overflow();
	wait_for(SIGIO, &info);
	drain(fd);
	no_more(fd);
}

static void refused(int fd)
{
	struct f_owner_ex group = {F_OWNER_PGRP, getpgrp()}, none = {F_OWNER_PID, 0};

	/* No owner: allowed, without effect. */
	OK(fcntl(fd, F_SETOWN_EX, &none));
	OK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	FAILS(fcntl(fd, F_SETOWN_EX, &group), EINVAL);
	FAILS(fcntl(fd, F_SETOWN, -getpgrp()), EINVAL);
	IS(fcntl(fd, F_GETOWN), 0);
	FAILS(fcntl(fd, F_SETSIG, 100), EINVAL);
	OK(fcntl(fd, F_SETFL, O_NONBLOCK));
}

/* What is not about signals goes its way, on contexts too. */
static void other_commands(int fd)
{
	int copy = FD(fcntl(fd, F_DUPFD, 100));

	IS(copy >= 100, 1);
	OK(fcntl(copy, F_GETFD));
	OK(fcntl(copy, F_SETFD, FD_CLOEXEC));
	IS(fcntl(copy, F_GETFD), FD_CLOEXEC);
	close(copy);
	copy = FD(fcntl(fd, F_DUPFD_CLOEXEC, 100));
	IS(fcntl(copy, F_GETFD), FD_CLOEXEC);
	close(copy);
}

/* A pair of sockets supports O_ASYNC itself. */
static void other_descriptors(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	char path[] = "/tmp/libXXXXXX", path_of_version[4096];
	siginfo_t info;
	int ends[2], file;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	OK(fcntl(ends[0], F_SETOWN, getpid()));
	OK(fcntl(ends[0], F_SETSIG, SIGUSR1));
	OK(fcntl(ends[0], F_SETFL, O_ASYNC));
	IS(fcntl(ends[0], F_GETFL) & O_ASYNC, O_ASYNC);
	IS(write(ends[1], "x", 1), 1);
	wait_for(SIGUSR1, &info);
	IS(info.si_fd, ends[0]);
	FAILS(fcntl(999, F_GETFL), EBADF);
	FAILS(fcntl(999, F_SETFL, O_ASYNC), EBADF);
	FAILS(fcntl(ends[0], 9999), EINVAL);
	file = FD(mkstemp(path));
	OK(unlink(path));
	OK(fcntl(file, F_SETLK, &lock));
	IS(fcntl(file, F_GETFL) & O_ACCMODE, O_RDWR);
	OK(fcntl(file, F_SETFL, O_APPEND));
	IS(fcntl(file, F_GETFL) & O_APPEND, O_APPEND);
	/* As the kernel has it: a regular file does not keep it. */
	OK(fcntl(file, F_SETFL, O_ASYNC));
	IS(fcntl(file, F_GETFL) & O_ASYNC, 0);
	close(file);
	/* Nor does another file of the mount. */
	snprintf(path_of_version, sizeof(path_of_version), "%s/version", getenv("PERFMONFS"));
	file = FD(open(path_of_version, O_RDONLY));
	OK(fcntl(file, F_SETOWN, getpid()));
	OK(fcntl(file, F_SETFL, O_ASYNC | O_NONBLOCK));
	IS(fcntl(file, F_GETFL) & (O_ASYNC | O_NONBLOCK), O_NONBLOCK);
	close(file);
}

/* The signal is all there is (3.3.7), and none comes again before restart. */
static void without_messages(void)
{
	int fd = overflowing(PFM_FL_OVFL_NO_MSG);
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	pfarg_msg_t msg;
	siginfo_t info;

	OK(fcntl(fd, F_SETOWN, getpid()));
	OK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	for (int i = 0; i < 2; i++) {
		overflow();
		wait_for(SIGIO, &info);
		IS(poll(&poller, 1, 0), 0);
		FAILS(read(fd, &msg, sizeof(msg)), EAGAIN);
		overflow();
		none_waits();
		OK(pfm_restart(fd));
		FAILS(pfm_restart(fd), EBUSY);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	bool namespace = argc == 2 && strcmp(argv[1], "namespace") == 0;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGUSR1);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	if (namespace)
		OK(setpgid(0, 0)); /* in a group that has a number there */
	run_on(0);
	other_descriptors();
	fd = overflowing(0);
	by_owner(fd);
	by_thread_and_signal(fd);
	by_number_of_thread(fd);
	by_number_of_foreign_thread(fd);
	by_copy(fd);
	no_more(fd);
	asked_by_another(fd, namespace);
	refused(fd);
	other_commands(fd);
	close(fd);
	without_messages();
	return 0;
}
