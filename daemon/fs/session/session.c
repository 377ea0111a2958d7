// SPDX-License-Identifier: MIT
/*
 * The session thread: one loop over the kernel's requests, the workers' news and signals. One
 * thread, because it is the fastest for small requests and because RELEASE and OPEN then never
 * overtake each other; handlers do not sleep (reading a running counter waits for the kernel to
 * fetch it, microseconds), so nobody waits for anybody.
 */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "daemon/fs/capabilities.h"

static int session_mount(struct fs *fs, struct err *e)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char path[32];
	int fd = mount_fuse(fs->opts->mountpoint, fs->opts->mount_opts, e);

	if (fd < 0)
		return fd;
	fuse_opt_add_arg(&args, "perfmonfs");
	fs->se = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), fs);
	fuse_opt_free_args(&args);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (!fs->se ||
		(passthrough_session(fs->se, fd) < 0 && fuse_session_mount(fs->se, path) < 0)) {
		close(fd);
		umount2(fs->opts->mountpoint, MNT_DETACH);
		if (fs->se)
			fuse_session_destroy(fs->se);
		return err_set(e, ENOMEM, "libfuse cannot make a session");
	}
	return 0;
}

/*
 * What a signal that ends the daemon has to reach: a session thread that sleeps in poll(), by
 * wake, or in read(), which it interrupts; or one that is just about to, by making that read not
 * block.
 */
static struct {
	volatile sig_atomic_t ended;
	int fuse, wake;
} on_end;

static void end_signal(int sig)
{
	static const uint64_t one = 1;
	int saved = errno;

	(void)sig;
	on_end.ended = 1;
	fcntl(on_end.fuse, F_SETFL, O_NONBLOCK);
	if (write(on_end.wake, &one, sizeof(one)) < 0)
		errno = saved; /* at its limit: readable all the same */
	errno = saved;
}

/* Registering memory takes the capability that only the guard has left. */
static int back(void *arg, int fd)
{
	struct fs *fs = arg;

	return fs->passthrough.on ? guard_back(fs->guard, fuse_session_fd(fs->se), fd) : -ENOSYS;
}

static void unback(void *arg, int id)
{
	struct fs *fs = arg;

	if (fs->guard) /* otherwise the connection is ending, and its ids with it */
		guard_unback(fs->guard, fuse_session_fd(fs->se), id);
}

static int store(void *arg, uint64_t ino, size_t off, const void *p, size_t n)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(n);
	struct fs *fs = arg;

	buf.buf[0].mem = (void *)(uintptr_t)p;
	return fuse_lowlevel_notify_store(fs->se, ino, (off_t)off, &buf, FUSE_BUF_NO_SPLICE);
}

/* One request, if there is one: a caller killed since poll() may have taken his back. */
static void serve_request(struct fs *fs, struct fuse_buf *buf)
{
	int n = fuse_session_receive_buf(fs->se, buf);

	if (n <= 0)
		return; /* withdrawn, unmounted, or a signal */
	/* What a worker has reported before it answered its client must be known by now. */
	engine_news(fs->eng);
	fuse_session_process_buf(fs->se, buf);
	requests_interrupt(fs);
}

enum { SWEEP_MS = 500 }; /* nobody tells of the end of a mapping */

/* False: a signal came. */
static bool wait_for_any(struct fs *fs, struct pollfd fds[4])
{
	int n;

	fds[3].fd = shared_news_fd(&fs->memory);
	n = poll(fds, 4, fs->memory.limbo ? SWEEP_MS : -1);
	if (n == 0)
		shared_sweep(&fs->memory);
	return n >= 0;
}

/*
 * While workers owe an answer, the loop waits for them and for requests. Otherwise it only reads
 * requests: poll() would be a tenth of what the shortest one costs.
 */
static void session_loop(struct fs *fs, struct fuse_buf *buf)
{
	bool blocking = false;
	struct pollfd fds[] = {
		{.fd = on_end.fuse, .events = POLLIN},
		{.fd = on_end.wake, .events = POLLIN},
		{.fd = engine_news_fd(fs->eng), .events = POLLIN},
		{.fd = -1, .events = POLLIN},
	};

	for (;;) {
		bool alone = !engine_expects_news(fs->eng) && !shared_expects_news(&fs->memory) &&
			     !fs->memory.limbo;

		if (blocking != alone) {
			fcntl(on_end.fuse, F_SETFL, alone ? 0 : O_NONBLOCK);
			blocking = alone;
		}
		/* Only now: a signal before this would have had its O_NONBLOCK taken away. */
		if (on_end.ended || fuse_session_exited(fs->se))
			break;
		if (!alone && !wait_for_any(fs, fds))
			continue;
		engine_news(fs->eng);
		shared_news(&fs->memory);
		serve_request(fs, buf);
	}
}

