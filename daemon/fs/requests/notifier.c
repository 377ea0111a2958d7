// SPDX-License-Identifier: MIT
/*
 * Notification by signal (specification 3.3.7), as SIGIO: that of a FUSE file never comes, and no
 * process can send to another what the kernel sends (si_code POLL_IN). So it is sent for a pipe of
 * the daemon's: its reading end belongs to whom is to be notified, a thread or a process, and
 * something is written. The kernel binds the pipe to that itself, so another that gets its number
 * gets nothing.
 *
 * The kernel would ask whether the owner of the pipe may signal him; as that is root, the
 * question is asked here, each time: for who asked for the signal, as the kernel does for F_SETOWN,
 * because a descriptor that was handed on must not lend its opener's right to kill; and for who
 * opened the file, because a program that prints into another's file must not lend its own.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "daemon/cpu/thread.h"

struct notifier {
	int in, out; /* the ends of the pipe */
	struct f_owner_ex to;
	uid_t opener, asker;         /* on whose behalf */
	unsigned long long notified; /* how many notifications have been told */
};

/* The line of /proc/TID/status that begins with @key, without that. */
static bool proc_status(pid_t tid, const char *key, char line[256])
{
	CLEANUP_FCLOSE FILE *f = NULL;
	size_t n = strlen(key);
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, 256, f)) {
		if (strncmp(line, key, n) == 0) {
			memmove(line, line + n, strlen(line + n) + 1);
			return true;
		}
	}
	return false;
}

static bool exists(const struct f_owner_ex *to)
{
	int rc = to->type == F_OWNER_TID ? (int)syscall(SYS_tkill, to->pid, 0) : kill(to->pid, 0);

	return rc == 0 || errno != ESRCH;
}

bool real_uid(pid_t tid, uid_t *uid)
{
	char line[256];

	return proc_status(tid, "Uid:", line) && sscanf(line, "%u", uid) == 1;
}

/* As kill(2) has it, by real user ids. */
static bool may_signal(uid_t uid, pid_t tid)
{
	uid_t real;

	return uid == 0 || (real_uid(tid, &real) && real == uid);
}

static bool both_may_signal(const struct notifier *n)
{
	return may_signal(n->asker, n->to.pid) &&
	       (n->opener == n->asker || may_signal(n->opener, n->to.pid));
}

/* A number is that of another thread in another PID namespace. */
static bool same_namespace(pid_t caller)
{
	char line[256];
	int outer, inner;

	return proc_status(caller, "NSpid:", line) && sscanf(line, "%d %d", &outer, &inner) == 1;
}

/* 0: there is none any more. */
static pid_t process_of(pid_t tid)
{
	char line[256];
	int pid;

	return proc_status(tid, "Tgid:", line) && sscanf(line, "%d", &pid) == 1 ? pid : 0;
}

static int find_owner(
	const struct call *call, const struct command *cmd, struct f_owner_ex *to, struct err *e)
{
	pid_t caller = fuse_req_ctx(call->req)->pid;

	to->type = cmd->process ? F_OWNER_PID : F_OWNER_TID;
	if (!caller)
		return err_set(e, EPERM,
			"your PID namespace is not visible to the daemon: poll instead of signals");
	if (cmd->tid && !same_namespace(caller))
		return err_set(e, EINVAL,
			"tid=%d is a number of your own PID namespace: leave it out to name "
			"yourself",
			cmd->tid);
	to->pid = cmd->tid ? cmd->tid : cmd->process ? process_of(caller) : caller;
	return 0;
}

/*
 * Everybody may signal himself, whatever user id he asks with: then it is his real one that counts.
 * Not for who opened the file, or a server that writes to users' files in their names would be made
 * to kill itself.
 */
static void ask_as_himself(struct notifier *n, pid_t asker)
{
	uid_t real;

	if (process_of(n->to.pid) == process_of(asker) && real_uid(asker, &real))
		n->asker = real;
}

static int refused(const struct notifier *n, const char *what, struct err *e)
{
	if (!may_signal(n->asker, n->to.pid))
		return err_set(
			e, EPERM, "%s %d is not yours: name one of your own", what, (int)n->to.pid);
	return err_set(e, EPERM,
		"uid %u has opened this file, and may not signal %s %d: open it yourself",
		(unsigned)n->opener, what, (int)n->to.pid);
}

/*
 * A thread that has noted an alias may have it open still, when it has been joined: then closing
 * the other end would be an event.
 */
static void notifier_free(struct notifier *n)
{
	fcntl(n->in, F_SETFL, O_NONBLOCK);
	close(n->in);
	close(n->out);
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
	n->in = fds[0];
	n->out = fds[1];
	*out = take_ptr(&n);
	return 0;
}

