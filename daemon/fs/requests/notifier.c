// SPDX-License-Identifier: MIT
/*
 * Notification by signal (specification 3.3.7), as SIGIO. FUSE files send none, and no process can
 * send what the kernel sends (si_code POLL_IN). So the signal comes from a pipe of the daemon: the
 * thread or process to be notified is the owner (F_SETOWN_EX) of its reading end, and a byte is
 * written. The kernel binds the pipe to the thread or process itself, so a later one with the same
 * number gets nothing.
 *
 * The kernel would check whether the owner of the pipe may send the signal. As that is root, the
 * check is made here, for each signal and for two users: the one that asked for the signal, as the
 * kernel does for F_SETOWN, because passing the descriptor must not pass the opener's permission;
 * and the one that opened the file, because a program that prints into another user's file must not
 * lend its own permission.
 */
#include "daemon/fs/requests/notifier.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "daemon/authz/identity.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/file.h"
#include "daemon/percpu/thread.h"

struct notifier {
	/* The ends of the pipe. */
	int in, out;
	struct f_owner_ex to;
	/* A pidfd of @to; negative: the kernel has none of threads. */
	int target;
	/* Both must have the permission to signal @to. */
	uid_t opener, requester;
	/* engine_ctx.notified at the last signal. */
	unsigned long long notified;
};

static bool notifier_target_exists(const struct f_owner_ex *to)
{
	int rc = to->type == F_OWNER_TID ? (int)syscall(SYS_tkill, to->pid, 0) : kill(to->pid, 0);

	return rc == 0 || errno != ESRCH;
}

/* As kill(2), by real user ids. */
static bool notifier_may_signal(uid_t uid, uid_t real)
{
	return uid == 0 || uid == real;
}

static int notifier_identify(const struct notifier *n, struct identity *target, struct err *e)
{
	CLEANUP_CLOSE int dir = proc_open(n->to.pid, e);

	return dir < 0 ? dir : identity_of(dir, target, e);
}

static int notifier_target_uid(const struct notifier *n, uid_t *uid, struct err *e)
{
	struct identity target;

	if (identity_real_uid(n->target, uid))
		return 0;
	if (notifier_identify(n, &target, e) < 0)
		return -e->no;
	*uid = target.uid[PROC_REAL];
	return 0;
}

/* EPERM: not now, but it may change its user ids again. */
static int notifier_check(const struct notifier *n, struct err *e)
{
	uid_t real;

	if (n->requester == 0 && n->opener == 0)
		return 0;
	if (notifier_target_uid(n, &real, e) < 0)
		return -e->no;
	if (notifier_may_signal(n->requester, real) && notifier_may_signal(n->opener, real))
		return 0;
	return err_set(e, EPERM, "%d belongs to uid %u now", (int)n->to.pid, (unsigned)real);
}

/* In another PID namespace, the same number is another thread. */
static bool notifier_same_pid_ns(pid_t caller)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(caller, &ignored);

	return dir >= 0 && identity_in_our_pid_ns(dir);
}

static int notifier_find_target(const struct call *call, const struct command *cmd,
	const struct identity *caller, struct f_owner_ex *to, struct err *e)
{
	pid_t tid = fuse_req_ctx(call->req)->pid;

	to->type = cmd->signal.process ? F_OWNER_PID : F_OWNER_TID;
	if (cmd->tid && !notifier_same_pid_ns(tid))
		return err_set(e, EINVAL,
			"tid=%d is a number of your own PID namespace: leave it out to name "
			"yourself",
			cmd->tid);
	to->pid = cmd->tid ? cmd->tid : cmd->signal.process ? caller->tgid : tid;
	return 0;
}

/*
 * A process may signal itself whatever its effective user id is, so its real one becomes the
 * requester. The opener stays: otherwise a server that writes to users' files could be made to kill
 * itself.
 */
static int notifier_check_target(
	struct notifier *n, const struct identity *caller, const char *what, struct err *e)
{
	struct identity target;

	if (notifier_identify(n, &target, e) < 0)
		return err_prefix(e, "%s %d", what, (int)n->to.pid);
	if (target.tgid == caller->tgid)
		n->requester = caller->uid[PROC_REAL];
	if (!notifier_may_signal(n->requester, target.uid[PROC_REAL]))
		return err_set(
			e, EPERM, "%s %d is not yours: name one of your own", what, (int)n->to.pid);
	if (!notifier_may_signal(n->opener, target.uid[PROC_REAL]))
		return err_set(e, EPERM,
			"uid %u has opened this file, and may not signal %s %d: open it yourself",
			(unsigned)n->opener, what, (int)n->to.pid);
	return 0;
}

/*
 * O_ASYNC is cleared first: the thread that noted an alias may still have it open after it was
 * joined, and then closing the other end would send a signal.
 */
static void notifier_free(struct notifier *n)
{
	fcntl(n->in, F_SETFL, O_NONBLOCK);
	close(n->in);
	close(n->out);
	cleanup_close(&n->target);
	free(n);
}

static int notifier_new(struct notifier **out, struct err *e)
{
	CLEANUP_FREE struct notifier *n = calloc(1, sizeof(*n));
	int fds[2];

	if (!n)
		return err_set(e, ENOMEM, "no memory");
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(e, errno, "no pipe for signals: %s", err_name(errno));
	n->target = -1;
	n->in = fds[0];
	n->out = fds[1];
	*out = take_ptr(&n);
	return 0;
}

