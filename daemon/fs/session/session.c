// SPDX-License-Identifier: MIT
/*
 * The session thread: one loop over the kernel's requests, the workers' events, and signals. A
 * single thread is fastest for small requests, and it keeps RELEASE and OPEN in order. Handlers do
 * not sleep, except for the microseconds that the kernel takes to read a running counter.
 */
#include "daemon/fs/session/session.h"

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
#include "daemon/fiber/fiber.h"
#include "daemon/fs/requests/audit_log.h"
#include "daemon/fs/requests/context_life.h"
#include "daemon/fs/tree/deferred.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/grant_table.h"
#include "daemon/fs/requests/metrics_scan.h"
#include "daemon/fs/requests/pending_request.h"
#include "daemon/fs/requests/readings_request.h"
#include "daemon/fs/requests/uid_error.h"
#include "daemon/fs/rows/rows.h"
#include "daemon/fs/session/capabilities.h"
#include "daemon/fs/session/mount.h"
#include "daemon/fs/session/ops.h"
#include "daemon/fs/session/privhelper.h"

static bool session_mounts(const struct session *s)
{
	return s->opts->connection < 0;
}

static int session_connect(const struct session *s, struct err *e)
{
	int fd = s->opts->connection;

	if (session_mounts(s))
		return mount_fuse(s->opts->mountpoint, s->opts->mount_opts, e);
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return err_set(
			e, errno, "descriptor %d: %s: pass an open /dev/fuse", fd, err_name(errno));
	return fd;
}

static void session_unmount(const struct session *s)
{
	if (session_mounts(s))
		umount2(s->opts->mountpoint, MNT_DETACH);
}

static int session_mount(struct session *s, struct err *e)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	char path[32];
	int fd = session_connect(s, e);

	if (fd < 0)
		return fd;
	fuse_opt_add_arg(&args, "perfmonfs");
	s->se = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), &s->fs);
	fuse_opt_free_args(&args);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	if (!s->se || (passthrough_attach(s->se, fd) < 0 && fuse_session_mount(s->se, path) < 0)) {
		close(fd);
		session_unmount(s);
		if (s->se)
			fuse_session_destroy(s->se);
		return err_set(e, ENOMEM, "libfuse cannot make a session");
	}
	return 0;
}

/*
 * State for the handler of the signals that end the daemon. The session thread may be sleeping in
 * poll(), which @wake ends; sleeping in read(), which the signal ends; or about to call read(),
 * which is therefore made nonblocking.
 */
static struct {
	volatile sig_atomic_t ended;
	int fuse, wake;
} session_end;

static void session_handle_signal(int sig)
{
	int saved = errno;

	(void)sig;
	session_end.ended = 1;
	fcntl(session_end.fuse, F_SETFL, O_NONBLOCK);
	eventfd_write(session_end.wake, 1);
	errno = saved;
}

/* Only the privhelper has the capability to register memory. */
static int session_back(void *arg, int fd)
{
	struct session *s = arg;

	return s->fs.passthrough
		       ? privhelper_backing_open(s->privhelper, fuse_session_fd(s->se), fd)
		       : -ENOSYS;
}

static void session_unback(void *arg, int id)
{
	struct session *s = arg;

	if (s->privhelper) /* without it, the connection ends, and its ids with it */
		privhelper_backing_close(s->privhelper, fuse_session_fd(s->se), id);
}

static int session_store(void *arg, uint64_t ino, size_t off, const void *p, size_t n)
{
	struct fuse_bufvec buf = FUSE_BUFVEC_INIT(n);
	struct session *s = arg;

	buf.buf[0].mem = (void *)(uintptr_t)p;
	return fuse_lowlevel_notify_store(s->se, ino, (off_t)off, &buf, FUSE_BUF_NO_SPLICE);
}

/* Serves one request, unless it was withdrawn since poll(), for example because its caller was
 * killed. Returns false if it was an interrupt. */
static bool session_serve_request(struct session *s, struct fuse_buf *buf)
{
	int n;

	watchdog_step(&s->watchdog);
	n = fuse_session_receive_buf(s->se, buf);
	watchdog_step(&s->watchdog);
	if (n <= 0)
		return true; /* withdrawn, unmounted, or a signal */
	/* A worker may have reported events before it answered its client, whose next request is
	 * this one. */
	engine_handle_events(s->fs.eng);
	return requests_process(&s->fs, s->se, buf);
}

/* Interval of the sweep for mappings that have ended, which the kernel does not report. */
enum { SESSION_SWEEP_MS = 500 };

/* Whether there is work that waits for no event. */
static bool session_has_work(const struct fs *fs)
{
	return fs->pending.ninterrupted || !list_empty(&fs->deferred);
}

