// SPDX-License-Identifier: MIT
/*
 * This process traces the command only until it has executed the program; then job control stops
 * it, and the daemon can trace it.
 */
#include "tools/pfm/stat/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/command.h"

/* Waits for the byte that says that it is traced, and executes. The errno goes back if that fails.
 */
static void launch_exec(pid_t parent, int end, char *const *argv, const sigset_t *mask)
{
	char traced;
	int no;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || read(end, &traced, 1) != 1)
		_exit(PFM_EXIT_FAILED);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	no = errno;
	if (write(end, &no, sizeof(no)) < 0)
		no = 0;
	_exit(PFM_EXIT_FAILED);
}

static int launch_waitpid(pid_t pid, int options)
{
	int status = 0;

	while (waitpid(pid, &status, options) < 0 && errno == EINTR)
		;
	return status;
}

/* True when the command has executed the program and is stopped; false if it has ended. */
static bool launch_wait_exec(pid_t pid)
{
	for (;;) {
		int status = launch_waitpid(pid, __WALL);

		if (!WIFSTOPPED(status))
			return false;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return true;
		/* A signal of the terminal, or of another program, is its own. */
		ptrace(PTRACE_CONT, pid, NULL,
			status >> 16 ? NULL : (void *)(uintptr_t)WSTOPSIG(status));
	}
}

static int launch_refuse(const char *name, int no, struct err *e)
{
	switch (no) {
	case ENOENT:
		return err_set(e, no, "%s: ENOENT: no such command", name);
	case EACCES:
		return err_set(e, no,
			"%s: EACCES: it cannot be executed: give a program that you may run", name);
	default:
		return err_set(e, no, "%s: %s: it cannot be executed", name, err_name(no));
	}
}

/*
 * A set-user-ID program that another user than root traces does not get its privileges, and would
 * do something else than without pfm.
 */
static int launch_check_privileges(const struct launch *l, const char *name, struct err *e)
{
	char path[40];
	struct stat st;

	if (geteuid() == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)l->pid);
	if (stat(path, &st) < 0)
		return 0;
	if (!(st.st_mode & S_ISUID) && !(st.st_mode & S_ISGID) &&
		getxattr(path, "security.capability", NULL, 0) <= 0)
		return 0;
	return err_set(e, EPERM,
		"%s gains privileges, which it cannot while a user counts it: run pfm as root",
		name);
}

/* Hands it from the tracer's stop over to that of job control. */
static int launch_stop(const struct launch *l, struct err *e)
{
	if (kill(l->pid, SIGSTOP) < 0 || ptrace(PTRACE_DETACH, l->pid, NULL, NULL) < 0)
		return err_set(e, errno, "PTRACE_DETACH: %s", err_name(errno));
	return WIFSTOPPED(launch_waitpid(l->pid, WUNTRACED))
		       ? 0
		       : err_set(e, ECHILD, "the command was killed before it began");
}

static int launch_trace(struct launch *l, int end, const char *name, struct err *e)
{
	const uintptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
	int no = 0, rc;

	if (ptrace(PTRACE_SEIZE, l->pid, NULL, (void *)options) < 0)
		return err_set(e, EAGAIN,
			"PTRACE_SEIZE: %s: pfm must be allowed to trace its command: see "
			"/proc/sys/kernel/yama/ptrace_scope, and seccomp of containers",
			err_name(errno));
	if (write(end, "", 1) != 1)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
	if (!launch_wait_exec(l->pid)) {
		l->reaped = true;
		l->exec_no = read(end, &no, sizeof(no)) == sizeof(no) ? no : 0;
		return l->exec_no ? launch_refuse(name, no, e)
				  : err_set(e, ECHILD, "the command was killed before it began");
	}
	rc = launch_check_privileges(l, name, e);
	return rc < 0 ? rc : launch_stop(l, e);
}

/* In the parent: the command is stopped, or there is none. */
static int launch_begin(struct launch *l, int end, const char *name, struct err *e)
{
	int rc = launch_trace(l, end, name, e);

	if (rc == 0) {
		l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
		if (l->pidfd < 0)
			rc = err_set(e, errno, "pidfd_open: %s", err_name(errno));
	}
	if (rc < 0)
		launch_end(l);
	return rc;
}

int launch_stopped(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e)
{
	pid_t parent = getpid();
	int ends[2], rc;

	*l = (struct launch)LAUNCH_NONE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
	l->pid = fork();
	if (l->pid == 0) {
		close(ends[0]);
		launch_exec(parent, ends[1], argv, mask);
	}
	close(ends[1]);
	if (l->pid < 0) {
		l->pid = 0;
		rc = err_set(e, EAGAIN, "fork: %s", err_name(errno));
	} else {
		rc = launch_begin(l, ends[0], argv[0], e);
	}
	close(ends[0]);
	return rc;
}

void launch_continue(struct launch *l)
{
	l->begin_ns = nsec_now(CLOCK_MONOTONIC);
	kill(l->pid, SIGCONT);
}

void launch_wait(struct launch *l)
{
	while (!l->reaped && wait4(l->pid, &l->status, 0, &l->usage) < 0 && errno == EINTR)
		;
	l->reaped = true;
	l->end_ns = nsec_now(CLOCK_MONOTONIC);
}

void launch_end(struct launch *l)
{
	if (l->pid && !l->reaped) {
		kill(l->pid, SIGKILL);
		launch_wait(l);
	}
	if (l->pidfd >= 0)
		close(l->pidfd);
	*l = (struct launch){.pidfd = -1, .exec_no = l->exec_no};
}

int launch_exit_status(const struct launch *l)
{
	return WIFSIGNALED(l->status) ? PFM_EXIT_SIGNAL + WTERMSIG(l->status)
				      : WEXITSTATUS(l->status);
}
