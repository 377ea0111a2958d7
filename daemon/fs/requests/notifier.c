// SPDX-License-Identifier: MIT
/*
 * Notification by signal (specification 3.3.7), as SIGIO. FUSE files send none, and no process can
 * send what the kernel sends (si_code POLL_IN). So the signal comes from a pipe of the daemon: the
 * thread or process to notify is the owner (F_SETOWN_EX) of the reading end, and the daemon writes
 * a byte. The kernel binds the pipe to the thread or process, not to its number, so a later one
 * with the same number gets nothing.
 *
 * The kernel would check whether the owner of the pipe may send the signal. As that is root, the
 * check is made here, for each signal and for two users: the user that asked for the signal, as the
 * kernel does for F_SETOWN, because passing the descriptor must not pass the opener's permission;
 * and the user that opened the file, because a program that prints into another user's file must
 * not lend its own permission.
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
#include "base/open_files.h"
#include "daemon/authz/identity.h"
#include "daemon/authz/target.h"
#include "daemon/engine/engine.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/file.h"
#include "daemon/percpu/thread.h"

/* The number of descriptors of a notifier. */
enum { NOTIFIER_FILES = 3 };

struct notifier {
	/* The ends of the pipe. */
	int in, out;
	struct f_owner_ex to;
	/* A pidfd of @to; negative if @to is a thread and the kernel has no pidfds of threads. */
	int target;
	/* @to belongs to the requester. */
	bool visible;
	/* Both users must have permission to signal @to. */
	uid_t opener, requester;
	/* engine_ctx.notified at the last signal. */
	unsigned long long notified;
	/* Work that reads the user of @to for a signal, before Linux 6.13. */
	struct work work;
	/* The input and the results of @work. */
	struct fs_context *ctx;
	uid_t real;
	int rc;
	/* @work is under way, and has a reference to @ctx. */
	bool checking;
	/* Another signal is due after @work. */
	bool again;
	/* The context has dropped the notifier, which is freed after @work. */
	bool dropped;
};

/* A signal that is being set. */
struct notifier_request {
	struct await_work wait;
	const struct command *cmd;
	pid_t caller;
	/* Uids of the caller and of the opener. */
	uid_t uid, opener;
	struct notifier *n;
	int rc;
	struct err *err;
};

static bool notifier_target_exists(const struct f_owner_ex *to)
{
	int rc = to->type == F_OWNER_TID ? (int)syscall(SYS_tkill, to->pid, 0) : kill(to->pid, 0);

	return rc == 0 || errno != ESRCH;
}

/* Decides as kill(2) does, but by real user ids. */
static bool notifier_may_signal(uid_t uid, uid_t real)
{
	return uid == 0 || uid == real;
}

static int notifier_identify(const struct notifier *n, struct identity *target, struct err *e)
{
	CLEANUP_CLOSE int dir = proc_open(n->to.pid, e);

	return dir < 0 ? dir : identity_of(dir, target, e);
}

/* Whether @caller has the daemon's PID namespace: in another one, the same number is another
 * thread. */
static bool notifier_same_pid_ns(pid_t caller)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(caller, &ignored);

	return dir >= 0 && identity_in_our_pid_ns(dir);
}

static int notifier_find_target(pid_t tid, const struct command *cmd, const struct identity *caller,
	struct f_owner_ex *to, struct err *e)
{
	to->type = cmd->signal.process ? F_OWNER_PID : F_OWNER_TID;
	if (cmd->tid && !notifier_same_pid_ns(tid))
		return err_set(e, EINVAL,
			"tid=%d is an id in your own PID namespace, which the daemon does not use: "
			"leave tid out to name the caller",
			cmd->tid);
	to->pid = cmd->tid ? cmd->tid : cmd->signal.process ? caller->tgid : tid;
	return 0;
}