/* Waits for requests and events. Returns false if a signal came. */
static bool session_wait(struct session *s, struct pollfd fds[6])
{
	struct fs *fs = &s->fs;
	int n, late = metrics_timeout(fs->metrics);

	fds[3].fd = shared_event_fd(&fs->memory);
	fds[4].fd = grant_table_fd(fs);
	fds[5].fd = engine_resume_fd(fs->eng);
	watchdog_step(&s->watchdog);
	n = poll(fds, 6,
		session_has_work(fs)   ? 0
		: late >= 0            ? late
		: fs->memory.lingering ? SESSION_SWEEP_MS
				       : -1);
	watchdog_step(&s->watchdog);
	if (n == 0 && !session_has_work(fs))
		shared_sweep(&fs->memory);
	if (n > 0 && fds[4].revents)
		grant_table_expire(fs);
	if (n > 0 && fds[5].revents)
		engine_resume(fs->eng);
	return n >= 0;
}

/* While events are expected, the loop waits for both events and requests. Otherwise it only reads
 * requests: poll() would add a tenth to the time of the shortest one. */
static void session_loop(struct session *s, struct fuse_buf *buf)
{
	struct fs *fs = &s->fs;
	bool blocking = false;
	struct pollfd fds[] = {
		{.fd = session_end.fuse, .events = POLLIN},
		{.fd = session_end.wake, .events = POLLIN},
		{.fd = engine_event_fd(fs->eng), .events = POLLIN},
		{.fd = -1, .events = POLLIN},
		{.fd = -1, .events = POLLIN},
		{.fd = -1, .events = POLLIN},
	};

	for (;;) {
		bool alone = !engine_expects_events(fs->eng) &&
			     !shared_expects_events(&fs->memory) && !fs->memory.lingering &&
			     !session_has_work(fs) && grant_table_fd(fs) < 0 &&
			     engine_resume_fd(fs->eng) < 0;

		if (blocking != alone) {
			fcntl(session_end.fuse, F_SETFL, alone ? 0 : O_NONBLOCK);
			blocking = alone;
		}
		/* Checked after the fcntl(), which may have undone a signal's O_NONBLOCK. */
		if (session_end.ended || fuse_session_exited(s->se))
			break;
		if (!alone && !session_wait(s, fds))
			continue;
		engine_handle_events(fs->eng);
		shared_complete_fences(&fs->memory);
		if (session_serve_request(s, buf)) {
			requests_answer_interrupted(fs);
			deferred_run(fs);
		}
		metrics_expire(fs->metrics);
	}
}

/* Serves requests until the thread that stores has ended, because a store may wait for a page that
 * the kernel has requested. */
static void session_finish_sync(struct session *s, struct fuse_buf *buf)
{
	struct fs *fs = &s->fs;
	struct pollfd fds[] = {
		{.events = POLLIN},
		{.fd = engine_event_fd(fs->eng), .events = POLLIN},
		{.fd = session_end.fuse, .events = POLLIN},
	};

	fcntl(session_end.fuse, F_SETFL, O_NONBLOCK);
	while (!shared_ended(&fs->memory)) {
		fds[0].fd = shared_event_fd(&fs->memory);
		if (poll(fds, fuse_session_exited(s->se) ? 2 : 3, -1) < 0)
			continue;
		engine_handle_events(fs->eng);
		shared_complete_fences(&fs->memory);
		session_serve_request(s, buf);
	}
}

static void session_set_signals(int how, void (*handler)(int))
{
	static const int ends[] = {SIGTERM, SIGINT, SIGHUP};
	struct sigaction action = {.sa_handler = handler}; /* no SA_RESTART: ends a read */
	sigset_t set;

	sigemptyset(&set);
	for (unsigned i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaddset(&set, ends[i]);
		sigaction(ends[i], &action, NULL);
	}
	pthread_sigmask(how, &set, NULL);
}

static void session_destroy_contexts(struct fs *fs)
{
	struct fs_context *ctx;

	while ((ctx = object_walk(&fs->objects, NULL))) {
		if (!list_empty(&ctx->children))
			ctx = list_entry(ctx->children.next, struct fs_context, sibling);
		object_remove(&fs->objects, ctx);
		context_gone(&ctx->ec);
	}
	while (deferred_run(fs))
		;
}

/* Ends all waits, because no more events will come. */
static void session_close_contexts(struct fs *fs)
{
	metrics_end(fs->metrics);
	for (struct fs_context *c = NULL; (c = object_walk(&fs->objects, c));)
		context_close(c);
}