/* A store may wait for a page that the kernel has asked for, so requests are served until the
 * thread that stores has ended. */
static void finish_publishing(struct fs *fs, struct fuse_buf *buf)
{
	struct pollfd fds[] = {
		{.events = POLLIN},
		{.fd = engine_news_fd(fs->eng), .events = POLLIN},
		{.fd = on_end.fuse, .events = POLLIN},
	};

	fcntl(on_end.fuse, F_SETFL, O_NONBLOCK);
	while (!shared_ended(&fs->memory)) {
		fds[0].fd = shared_news_fd(&fs->memory);
		if (poll(fds, fuse_session_exited(fs->se) ? 2 : 3, -1) < 0)
			continue;
		engine_news(fs->eng);
		shared_news(&fs->memory);
		serve_request(fs, buf);
	}
}

static void set_signals(int how, void (*handler)(int))
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART: it ends a read */
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaddset(&set, ends[i]);
		sigaction(ends[i], &action, NULL);
	}
	pthread_sigmask(how, &set, NULL);
}

static void destroy_contexts(struct fs *fs)
{
	while (fs->objects.top.first) {
		struct fs_context *ctx = fs->objects.top.first;

		if (ctx->children.first)
			ctx = ctx->children.first;
		object_remove(&fs->objects, ctx);
		context_gone(ctx);
		context_unref(ctx);
	}
}

/* Nobody waits for what does not come any more. */
static void close_contexts(struct fs *fs)
{
	for (struct fs_context *c = NULL; (c = object_walk(&fs->objects, c));)
		context_close(c);
}

static int serve(struct fs *fs, struct err *e)
{
	CLEANUP_CLOSE int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct fuse_buf buf = {.mem = NULL};
	int rc;

	if (wake < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	rc = session_mount(fs, e);
	if (rc < 0)
		return rc;
	rc = guard_start(fs->opts->mountpoint, &fs->guard, e);
	if (rc < 0) {
		umount2(fs->opts->mountpoint, MNT_DETACH);
	} else {
		rc = capabilities_drop(fs->be->ops->name, e);
		on_end.fuse = fuse_session_fd(fs->se);
		on_end.wake = wake;
		set_signals(SIG_UNBLOCK, end_signal);
		if (rc == 0)
			session_loop(fs, &buf);
		set_signals(SIG_BLOCK, end_signal);
		finish_publishing(fs, &buf);
		/* Registers first; what still waits for an answer gets one before the mount goes.
		 */
		close_contexts(fs);
		engine_drain(fs->eng);
		guard_end(fs->guard);
		fs->guard = NULL;
		free(buf.mem);
	}
	fuse_session_destroy(fs->se);
	return rc;
}

/* What the timer can tell apart; the model's time has no timer. */
static uint64_t timer_resolution(const struct backend *be)
{
	struct timespec res;

	if (be->sim || clock_getres(CLOCK_MONOTONIC, &res) < 0)
		return 1;
	return nsec_of(res);
}

/* Each buffer takes a descriptor. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static const struct tenant_ops context_ops = {
	.event = context_event,
	.child = context_child,
	.unfollowed = context_unfollowed,
	.trouble = context_trouble,
	.gone = context_gone,
};

int fs_serve(struct backend *be, const struct config *config, const struct fs_options *opts,
	struct err *e)
{
	CLEANUP_FREE struct fs *fs = calloc(1, sizeof(*fs));
	int rc;

	if (!fs)
		return err_set(e, ENOMEM, "no memory");
	fs->be = be;
	fs->config = *config;
	fs->opts = opts;
	fs->owner = getuid();
	fs->timer_ns = timer_resolution(be);
	clock_gettime(CLOCK_REALTIME, &fs->born);
	pthread_mutex_init(&fs->pending_lock, NULL);
	allow_descriptors();
	fs->passthrough.wanted = !opts->nopassthrough;
	fs->memory_ops =
		(struct shared_ops){.back = back, .unback = unback, .store = store, .arg = fs};
	fs->memory.ops = &fs->memory_ops;
	rc = engine_new(be, &fs->eng, e);
	if (rc < 0)
		return rc;
	rc = objects_init(&fs->objects, fs->eng, &context_ops, e);
	if (rc == 0)
		rc = serve(fs, e);
	engine_drain(fs->eng);
	files_free(fs);
	destroy_contexts(fs);
	shared_pool_free(&fs->memory);
	engine_free(fs->eng);
	objects_free(&fs->objects);
	uid_errors_free(fs);
	pthread_mutex_destroy(&fs->pending_lock);
	return rc;
}