/*
 * A process may signal itself regardless of its effective user id, so its real one becomes the
 * requester. The opener remains: otherwise a server that writes to users' files could be made to
 * kill itself.
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
	n->visible = true;
	if (!notifier_may_signal(n->opener, target.uid[PROC_REAL]))
		return err_set(e, EPERM,
			"uid %u opened this file and may not signal %s %d: open it yourself",
			(unsigned)n->opener, what, (int)n->to.pid);
	return 0;
}

/* O_ASYNC is cleared first: the thread that noted an alias may still have the alias open after it
 * was joined, and then closing the other end would send a signal. */
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

/* The limit on alias numbers: the kernel allocates a table up to the highest descriptor. */
enum { NOTIFIER_ALIAS_MAX = 65536 };

/* A descriptor that has another number while the kernel notes it. */
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

/* si_fd is the number that the descriptor had when O_ASYNC was set. That number may be in use in
 * the daemon, but a thread with its own descriptor table can use it for a moment. */
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

/* Whether the refusal @rc tells something about the target that /proc may hide from the caller, as
 * it does not hide the caller's own threads. */
static bool notifier_tells(const struct notifier *n, int rc)
{
	return rc == -ESRCH || rc == -EFBIG || (rc == -EPERM && !n->visible);
}

/* Binds the pipe before the checks, so that the process checked is the bound one, or dead. */
static int notifier_bind(
	struct notifier *n, const struct identity *caller, const struct command *cmd, struct err *e)
{
	const char *what = cmd->signal.process ? "process" : "thread";
	int no;

	if (fcntl(n->in, F_SETOWN_EX, &n->to) < 0 || !notifier_target_exists(&n->to))
		return err_set(e, ESRCH, "there is no %s %d: name one that ps -eL shows", what,
			(int)n->to.pid);
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

/* Whether notifiers of non-root users would take more than an eighth of the possible
 * descriptors. */
static bool notifier_are_many(const struct user_quotas *all)
{
	return (rlim_t)(all->notifiers + 1) * NOTIFIER_FILES > open_files_max() / 8;
}

static int notifier_check_limit(const struct fs_context *ctx, struct err *e)
{
	const struct user_quota *q = ctx->id.quota;

	if (ctx->notify.notifier || !q->uid)
		return 0;
	if (q->notifiers >= SIGNALS_PER_USER)
		return err_set(e, ENOSPC,
			"too many of your contexts send signals (limit: %d): write 'signal sig=0' "
			"to the ctl of one",
			SIGNALS_PER_USER);
	if (notifier_are_many(q->all))
		return err_set(e, ENOSPC,
			"%u contexts of all users send signals, which use up an eighth of the "
			"daemon's descriptors: have root raise LimitNOFILE",
			q->all->notifiers);
	return 0;
}

static void notifier_count(struct user_quota *q, int n)
{
	q->notifiers += (unsigned)n;
	if (q->uid)
		q->all->notifiers += (unsigned)n;
}

static int notifier_identify_caller(pid_t tid, struct identity *is, struct err *e)
{
	CLEANUP_CLOSE int dir = proc_open(tid, e);
	int rc = dir < 0 ? dir : identity_of(dir, is, e);

	return rc < 0 ? err_prefix(e, "the caller, thread %d", (int)tid) : 0;
}

static int notifier_make(struct notifier_request *req, struct err *e)
{
	struct f_owner_ex to = {0};
	struct identity caller;
	int rc;

	if (!req->caller)
		return err_set(e, EPERM,
			"the daemon cannot see your PID namespace: use the one that the daemon "
			"runs in");
	if (notifier_identify_caller(req->caller, &caller, e) < 0 ||
		notifier_find_target(req->caller, req->cmd, &caller, &to, e) < 0 ||
		notifier_new(&req->n, e) < 0)
		return -e->no;
	req->n->to = to;
	req->n->opener = req->opener;
	req->n->requester = req->uid;
	rc = notifier_bind(req->n, &caller, req->cmd, e);
	return notifier_tells(req->n, rc) ? target_hide(req->caller, to.pid, e) : rc;
}

static void notifier_run(struct work *work)
{
	struct notifier_request *req = container_of(work, struct notifier_request, wait.work);

	req->rc = notifier_make(req, req->err);
}

static int notifier_install(struct fs_context *ctx, struct notifier_request *req, struct err *e)
{
	if (context_check_closed(ctx, e) < 0 || notifier_check_limit(ctx, e) < 0)
		return -e->no;
	notifier_drop(ctx);
	engine_watch(ctx->objs->eng, &ctx->ec);
	req->n->notified = atomic_load(&ctx->ec.status.notified);
	req->n->ctx = ctx;
	ctx->notify.notifier = take_ptr(&req->n);
	notifier_count(ctx->id.quota, 1);
	return 0;
}

static int notifier_begin(struct call *call, const struct command *cmd, struct err *e)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	struct notifier_request req = {
		.wait.work.run = notifier_run,
		.cmd = cmd,
		.caller = caller->pid,
		.uid = caller->uid,
		.opener = call->file->uid,
		.err = e,
	};
	int rc = await_work(call, &req.wait, e);

