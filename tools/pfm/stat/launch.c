// SPDX-License-Identifier: MIT
/*
 * The process of the command waits for the order to execute its program. For launch_stop(), this
 * process traces the command until it has executed the program. The trace stop then becomes a job
 * control stop, so that the daemon can trace the command.
 */
#include "tools/pfm/stat/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
#include "base/slice.h"
#include "tools/pfm/command.h"

/* Waits for a byte, then executes the program. On failure, sends the errno back. */
static void launch_exec(pid_t parent, int end, char *const *argv, const sigset_t *mask)
{
	char order;
	int no;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || read(end, &order, 1) != 1)
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
		/* Signals from the terminal or from other programs are delivered. */
		ptrace(PTRACE_CONT, pid, NULL,
			status >> 16 ? NULL : (void *)(uintptr_t)WSTOPSIG(status));
	}
}

/* The first bytes of en dash and em dash in UTF-8. Documents replace hyphens by these. */
static const char launch_dashes[] = "\xe2\x80";

int launch_check(const struct launch *l, const char *name, struct err *e)
{
	int no = l->exec_no;

	switch (no) {
	case 0:
		return 0;
	case ENOENT:
		return err_set(e, no, "%s: ENOENT: no such command%s", name,
			strncmp(name, launch_dashes, 2) == 0
				? ": if it is an option, its dash is not the character '-'"
				: "");
	case EACCES:
		return err_set(e, no, "%s: EACCES: it cannot be executed: give %s", name,
			strchr(name, '/') ? "a program that you may run"
					  : "its path, because you may not read a directory of "
					    "PATH or may not run the program there");
	default:
		return err_set(e, no, "%s: %s: it cannot be executed", name, err_name(no));
	}
}

static bool launch_gains_privileges(const char *path, const struct stat *st)
{
	return st->st_mode & (S_ISUID | S_ISGID) ||
	       getxattr(path, "security.capability", NULL, 0) > 0;
}

/* A set-user-ID program does not get its privileges if its tracer is not root: it would behave
 * differently than without pfm. */
static int launch_check_privileges(const struct launch *l, const char *name, struct err *e)
{
	char path[40];
	struct stat st;

	if (geteuid() == 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)l->pid);
	if (stat(path, &st) < 0 || !launch_gains_privileges(path, &st))
		return 0;
	return err_set(e, EPERM,
		"%s gains privileges when it is executed, which it cannot while a user counts it: "
		"run pfm as root",
		name);
}

/* Turns the trace stop into a job control stop. */
static int launch_hand_over(const struct launch *l, struct err *e)
{
	if (kill(l->pid, SIGSTOP) < 0 || ptrace(PTRACE_DETACH, l->pid, NULL, NULL) < 0)
		return err_set(e, errno, "PTRACE_DETACH: %s", err_name(errno));
	return WIFSTOPPED(launch_waitpid(l->pid, WUNTRACED))
		       ? 0
		       : err_set(e, ECHILD, "the command was killed before it began");
}

/* Makes the waiting process execute the program. */
static int launch_order(const struct launch *l, struct err *e)
{
	return send(l->start, "", 1, MSG_NOSIGNAL) == 1
		       ? 0
		       : err_set(e, ECHILD, "the command was killed before it began");
}

/* Waits until the program has been executed or the process has ended, and reads the errno of a
 * failure. */
static void launch_read_refusal(struct launch *l)
{
	int no = 0;

	l->exec_no = read(l->start, &no, sizeof(no)) == sizeof(no) ? no : 0;
	close(l->start);
	l->start = -1;
}

static int launch_trace(struct launch *l, const char *name, struct err *e)
{
	const uintptr_t options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

	if (ptrace(PTRACE_SEIZE, l->pid, NULL, (void *)options) < 0)
		return err_set(e, EAGAIN,
			"PTRACE_SEIZE: %s: pfm must be allowed to trace its command: see "
			"/proc/sys/kernel/yama/ptrace_scopeand the container's seccomp filter",
			err_name(errno));
	if (launch_order(l, e) < 0)
		return -e->no;
	l->reaped = !launch_wait_exec(l->pid);
	launch_read_refusal(l);
	if (launch_check(l, name, e) < 0)
		return -e->no;
	if (l->reaped)
		return err_set(e, ECHILD, "the command was killed before it began");
	if (launch_check_privileges(l, name, e) < 0)
		return -e->no;
	return launch_hand_over(l, e);
}