/* The kernel makes a table up to the highest descriptor: not megabytes for whatever number. */
enum { MAX_ALIAS = 65536 };

/* A descriptor that is to become another one, for as long as the kernel takes note of that. */
struct alias {
	int fd, number;
	int error;
};

static void *note_alias(void *arg)
{
	struct alias *a = arg;

	if (unshare(CLONE_FILES) < 0 || dup2(a->fd, a->number) < 0 ||
		fcntl(a->number, F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		a->error = errno;
	return NULL;
}

/*
 * si_fd is the number that the descriptor had when O_ASYNC was set. In the daemon that number may
 * be another's; but a thread with descriptors of its own can have it for a moment.
 */
static int set_async(const struct notifier *n, const struct command *cmd)
{
	struct alias a = {.fd = n->in, .number = cmd->fd};
	pthread_t thread;

	if (!cmd->has_fd || cmd->fd == n->in)
		return fcntl(n->in, F_SETFL, O_ASYNC | O_NONBLOCK) < 0 ? errno : 0;
	a.error = thread_start(&thread, note_alias, &a);
	if (a.error)
		return a.error;
	pthread_join(thread, NULL);
	return a.error;
}

/* First bound, then looked at: who was looked at is the one that is bound, or dead. */
static int bind_owner(struct notifier *n, pid_t asker, const struct command *cmd, struct err *e)
{
	const char *what = cmd->process ? "process" : "thread";
	int no;

	if (fcntl(n->in, F_SETOWN_EX, &n->to) < 0 || !exists(&n->to))
		return err_set(
			e, ESRCH, "there is no %s %d: name one that runs", what, (int)n->to.pid);
	ask_as_himself(n, asker);
	if (!both_may_signal(n))
		return refused(n, what, e);
	if (fcntl(n->in, F_SETSIG, cmd->sig) < 0)
		return err_set(e, EINVAL, "there is no signal %d: see kill -l", cmd->sig);
	no = cmd->fd < MAX_ALIAS ? set_async(n, cmd) : EBADF;
	if (no == EBADF)
		return err_set(e, EINVAL, "fd %d is too high for si_fd: dup2() it to a lower one",
			cmd->fd);
	return no ? err_set(e, no, "the kernel refuses signals: %s", err_name(no)) : 0;
}

static int check_limit(const struct fs_context *ctx, struct err *e)
{
	if (!ctx->notifier && ctx->uid && ctx->owner->notifiers >= SIGNALS_PER_USER)
		return err_set(e, ENOSPC,
			"too many contexts with signals: 'signal sig=0' ends those of one (limit: "
			"%d a user)",
			SIGNALS_PER_USER);
	return 0;
}

int notifier_set(struct call *call, const struct command *cmd, struct err *e)
{
	const struct fuse_ctx *who = fuse_req_ctx(call->req);
	struct fs_context *ctx = call->ctx;
	struct f_owner_ex to = {0};
	struct notifier *n = NULL;

	if (!cmd->sig) {
		notifier_drop(ctx);
		return 0;
	}
	if (check_limit(ctx, e) < 0 || find_owner(call, cmd, &to, e) < 0 || notifier_new(&n, e) < 0)
		return -e->no;
	n->to = to;
	n->opener = call->file->uid;
	n->asker = who->uid;
	if (bind_owner(n, who->pid, cmd, e) < 0) {
		notifier_free(n);
		return -e->no;
	}
	notifier_drop(ctx);
	engine_watch(call->fs->eng, &ctx->tenant);
	n->notified = atomic_load(&ctx->tenant.notified);
	ctx->notifier = n;
	ctx->owner->notifiers++;
	return 0;
}

static void send_signal(const struct notifier *n)
{
	char byte = 0;
	ssize_t told = write(n->out, &byte, 1);

	if (told == 1)
		told = read(n->in, &byte, 1);
	(void)told; /* neither fails: the pipe is empty before and after */
}

void notifier_raise(struct fs_context *ctx)
{
	unsigned long long notified = ctx->known_notified;
	struct notifier *n = ctx->notifier;

	if (!n || n->notified == notified)
		return;
	n->notified = notified;
	if (!exists(&n->to))
		notifier_drop(ctx);
	else if (both_may_signal(n))
		send_signal(n);
}

void notifier_drop(struct fs_context *ctx)
{
	if (!ctx->notifier)
		return;
	notifier_free(ctx->notifier);
	ctx->notifier = NULL;
	ctx->owner->notifiers--;
}