/* Serves a mount until it ends. */
static int session_serve_mount(struct session *s, int wake, struct err *e)
{
	struct fuse_buf buf = {.mem = NULL};
	int rc = capabilities_drop(s->fs.be->ops, e);

	if (rc == 0 && s->fs.be->ops->begin)
		s->fs.be->ops->begin(s->fs.be);
	if (rc == 0)
		readings_begin(s->fs.readings);
	session_end.fuse = fuse_session_fd(s->se);
	session_end.wake = wake;
	session_set_signals(SIG_UNBLOCK, session_handle_signal);
	if (rc == 0) {
		watchdog_begin(&s->watchdog, s->opts->watchdog_ns, s->opts->alive);
		session_loop(s, &buf);
		watchdog_end(&s->watchdog);
	}
	session_set_signals(SIG_BLOCK, session_handle_signal);
	session_finish_sync(s, &buf);
	engine_stop_works(s->fs.eng);
	/* Restores the registers first. Waiting requests are answered before the mount goes. */
	session_close_contexts(&s->fs);
	engine_drain(s->fs.eng);
	do
		engine_handle_events(s->fs.eng);
	while (deferred_run(&s->fs) || requests_answer_interrupted(&s->fs));
	if (s->privhelper)
		privhelper_end(s->privhelper);
	s->privhelper = NULL;
	free(buf.mem);
	return rc;
}

static int session_serve(struct session *s, struct err *e)
{
	CLEANUP_CLOSE int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc;

	if (wake < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	rc = session_mount(s, e);
	if (rc < 0)
		return rc;
	if (session_mounts(s))
		rc = privhelper_start(s->opts->mountpoint, &s->privhelper, e);
	if (rc < 0)
		session_unmount(s);
	else
		rc = session_serve_mount(s, wake, e);
	fuse_session_destroy(s->se);
	return rc;
}

/* The timer's resolution, ns. Scripted time has no timer. */
static uint64_t session_timer_resolution(const struct backend *be)
{
	struct timespec res;

	if (be->scripted || clock_getres(CLOCK_MONOTONIC, &res) < 0)
		return 1;
	return nsec_of(res);
}

static void session_raise_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(resource, &limit);
}

/* Raises the daemon's limits: each buffer takes a descriptor. The locked memory that a thread's
 * events take is charged to the thread's user, so root's daemon needs no other limit. */
static void session_raise_limits(void)
{
	const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};

	session_raise_limit(RLIMIT_NOFILE);
	if (setrlimit(RLIMIT_MEMLOCK, &none) < 0)
		session_raise_limit(RLIMIT_MEMLOCK);
}

static void session_init(struct session *s, struct backend *be, const struct config *config,
	const struct fs_options *opts)
{
	struct fs *fs = &s->fs;

	s->opts = opts;
	/* Passthrough requires the privhelper. */
	s->passthrough.wanted = !opts->nopassthrough && session_mounts(s);
	s->memory_ops = (struct shared_ops){
		.back = session_back, .unback = session_unback, .store = session_store, .arg = s};
	fs->be = be;
	fs->config = *config;
	fs->owner = getuid();
	fs->group = session_mounts(s) ? 0 : getgid();
	fs->timer_ns = session_timer_resolution(be);
	fs->memory.ops = &s->memory_ops;
	clock_gettime(CLOCK_REALTIME, &fs->born);
	list_init(&fs->files);
	list_init(&fs->deferred);
	rows_collect(&fs->rows);
}

int fs_serve(struct backend *be, const struct config *config, const struct fs_options *opts,
	struct err *e)
{
	CLEANUP_FREE struct session *s = calloc(1, sizeof(*s));
	struct fs *fs;
	int rc;

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	fs = &s->fs;
	session_init(s, be, config, opts);
	session_raise_limits();
	rc = engine_new(be, &fs->eng, e);
	if (rc < 0)
		return rc;
	rc = grant_table_open(fs, opts->run_dir, opts->mountpoint, e);
	if (rc < 0) {
		engine_free(fs->eng);
		return rc;
	}
	rc = objects_init(&fs->objects, fs->eng, &context_life_ops, e);
	if (rc == 0 && (pending_requests_init(&fs->pending) < 0 || hash_init(&fs->memory_files) < 0))
		rc = err_set(e, ENOMEM, "no memory");
	if (rc == 0)
		rc = metrics_new(fs, &fs->metrics, e);
	if (rc == 0)
		rc = readings_new(be, &fs->readings, e);
	if (rc == 0)
		rc = audit_log_new("/dev/log", &fs->audit, e);
	if (rc == 0) {
		user_quotas_configure(&fs->objects.quotas, config);
		rc = session_serve(s, e);
	}
	engine_drain(fs->eng);
	files_free(fs);
	session_destroy_contexts(fs);
	metrics_free(fs->metrics);
	readings_free(fs->readings);
	shared_pool_free(&fs->memory);
	engine_free(fs->eng);
	grant_table_close(fs);
	objects_free(&fs->objects);
	audit_log_free(fs->audit);
	pending_requests_free(&fs->pending);
	hash_free(&fs->memory_files);
	fiber_free_stacks();
	return rc;
}
