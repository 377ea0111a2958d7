// SPDX-License-Identifier: MIT
/*
 * Notification by signal (specification 3.3.7), as SIGIO: that of a FUSE file never comes, and no
 * process can send to another what the kernel sends (si_code POLL_IN). So it is sent for a pipe of
 * the daemon's: its reading end belongs to the thread to be notified, and something is written.
 * The kernel binds the pipe to that thread itself, so another that gets its number gets nothing.
 *
 * The kernel would ask whether the owner of the pipe may signal that thread; as that is root, the
 * question is asked here, each time.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

struct notifier {
	int in, out; /* the ends of the pipe */
	pid_t tid;
	uid_t uid;                   /* on whose behalf */
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

static bool exists(pid_t tid)
{
	return syscall(SYS_tkill, tid, 0) == 0 || errno != ESRCH;
}

/* As kill(2) has it, by real user ids. */
static bool may_signal(uid_t uid, pid_t tid)
{
	char line[256];
	unsigned real;

	if (uid == 0)
		return true;
	return proc_status(tid, "Uid:", line) && sscanf(line, "%u", &real) == 1 && real == uid;
}

/* A number is that of another thread in another PID namespace. */
static bool same_namespace(pid_t caller)
{
	char line[256];
	int outer, inner;

	return proc_status(caller, "NSpid:", line) && sscanf(line, "%d %d", &outer, &inner) == 1;
}

static int find_thread(const struct call *call, int named, pid_t *tid, struct err *e)
{
	pid_t caller = fuse_req_ctx(call->req)->pid;

	if (!caller)
		return err_set(e, EPERM,
			"your PID namespace is not visible to the daemon: poll instead of signals");
	if (named && !same_namespace(caller))
		return err_set(e, EINVAL,
			"tid=%d is a number of your own PID namespace: leave tid= out to name "
			"yourself",
			named);
	*tid = named ? named : caller;
	return 0;
}

static void notifier_free(struct notifier *n)
{
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

/* First bound, then looked at: the thread that was looked at is the one that is bound, or dead. */
static int bind_thread(struct notifier *n, int sig, struct err *e)
{
	const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = n->tid};

	if (fcntl(n->in, F_SETOWN_EX, &owner) < 0 || !exists(n->tid))
		return err_set(e, ESRCH, "there is no thread %d", (int)n->tid);
	if (!may_signal(n->uid, n->tid))
		return err_set(e, EPERM, "thread %d is not yours", (int)n->tid);
	if (fcntl(n->in, F_SETSIG, sig) < 0)
		return err_set(e, EINVAL, "there is no signal %d", sig);
	if (fcntl(n->in, F_SETFL, O_ASYNC | O_NONBLOCK) < 0)
		return err_set(e, errno, "the kernel refuses signals: %s", err_name(errno));
	return 0;
}

static int check_limit(const struct fs_context *ctx, struct err *e)
{
	if (!ctx->notifier && ctx->uid && ctx->owner->notifiers >= SIGNALS_PER_USER)
		return err_set(e, ENOSPC,
			"too many contexts with signals: 'signal sig=0' ends those of one "
			"(limit: %d a user)",
			SIGNALS_PER_USER);
	return 0;
}

int notifier_set(struct call *call, const struct command *cmd, struct err *e)
{
	struct fs_context *ctx = call->ctx;
	struct notifier *n = NULL;
	pid_t tid = 0;

	if (!cmd->sig) {
		notifier_drop(ctx);
		return 0;
	}
	if (check_limit(ctx, e) < 0 || find_thread(call, cmd->tid, &tid, e) < 0 ||
		notifier_new(&n, e) < 0)
		return -e->no;
	n->tid = tid;
	n->uid = call->file->uid;
	if (bind_thread(n, cmd->sig, e) < 0) {
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
	if (!exists(n->tid))
		notifier_drop(ctx);
	else if (may_signal(n->uid, n->tid))
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