	if (rc == 0)
		rc = req.rc;
	if (rc == 0)
		rc = notifier_install(call->ctx, &req, e);
	if (req.n)
		notifier_free(req.n);
	return rc;
}

int notifier_set(struct call *call, const struct command *cmd, struct err *e)
{
	if (!cmd->signal.sig) {
		notifier_drop(call->ctx);
		return 0;
	}
	if (notifier_check_limit(call->ctx, e) < 0)
		return -e->no;
	return notifier_begin(call, cmd, e);
}

static void notifier_send(const struct notifier *n)
{
	char byte = 0;
	ssize_t done = write(n->out, &byte, 1);

	if (done == 1)
		done = read(n->in, &byte, 1);
	(void)done; /* neither fails: the pipe is empty before and after */
}

/* Signals the target, if permitted. A target that may not be signalled now may change its user ids
 * again. */
static void notifier_send_to(const struct notifier *n, uid_t real)
{
	if (notifier_may_signal(n->requester, real) && notifier_may_signal(n->opener, real))
		notifier_send(n);
}

static void notifier_read(struct work *w)
{
	struct notifier *n = container_of(w, struct notifier, work);
	struct identity target;
	struct err ignored;

	n->rc = notifier_identify(n, &target, &ignored);
	n->real = n->rc == 0 ? target.uid[PROC_REAL] : 0;
}

static void notifier_begin_check(struct notifier *n);

static void notifier_checked(struct work *w)
{
	struct notifier *n = container_of(w, struct notifier, work);
	struct fs_context *ctx = n->ctx;

	n->checking = false;
	if (n->dropped) {
		notifier_free(n);
	} else if (!w->ended && (n->rc == -ESRCH || n->rc == -EFBIG)) {
		notifier_drop(ctx);
	} else if (!w->ended) {
		if (n->rc == 0)
			notifier_send_to(n, n->real);
		if (n->again)
			notifier_begin_check(n);
	}
	context_unref(ctx);
}

static void notifier_begin_check(struct notifier *n)
{
	struct err ignored;

	n->again = n->checking;
	if (n->checking)
		return;
	n->work = (struct work){
		.uid = n->ctx->id.uid, .run = notifier_read, .done = notifier_checked};
	n->checking = engine_work(n->ctx->objs->eng, &n->work, &ignored) == 0;
	if (n->checking)
		context_ref(n->ctx);
}

void notifier_raise(struct fs_context *ctx)
{
	unsigned long long notified = ctx->notify.visible.notified;
	struct notifier *n = ctx->notify.notifier;
	uid_t real = 0;

	if (!n || n->notified == notified)
		return;
	n->notified = notified;
	if (!notifier_target_exists(&n->to))
		notifier_drop(ctx);
	else if ((n->requester == 0 && n->opener == 0) || identity_real_uid(n->target, &real))
		notifier_send_to(n, real);
	else
		notifier_begin_check(n);
}

void notifier_drop(struct fs_context *ctx)
{
	struct notifier *n = take_ptr(&ctx->notify.notifier);

	if (!n)
		return;
	notifier_count(ctx->id.quota, -1);
	n->dropped = true;
	if (!n->checking)
		notifier_free(n);
}