/* The kernel allocates a table up to the highest descriptor: this keeps it small. */
enum { NOTIFIER_ALIAS_MAX = 65536 };

/* A descriptor that gets another number while the kernel notes it. */
struct notifier_alias {
	int fd, number;
	int error;
};

static void *notifier_note_alias(void *arg)
{
	struct notifier_alias *a = arg;

	if (unshare(CLONE_FILES) < 0 || dup2(a->fd, a->number) < 0 ||
		fcntl(a->number, F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		a->error = errno;
	return NULL;
}

/*
 * si_fd is the number that the descriptor had when O_ASYNC was set. In the daemon that number may
 * be in use, but a thread with a descriptor table of its own can use it for a moment.
 */
static int notifier_set_async(const struct notifier *n, const struct command *cmd)
{
	struct notifier_alias a = {.fd = n->in, .number = cmd->signal.fd};
	pthread_t thread;

	if (!cmd->signal.has_fd || cmd->signal.fd == n->in)
		return fcntl(n->in, F_SETFL, O_ASYNC | O_NONBLOCK) < 0 ? errno : 0;
	a.error = thread_start(&thread, notifier_note_alias, &a);
	if (a.error)
		return a.error;
	pthread_join(thread, NULL);
	return a.error;
}

/* The pipe is bound before the checks: the process checked is the one that is bound, or dead. */
static int notifier_bind(
	struct notifier *n, const struct identity *caller, const struct command *cmd, struct err *e)
{
	const char *what = cmd->signal.process ? "process" : "thread";
	int no;

	if (fcntl(n->in, F_SETOWN_EX, &n->to) < 0 || !notifier_target_exists(&n->to))
		return err_set(
			e, ESRCH, "there is no %s %d: name one that runs", what, (int)n->to.pid);
	n->target = identity_open(n->to.pid);
	if (notifier_check_target(n, caller, what, e) < 0)
		return -e->no;
	if (fcntl(n->in, F_SETSIG, cmd->signal.sig) < 0)
		return err_set(e, EINVAL, "there is no signal %d: see kill -l", cmd->signal.sig);
	no = cmd->signal.fd < NOTIFIER_ALIAS_MAX ? notifier_set_async(n, cmd) : EBADF;
	if (no == EBADF)
		return err_set(e, EINVAL, "fd %d is too high for si_fd: dup2() it to a lower one",
			cmd->signal.fd);
	return no ? err_set(e, no, "the kernel refuses signals: %s", err_name(no)) : 0;
}

static int notifier_check_limit(const struct fs_context *ctx, struct err *e)
{
	if (!ctx->notify.notifier && ctx->id.uid && ctx->id.quota->notifiers >= SIGNALS_PER_USER)
		return err_set(e, ENOSPC,
			"too many contexts with signals: 'signal sig=0' ends those of one (limit: "
			"%d a user)",
			SIGNALS_PER_USER);
	return 0;
}

int notifier_set(struct call *call, const struct command *cmd, struct err *e)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	struct fs_context *ctx = call->ctx;
	struct f_owner_ex to = {0};
	struct identity is;
	struct notifier *n = NULL;

	if (!cmd->signal.sig) {
		notifier_drop(ctx);
		return 0;
	}
	if (notifier_check_limit(ctx, e) < 0 || caller_identity(call, &is, e) < 0 ||
		notifier_find_target(call, cmd, &is, &to, e) < 0 || notifier_new(&n, e) < 0)
		return -e->no;
	n->to = to;
	n->opener = call->file->uid;
	n->requester = caller->uid;
	if (notifier_bind(n, &is, cmd, e) < 0) {
		if (e->no == EFBIG)
			caller_pause_identity(call);
		notifier_free(n);
		return -e->no;
	}
	notifier_drop(ctx);
	engine_watch(call->fs->eng, &ctx->ec);
	n->notified = atomic_load(&ctx->ec.status.notified);
	ctx->notify.notifier = n;
	ctx->id.quota->notifiers++;
	return 0;
}

static void notifier_send(const struct notifier *n)
{
	char byte = 0;
	ssize_t done = write(n->out, &byte, 1);

	if (done == 1)
		done = read(n->in, &byte, 1);
	(void)done; /* neither fails: the pipe is empty before and after */
}

void notifier_raise(struct fs_context *ctx)
{
	unsigned long long notified = ctx->notify.visible.notified;
	struct notifier *n = ctx->notify.notifier;
	struct err e;
	int rc;

	if (!n || n->notified == notified)
		return;
	n->notified = notified;
	rc = notifier_target_exists(&n->to) ? notifier_check(n, &e) : -ESRCH;
	if (rc == 0)
		notifier_send(n);
	else if (rc == -ESRCH || rc == -EFBIG)
		notifier_drop(ctx);
}

void notifier_drop(struct fs_context *ctx)
{
	if (!ctx->notify.notifier)
		return;
	notifier_free(ctx->notify.notifier);
	ctx->notify.notifier = NULL;
	ctx->id.quota->notifiers--;
}
