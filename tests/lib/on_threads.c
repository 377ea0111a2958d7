// SPDX-License-Identifier: MIT
/* on_threads PMC0-VALUE: contexts on threads: errors of load, and the end of a thread. */
#include <perfmon/perfmon.h>

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/check.h"

static uint64_t event;

enum { PERIOD = 1000 };

static int make(uint32_t flags)
{
	pfarg_ctx_t ctx = {.ctx_flags = flags};
	pfarg_pmc_t pmc = {.reg_value = event};
	int fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));

	OK(fcntl(fd, F_SETFD, FD_CLOEXEC));
	OK(pfm_write_pmcs(fd, &pmc, 1));
	return fd;
}

/* A process that waits. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	return pid;
}

static void refusals(void)
{
	pfarg_load_t me = {.load_pid = (uint32_t)gettid()}, nobody = {.load_pid = 0},
		     none = {.load_pid = 4194303}, kernel = {.load_pid = 2};
	struct rlimit all, none_left = {.rlim_cur = 0};
	int fd = make(0), second = make(0), blocking = make(PFM_FL_NOTIFY_BLOCK);

	FAILS(pfm_load_context(fd, &nobody), ESRCH);
	FAILS(pfm_load_context(fd, &none), ESRCH);
	FAILS(pfm_load_context(fd, &kernel), EPERM);
	FAILS(pfm_load_context(blocking, &me), EINVAL);
	OK(pfm_load_context(fd, &me));
	FAILS(pfm_load_context(fd, &me), EBUSY);
	FAILS(pfm_load_context(second, &me), EEXIST);
	OK(getrlimit(RLIMIT_NOFILE, &all));
	none_left.rlim_max = all.rlim_max;
	OK(setrlimit(RLIMIT_NOFILE, &none_left));
	FAILS(pfm_load_context(fd, &me), EBUSY); /* with any privileges */
	OK(setrlimit(RLIMIT_NOFILE, &all));
	OK(pfm_start(fd, NULL));
	OK(pfm_stop(fd));
	OK(pfm_unload_context(fd));
	OK(pfm_load_context(second, &me));
	close(second);
	close(blocking);
	close(fd);
}

/* Another user's thread */
static void not_yours(void)
{
	pfarg_load_t load = {.load_pid = (uint32_t)sleeper()};
	int status;
	pid_t child = fork();

	if (child == 0) {
		OK(setgid(65534));
		OK(setuid(65534));
		FAILS(pfm_load_context(make(0), &load), EPERM);
		_exit(0);
	}
	IS(waitpid(child, &status, 0), child);
	IS(status, 0);
	OK(kill((pid_t)load.load_pid, SIGKILL));
	IS(waitpid((pid_t)load.load_pid, &status, 0), load.load_pid);
}

/* It counts itself, and is notified only by a signal (3.3.7). */
static void signalled(void)
{
	pfarg_load_t me = {.load_pid = (uint32_t)gettid()};
	pfarg_pmd_t pmd = {.reg_flags = PFM_REGFL_OVFL_NOTIFY, .reg_value = (uint64_t)-PERIOD};
	const struct timespec limit = {20, 0};
	int fd = make(PFM_FL_OVFL_NO_MSG);
	pfarg_msg_t msg;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	OK(fcntl(fd, F_SETOWN, getpid()));
	OK(fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK));
	OK(pfm_write_pmds(fd, &pmd, 1));
	OK(pfm_load_context(fd, &me));
	OK(pfm_start(fd, NULL));
	fault(10 * PERIOD);
	IS(sigtimedwait(&set, NULL, &limit), SIGIO);
	FAILS(read(fd, &msg, sizeof(msg)), EAGAIN);
	OK(pfm_restart(fd));
	close(fd);
}

/* Its end unloads the context and sends a message, even with OVFL_NO_MSG. The counts remain. */
static void end(uint32_t flags)
{
	pfarg_load_t load = {.load_pid = (uint32_t)sleeper()};
	pfarg_msg_t msg;
	pfarg_pmd_t pmd = {0};
	int fd = make(flags), status;

	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	OK(kill((pid_t)load.load_pid, SIGKILL));
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.type, PFM_MSG_END);
	OK(pfm_read_pmds(fd, &pmd, 1));
	FAILS(pfm_stop(fd), EINVAL);
	IS(waitpid((pid_t)load.load_pid, &status, 0), load.load_pid);
	OK(pfm_unload_context(fd));
	close(fd);
}

/* A process that has ended, but not been waited for */
static void ended(void)
{
	pfarg_load_t load = {0};
	siginfo_t si;
	int fd = make(0);

	load.load_pid = (uint32_t)fork();
	if (!load.load_pid)
		_exit(0);
	OK(waitid(P_PID, load.load_pid, &si, WEXITED | WNOWAIT));
	FAILS(pfm_load_context(fd, &load), ESRCH);
	OK(waitid(P_PID, load.load_pid, &si, WEXITED));
	close(fd);
}

/* One that the caller traces: so the daemon does not, and cannot have it stand still. */
static void traced(void)
{
	pfarg_load_t load = {0};
	int fd = make(0), blocking = make(PFM_FL_NOTIFY_BLOCK), status;

	load.load_pid = (uint32_t)sleeper();
	OK(ptrace(PTRACE_ATTACH, (pid_t)load.load_pid, NULL, NULL));
	IS(waitpid((pid_t)load.load_pid, &status, __WALL), load.load_pid);
	FAILS(pfm_load_context(blocking, &load), EBUSY);
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	OK(pfm_unload_context(fd));
	OK(ptrace(PTRACE_DETACH, (pid_t)load.load_pid, NULL, SIGSTOP));
	OK(pfm_load_context(blocking, &load));
	OK(kill((pid_t)load.load_pid, SIGKILL));
	IS(waitpid((pid_t)load.load_pid, &status, 0), load.load_pid);
	close(blocking);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	event = strtoull(argv[1], NULL, 0);
	refusals();
	not_yours();
	ended();
	signalled();
	end(0);
	end(PFM_FL_OVFL_NO_MSG);
	traced();
	return 0;
}