int launch_stop(struct launch *l, const char *name, struct err *e)
{
	int rc = launch_trace(l, name, e);

	if (rc < 0)
		launch_end(l);
	return rc;
}

static int launch_fork(
	struct launch *l, const int ends[2], char *const *argv, const sigset_t *mask, struct err *e)
{
	pid_t parent = getpid();

	l->pid = fork();
	if (l->pid == 0) {
		close(ends[0]);
		launch_exec(parent, ends[1], argv, mask);
	}
	if (l->pid < 0) {
		l->pid = 0;
		return err_set(e, EAGAIN, "fork: %s", err_name(errno));
	}
	l->pidfd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	return l->pidfd < 0 ? err_set(e, errno, "pidfd_open: %s", err_name(errno)) : 0;
}

int launch_waiting(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e)
{
	int ends[2], rc;

	*l = (struct launch)LAUNCH_NONE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "socketpair: %s", err_name(errno));
	l->start = ends[0];
	rc = launch_fork(l, ends, argv, mask, e);
	close(ends[1]);
	if (rc < 0)
		launch_end(l);
	return rc;
}

int launch_stopped(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e)
{
	int rc = launch_waiting(l, argv, mask, e);

	return rc < 0 ? rc : launch_stop(l, argv[0], e);
}

/* Whether execvp() may execute @path. False: it would go on to the next directory of PATH. */
static bool launch_may_execute(const char *path, struct stat *st)
{
	return stat(path, st) == 0 && S_ISREG(st->st_mode) && access(path, X_OK) == 0;
}

static bool launch_is_plain_file(const char *path, const struct stat *st)
{
	return !launch_gains_privileges(path, st) && access(path, R_OK) == 0;
}

bool launch_is_plain(const char *name)
{
	const char *folders = getenv("PATH");
	struct slice rest = slice_of(folders ? folders : "/bin:/usr/bin"), folder;
	char path[PATH_MAX];
	struct stat st;

	if (strchr(name, '/'))
		return launch_may_execute(name, &st) && launch_is_plain_file(name, &st);
	while (rest.n) {
		folder = slice_cut(&rest, ':');
		if (snprintf(path, sizeof(path), "%.*s%s%s", SLICE_ARG(folder), folder.n ? "/" : "",
			    name) < (int)sizeof(path) &&
			launch_may_execute(path, &st))
			return launch_is_plain_file(path, &st);
	}
	return false;
}

void launch_continue(struct launch *l)
{
	struct err killed;

	l->begin_ns = nsec_now(CLOCK_MONOTONIC);
	if (l->start < 0)
		kill(l->pid, SIGCONT);
	else
		launch_order(l, &killed);
}

void launch_wait(struct launch *l)
{
	while (!l->reaped && wait4(l->pid, &l->status, 0, &l->usage) < 0 && errno == EINTR)
		;
	l->reaped = true;
	l->end_ns = nsec_now(CLOCK_MONOTONIC);
	if (l->start >= 0)
		launch_read_refusal(l);
}

void launch_end(struct launch *l)
{
	if (l->pid && !l->reaped) {
		kill(l->pid, SIGKILL);
		launch_wait(l);
	}
	if (l->pidfd >= 0)
		close(l->pidfd);
	if (l->start >= 0)
		close(l->start);
	*l = (struct launch){.pidfd = -1, .start = -1, .exec_no = l->exec_no};
}

int launch_exit_status(const struct launch *l)
{
	return WIFSIGNALED(l->status) ? PFM_EXIT_SIGNAL + WTERMSIG(l->status)
				      : WEXITSTATUS(l->status);
}
