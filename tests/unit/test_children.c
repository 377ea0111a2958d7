// SPDX-License-Identifier: MIT
/*
 * Contexts of followed threads: made as the engine makes them, and seen as clients see them, by
 * FUSE requests that this test writes itself.
 */
#include <linux/fuse.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "backend/sim/sim.h"
#include "daemon/fiber/fiber.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/audit_log.h"
#include "daemon/fs/requests/context_life.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/grant_table.h"
#include "daemon/fs/requests/metrics_scan.h"
#include "daemon/fs/requests/pending_request.h"
#include "daemon/fs/requests/smpl.h"
#include "daemon/fs/rows/rows.h"
#include "daemon/fs/session/ops.h"
#include "daemon/fs/session/session.h"
#include "daemon/fs/tree/deferred.h"
#include "daemon/percpu/readings.h"
#include "daemon/percpu/workqueue.h"
#include "formats/formats.h"
#include "perfmonfs/sim.h"
#include "tests/unit/unit.h"

enum {
	ROOT = 0,
	USER = 1000,
	GROUP = 1001,
	ROOM = 65536, /* bytes of a request or an answer */
	ROUNDS = 20000,
};

static struct session session;
static struct fs *const fs = &session.fs;
static int kernel; /* the kernel's end of the connection */
static uint64_t unique;
static struct {
	struct fuse_out_header header;
	char body[ROOM];
} answer;

static int no_back(void *arg, int fd)
{
	(void)arg, (void)fd;
	return -ENOSYS;
}

static const struct shared_ops memory_ops = {.back = no_back};
static void send_request(
	unsigned uid, uint32_t opcode, uint64_t node, const void *args, size_t nargs)
{
	static char buf[ROOM];
	struct fuse_in_header in = {
		.len = (uint32_t)(sizeof(in) + nargs),
		.opcode = opcode,
		.unique = ++unique,
		.nodeid = node,
		.uid = uid,
		.gid = uid ? GROUP : 0,
		.pid = (uint32_t)getpid(),
	};
	struct fuse_buf fbuf = {.size = in.len, .mem = buf};

	memcpy(buf, &in, sizeof(in));
	if (nargs)
		memcpy(buf + sizeof(in), args, nargs);
	requests_process(fs, session.se, &fbuf);
}

/* Answers to other requests that the last await() has seen. */
static unsigned passed;

/* Waits for the answer to request @id, as the session loop does; returns its errno, negative. */
static int await(uint64_t id)
{
	struct pollfd fds[] = {
		{.fd = kernel, .events = POLLIN},
		{.fd = engine_event_fd(fs->eng), .events = POLLIN},
	};

	for (passed = 0;;) {
		bool more = requests_answer_interrupted(fs) || deferred_run(fs);

		assert_true(poll(fds, 2, more ? 0 : 10000) > 0 || more);
		engine_handle_events(fs->eng);
		if (!(fds[0].revents & POLLIN))
			continue;
		assert_true(
			recv(kernel, &answer, sizeof(answer), 0) >= (ssize_t)sizeof(answer.header));
		if (answer.header.unique == id)
			return answer.header.error;
		passed++;
	}
}

static size_t answered(void)
{
	return answer.header.len - sizeof(answer.header);
}

static int request(unsigned uid, uint32_t opcode, uint64_t node, const void *args, size_t nargs)
{
	engine_handle_events(fs->eng);
	send_request(uid, opcode, node, args, nargs);
	return await(unique);
}

/* The inode number of @path, or 0. */
static uint64_t find(const char *path)
{
	char copy[256], *name, *rest = copy;
	uint64_t node = FUSE_ROOT_ID;

	snprintf(copy, sizeof(copy), "%s", path);
	while ((name = strsep(&rest, "/"))) {
		if (request(ROOT, FUSE_LOOKUP, node, name, strlen(name) + 1) < 0)
			return 0;
		node = ((struct fuse_entry_out *)(void *)answer.body)->nodeid;
	}
	return node;
}

static struct fuse_attr attr_of(const char *path)
{
	assert_int_not_equal(find(path), 0);
	return ((struct fuse_entry_out *)(void *)answer.body)->attr;
}

/* An open file. */
struct opened {
	uint64_t node, fh;
};

static struct opened open_as(unsigned uid, const char *path, int flags)
{
	const struct fuse_open_in in = {.flags = (uint32_t)flags};
	struct opened f = {.node = find(path)};

	assert_int_not_equal(f.node, 0);
	assert_int_equal(request(uid, FUSE_OPEN, f.node, &in, sizeof(in)), 0);
	f.fh = ((struct fuse_open_out *)(void *)answer.body)->fh;
	return f;
}

static void release(const struct opened *f)
{
	const struct fuse_release_in in = {.fh = f->fh};

	assert_int_equal(request(ROOT, FUSE_RELEASE, f->node, &in, sizeof(in)), 0);
}

/* As a program's read: the kernel fills pages of its cache without a lock owner. */
static void send_read(const struct opened *f)
{
	const struct fuse_read_in in = {
		.fh = f->fh, .size = ROOM / 2, .read_flags = FUSE_READ_LOCKOWNER, .lock_owner = 1};

	send_request(ROOT, FUSE_READ, f->node, &in, sizeof(in));
}

static void send_write(unsigned uid, const struct opened *f, const char *text)
{
	char args[1024];
	const struct fuse_write_in in = {.fh = f->fh, .size = (uint32_t)strlen(text)};

	memcpy(args, &in, sizeof(in));
	memcpy(args + sizeof(in), text, in.size);
	engine_handle_events(fs->eng);
	send_request(uid, FUSE_WRITE, f->node, args, sizeof(in) + in.size);
}

static int write_as(unsigned uid, const struct opened *f, const char *text)
{
	send_write(uid, f, text);
	return await(unique);
}

static int put(const char *path, const char *text)
{
	struct opened f = open_as(ROOT, path, O_WRONLY);
	int rc = write_as(ROOT, &f, text);

	release(&f);
	return rc;
}

/* Reads a whole file into answer.body, as a string; returns its errno, negative. */
static int get(const char *path)
{
	static char keep[ROOM];
	struct opened f = open_as(ROOT, path, O_RDONLY);
	int rc;

	send_read(&f);
	rc = await(unique);
	snprintf(keep, sizeof(keep), "%.*s", rc ? 0 : (int)answered(), answer.body);
	release(&f);
	memcpy(answer.body, keep, sizeof(keep));
	return rc;
}

static void assert_holds(const char *path, const char *text)
{
	assert_int_equal(get(path), 0);
	assert_string_equal(answer.body, text);
}

static void assert_says(const char *path, const char *part)
{
	assert_int_equal(get(path), 0);
	if (!strstr(answer.body, part))
		fail_msg("%s: '%s' does not say '%s'", path, answer.body, part);
}

/* Splits "DIR/NAME". */
static uint64_t parent_of(const char *path, const char **name)
{
	char dir[256];

	*name = strrchr(path, '/') + 1;
	snprintf(dir, sizeof(dir), "%.*s", (int)(*name - 1 - path), path);
	return find(dir);
}

static int mkdir_as(unsigned uid, const char *path)
{
	char args[256] = {0};
	const char *name;
	uint64_t dir = parent_of(path, &name);

	strcpy(args + sizeof(struct fuse_mkdir_in), name);
	return request(uid, FUSE_MKDIR, dir, args, sizeof(struct fuse_mkdir_in) + strlen(name) + 1);
}

static int remove_dir(const char *path)
{
	const char *name;
	uint64_t dir = parent_of(path, &name);

	return request(ROOT, FUSE_RMDIR, dir, name, strlen(name) + 1);
}

/* Reads a few more entries of a directory: the names, each after a blank. False at the end. */
static bool read_dir(uint64_t dir, uint64_t *off, struct text *names)
{
	const struct fuse_read_in in = {.offset = *off, .size = 100};

	assert_int_equal(request(ROOT, FUSE_READDIR, dir, &in, sizeof(in)), 0);
	for (size_t at = 0; at < answered();) {
		const struct fuse_dirent *d = (const void *)(answer.body + at);

		text_printf(names, " %.*s", (int)d->namelen, d->name);
		*off = d->off;
		at += FUSE_DIRENT_SIZE(d);
	}
	return answered();
}

static void assert_lists(const char *path, const char *want)
{
	TEXT_CLEANUP struct text names = {0};
	uint64_t dir = find(path), off = 0;

	text_printf(&names, "%s", "");
	while (read_dir(dir, &off, &names))
		;
	assert_string_equal(names.p, want);
}

static struct fs_context *context_at(const char *path)
{
	struct object *o = object_find(&fs->objects, find(path) >> 17);

	assert_non_null(o);
	return o->ctx;
}

static void done(struct job *job)
{
	assert_int_equal(job->rc, 0);
}

/* A thread followed by the context at @path makes thread @tid. As the engine does, this gives the
 * child its parent's sets. */
static struct engine_ctx *born(const char *path, int tid, struct err *e)
{
	const struct fs_context *parent = context_at(path);
	struct engine_ctx *t = context_at(path)->ec.ops->make_child(&context_at(path)->ec, tid, e);

	/* As the task_registry does. */
	if (!t)
		context_at(path)->ec.ops->child_failed(&context_at(path)->ec, tid, e);
	for (unsigned i = 0; t && i < parent->sets.n; i++) {
		struct job job = {.ec = t,
			.cmd = {.verb = CMD_EVTSET_NEW,
				.evtset.id = (uint16_t)parent->sets.set[i]->set},
			.done = done};

		engine_submit(fs->eng, &job);
	}
	return t;
}

static void make_child(const char *path, int tid)
{
	if (!born(path, tid, &why))
		fail_msg("%s", why.text);
}

static int connect_session(void)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	const struct fuse_init_in init = {.major = 7, .minor = 31, .max_readahead = ROOM};
	char path[32];
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	fuse_opt_add_arg(&args, "test");
	session.se = fuse_session_new(&args, &fs_ops, sizeof(fs_ops), fs);
	fuse_opt_free_args(&args);
	assert_non_null(session.se);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[0]);
	assert_int_equal(fuse_session_mount(session.se, path), 0);
	kernel = fds[1];
	return request(ROOT, FUSE_INIT, 0, &init, sizeof(init));
}

static int setup(void **state)
{
	static const struct fs_options opts = {.mountpoint = "/nowhere"};
	const struct backend_conf conf = {.model = "intel_v4"};

	(void)state;
	session = (struct session){.opts = &opts, .fs = {.timer_ns = 1, .memory.ops = &memory_ops}};
	list_init(&fs->files);
	list_init(&fs->deferred);
	rows_collect(&fs->rows);
	assert_int_equal(sim_backend_ops.open(&conf, &fs->be, &why), 0);
	assert_int_equal(engine_new(fs->be, &fs->eng, &why), 0);
	assert_int_equal(objects_init(&fs->objects, fs->eng, &context_life_ops, &why), 0);
	assert_int_equal(audit_log_new("/nowhere", &fs->audit, &why), 0);
	assert_int_equal(grant_table_open(fs, "/nowhere", "/nowhere", &why), 0);
	assert_int_equal(pending_requests_init(&fs->pending), 0);
	config_init(&fs->config);
	user_quotas_configure(&fs->objects.quotas, &fs->config);
	assert_int_equal(connect_session(), 0);
	assert_int_equal(mkdir_as(USER, "ctx/a"), 0);
	return 0;
}

/* Nothing may be left when all contexts are removed. */
static int teardown(void **state)
{
	const struct fs_context *ctx;
	const struct user_quota *q;
	char path[300];

	(void)state;
	while ((ctx = object_walk(&fs->objects, NULL))) {
		snprintf(path, sizeof(path), "ctx/%s", ctx->id.name);
		assert_int_equal(remove_dir(path), 0);
	}
	engine_drain(fs->eng);
	while (deferred_run(fs))
		;
	assert_int_equal(fs->objects.count, 0);
	assert_int_equal(fs->objects.by_serial.n, 0);
	assert_int_equal(fs->objects.by_name.n, 0);
	list_for_each_entry (q, &fs->objects.quotas.list, link) {
		assert_int_equal(atomic_load(&q->contexts), 0);
		assert_int_equal(atomic_load(&q->requests), 0);
		assert_int_equal(atomic_load(&q->bytes), 0);
		assert_int_equal(atomic_load(&q->buffers.bytes), 0);
	}
	assert_int_equal(atomic_load(&fs->objects.quotas.bytes), 0);
	assert_int_equal(fs->pending.by_unique.n, 0);
	assert_true(list_empty(&fs->files));
	fuse_session_destroy(session.se);
	close(kernel);
	shared_pool_free(&fs->memory);
	engine_free(fs->eng);
	objects_free(&fs->objects);
	grant_table_close(fs);
	audit_log_free(fs->audit);
	pending_requests_free(&fs->pending);
	fs->be->ops->close(fs->be);
	return 0;
}

TEST_WITH(setup, teardown, tree)
{
	struct fuse_attr attr;

	assert_lists("ctx/a/children", "");
	assert_int_equal(mkdir_as(USER, "ctx/a/set/3"), 0);
	assert_int_equal(mkdir_as(USER, "ctx/b"), 0);
	make_child("ctx/a", 77);
	make_child("ctx/b", 77);
	make_child("ctx/a", 77);
	make_child("ctx/a", 5);
	make_child("ctx/a", 77);
	assert_lists("ctx/a/children", " 77 77.1 5 77.2");
	assert_lists("ctx/b/children", " 77");
	assert_lists("ctx", " a b");
	assert_lists("ctx/a/children/77/set", " 0 3");
	assert_lists("ctx/a/children/77/children", "");
	assert_int_not_equal(find("ctx/a/children/77"), find("ctx/b/children/77"));
	assert_int_equal(find("ctx/77"), 0);
	assert_int_equal(find("ctx/a/children/78"), 0);
	assert_int_equal(find("ctx/a/children/77/children/77"), 0);
	attr = attr_of("ctx/a/children/77");
	assert_int_equal(attr.mode, S_IFDIR | 0700);
	assert_int_equal(attr.uid, USER);
	assert_int_equal(attr.gid, GROUP);
	attr = attr_of("ctx/a/children/77/set/3/pmd/0");
	assert_int_equal(attr.uid, USER);
	assert_holds("ctx/a/children/77/state", "unloaded\n");
	assert_holds("ctx/a/children/77/last_error", "ok\n");
	assert_holds("ctx/a/children/77/ctl", "");
	assert_int_equal(mkdir_as(USER, "ctx/a/children/9"), -EPERM);
	assert_int_equal(fs->objects.count, 7);
}

/* Of two parents, b's child 77 has the same key in the table of names as a child 78 of a. */
TEST_WITH(setup, teardown, names_of_others)
{
	const uint64_t difference = (uint32_t)hash_string("77") ^ (uint32_t)hash_string("78");
	uint64_t serial = context_at("ctx/a")->self.serial;

	fs->objects.last_serial = (serial ^ difference) - 1;
	assert_true(fs->objects.last_serial > serial);
	assert_int_equal(mkdir_as(ROOT, "ctx/b"), 0);
	assert_int_equal(context_at("ctx/b")->self.serial, serial ^ difference);
	make_child("ctx/b", 77);
	assert_int_equal(find("ctx/a/children/77"), 0);
	assert_int_equal(find("ctx/a/children/78"), 0);
	make_child("ctx/a", 77);
	make_child("ctx/a", 78);
	assert_int_equal(
		hash_find(&fs->objects.by_name, context_at("ctx/b/children/77")->name_hash.key)
			->key,
		context_at("ctx/a/children/78")->name_hash.key);
	assert_lists("ctx/a/children", " 77 78");
	assert_lists("ctx/b/children", " 77");
	assert_int_equal(remove_dir("ctx/a/children/77"), 0);
	assert_int_equal(remove_dir("ctx/a/children/78"), 0);
	assert_int_equal(find("ctx/a/children/77"), 0);
	assert_int_equal(find("ctx/a/children/78"), 0);
	assert_int_not_equal(find("ctx/b/children/77"), 0);
}

TEST_WITH(setup, teardown, descendants_are_flat)
{
	make_child("ctx/a", 1);
	make_child("ctx/a/children/1", 2);
	make_child("ctx/a/children/2", 3);
	assert_lists("ctx/a/children", " 1 2 3");
	assert_lists("ctx/a/children/1/children", "");
}

TEST_WITH(setup, teardown, remove_child)
{
	make_child("ctx/a", 1);
	make_child("ctx/a", 2);
	make_child("ctx/a", 3);
	assert_int_equal(remove_dir("ctx/a/children/2"), 0);
	assert_lists("ctx/a/children", " 1 3");
	make_child("ctx/a", 2);
	assert_lists("ctx/a/children", " 1 3 2");
	assert_int_equal(remove_dir("ctx/a/children/1"), 0);
	assert_int_equal(remove_dir("ctx/a/children/1"), -ENOENT);
	assert_int_equal(remove_dir("ctx/a/children/2"), 0);
	assert_int_equal(remove_dir("ctx/a/children/3"), 0);
	assert_lists("ctx/a/children", "");
	assert_holds("ctx/a/last_error", "ok\n");
}

/* Loaded children, too: on CPUs, for the model has no threads. */
TEST_WITH(setup, teardown, remove_family)
{
	struct opened f;

	for (int tid = 1; tid <= 8; tid++)
		make_child("ctx/a", tid);
	assert_int_equal(put("ctx/a/ctl", "load cpu=0"), 0);
	assert_int_equal(put("ctx/a/children/3/ctl", "load cpu=1"), 0);
	assert_int_equal(put("ctx/a/children/8/ctl", "load cpu=2"), 0);
	assert_int_equal(put("ctx/a/children/8/ctl", "start"), 0);
	f = open_as(ROOT, "ctx/a/children/8/state", O_RDONLY);
	assert_int_equal(remove_dir("ctx/a"), 0);
	assert_int_equal(find("ctx/a"), 0);
	assert_int_equal(fs->objects.count, 0);
	send_read(&f);
	assert_int_equal(await(unique), -ENODEV);
	release(&f);
	engine_handle_events(fs->eng);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		assert_null(engine_owner(fs->eng, cpu));
	assert_int_equal(mkdir_as(USER, "ctx/a"), 0);
	assert_lists("ctx/a/children", "");
	assert_non_null(born("ctx/a", 1, &why));
}

/* Between two requests, no more than so many go; the answer comes when all have gone. */
TEST_WITH(setup, teardown, remove_many)
{
	enum { CHILDREN = 200, SLICE_MAX = 64 };
	uint64_t top = find("ctx");
	unsigned left;

	for (int tid = 1; tid <= CHILDREN; tid++)
		make_child("ctx/a", tid);
	left = fs->objects.count;
	assert_int_equal(left, CHILDREN + 1);
	send_request(ROOT, FUSE_RMDIR, top, "a", sizeof("a"));
	do {
		assert_in_range(left - fs->objects.count, 0, SLICE_MAX + 1);
		left = fs->objects.count;
	} while (left && deferred_run(fs));
	assert_int_equal(left, 0);
	assert_int_equal(mkdir_as(USER, "ctx/a"), 0);
}

/* A thread is made while its context is being removed. */
TEST_WITH(setup, teardown, born_too_late)
{
	struct fs_context *ctx = context_at("ctx/a");

	context_ref(ctx);
	assert_int_equal(remove_dir("ctx/a"), 0);
	assert_null(ctx->ec.ops->make_child(&ctx->ec, 7, &why));
	assert_int_equal(why.no, ENODEV);
	assert_int_equal(fs->objects.count, 0);
	context_unref(ctx);
}

/* The thread is not followed after all: the engine destroys the child. */
TEST_WITH(setup, teardown, taken_back)
{
	struct job job = {.cmd.verb = CMD_DESTROY, .done = done};
	struct engine_ctx *t = &context_at("ctx/a")->ec;

	make_child("ctx/a", 1);
	job.ec = t->ops->make_child(t, 2, &why);
	assert_non_null(job.ec);
	engine_submit(fs->eng, &job);
	err_set(&why, EBUSY, "somebody traces it");
	t->ops->child_failed(t, 2, &why);
	assert_lists("ctx/a/children", " 1");
	assert_holds("ctx/a/last_error", "thread 2 is not followed: somebody traces it\n");
	assert_int_equal(get("ctx/a/total"), -EIO);
	assert_says("ctx/a/last_error", "1 threads were not followed");
}

TEST_WITH(setup, teardown, limits)
{
	for (int tid = 1; tid < USER_CONTEXTS_DEFAULT; tid++)
		make_child("ctx/a", tid);
	assert_null(born("ctx/a", 5000, &why));
	assert_int_equal(why.no, ENOSPC);
	assert_says(
		"ctx/a/last_error", "thread 5000 is not followed: uid 1000 has too many contexts");
	assert_int_equal(mkdir_as(USER, "ctx/b"), -ENOSPC);
	assert_int_equal(get("ctx/a/total"), -EIO);
	assert_int_equal(get("ctx/a/children/7/total"), 0);
	assert_int_equal(remove_dir("ctx/a/children/7"), 0);
	make_child("ctx/a", 5000);
	assert_int_equal(get("ctx/a/total"), -EIO);
	assert_int_equal(put("ctx/a/ctl", "load cpu=0"), 0);
	assert_int_equal(get("ctx/a/total"), 0);
}

TEST_WITH(setup, teardown, set_limit)
{
	const struct fs_context *ctx = context_at("ctx/a");
	const struct user_quota *q = ctx->id.quota;
	unsigned long long before;

	assert_int_equal(mkdir_as(USER, "ctx/a/set/1"), 0);
	assert_int_equal(mkdir_as(USER, "ctx/a/set/2"), 0);
	before = atomic_load(&q->bytes);
	assert_int_equal(before, ctx->id.charge.bytes);
	/* Room for the child, but not for its second set. */
	atomic_store(&fs->objects.quotas.user_max, 2 * before + QUOTA_SPARE);
	assert_null(born("ctx/a", 12345, &why));
	assert_int_equal(why.no, ENOMEM);
	assert_lists("ctx/a/children", "");
	assert_int_equal(atomic_load(&q->bytes), before);
	assert_int_equal(atomic_load(&q->contexts), 1);
	assert_says("ctx/a/last_error", "user_memory_max");
}

TEST_WITH(setup, teardown, format)
{
	struct user_quota *o = context_at("ctx/a")->id.quota;
	unsigned long long one;

	assert_int_equal(put("ctx/a/format", "default size=5000"), 0);
	one = atomic_load(&o->buffers.bytes);
	make_child("ctx/a", 1);
	assert_int_equal(atomic_load(&o->buffers.bytes), 2 * one);
	assert_says("ctx/a/children/1/format", "default size=5000");
	assert_int_equal(attr_of("ctx/a/children/1/buffer").size, 5000);
	assert_ptr_not_equal(
		smpl_memory(context_at("ctx/a")), smpl_memory(context_at("ctx/a/children/1")));
	assert_ptr_equal(context_at("ctx/a/children/1")->ec.ctx.smpl.buf,
		smpl_memory(context_at("ctx/a/children/1"))->mem);
	fs->config.smpl_buf_size_max = 2 * one * 16 / 15 + 16; /* a sixteenth is for others */
	assert_null(born("ctx/a", 2, &why));
	assert_int_equal(why.no, ENOMEM);
	assert_says("ctx/a/last_error", "config/smpl_buf_size_max");
	assert_lists("ctx/a/children", " 1");
	assert_int_equal(remove_dir("ctx/a/children/1"), 0);
	assert_int_equal(atomic_load(&o->buffers.bytes), one);
	make_child("ctx/a", 2);
}

static int plugin_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags, (void)arg;
	*size = 4096;
	return 0;
}

static int plugin_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)arg, (void)tstamp, (void)data;
	return 0;
}

/* A child uses the format of its parent, also after the parent has another one. */
TEST_WITH(setup, teardown, format_in_use)
{
	static const pfm_buffer_fmt_t fmt = {
		.fmt_api = PFM_FMT_API,
		.fmt_name = "mine",
		.fmt_uuid = {1},
		.fmt_getsize = plugin_getsize,
		.fmt_handler = plugin_handler,
	};
	/* Nothing here closes it. */
	struct plugin plugin = {.so = &plugin, .fmt = &fmt}, given;

	assert_int_equal(format_register(&plugin, &why), 0);
	assert_int_equal(put("ctx/a/format", "mine size=1"), -EINVAL);
	assert_int_equal(put("ctx/a/format", "mine"), 0);
	make_child("ctx/a", 1);
	fs->config.smpl_buf_size_max = 4096;
	assert_null(born("ctx/a", 2, &why));
	assert_int_equal(why.no, ENOMEM);
	assert_int_equal(put("ctx/a/format", "mine"), -ENOMEM);
	assert_int_equal(put("ctx/a/format", "none"), 0);
	assert_int_equal(format_unregister(slice_of("mine"), &given, &why), -EBUSY);
	assert_int_equal(remove_dir("ctx/a/children/1"), 0);
	assert_int_equal(format_unregister(slice_of("mine"), &given, &why), 0);
	assert_ptr_equal(given.fmt, &fmt);
	assert_int_equal(put("ctx/a/format", "mine"), -EINVAL);
}

/* Children that exist all the time are listed once, whatever comes and goes. */
TEST_WITH(setup, teardown, list_while_they_come_and_go)
{
	enum { MANY = 900 };
	TEXT_CLEANUP struct text names = {0};
	uint64_t dir, off = 0;
	char path[64], word[16];
	int next = 1;

	fs->objects.quotas.contexts_max = 2 * MANY;
	while (next <= MANY)
		make_child("ctx/a", next++);
	dir = find("ctx/a/children");
	for (int n = 0; read_dir(dir, &off, &names); n++) {
		if (n >= MANY / 30)
			continue;
		/* Of each thirty, the third goes, and the first, which has been read. */
		snprintf(path, sizeof(path), "ctx/a/children/%d", n * 30 + 3);
		assert_int_equal(remove_dir(path), 0);
		snprintf(path, sizeof(path), "ctx/a/children/%d", n * 30 + 1);
		assert_int_equal(remove_dir(path), 0);
		make_child("ctx/a", next++);
	}
	text_printf(&names, " ");
	for (int tid = 1; tid <= MANY; tid++) {
		const char *at;

		if (tid % 30 == 3 || tid % 30 == 1)
			continue;
		snprintf(word, sizeof(word), " %d ", tid);
		at = strstr(names.p, word);
		assert_non_null(at);
		assert_null(strstr(at + 1, word));
	}
}

/* Any offset is accepted, and shows nothing of other directories. */
TEST_WITH(setup, teardown, offsets_of_others)
{
	TEXT_CLEANUP struct text names = {0};
	uint64_t dir, off;

	make_child("ctx/a", 1);
	assert_int_equal(mkdir_as(ROOT, "ctx/b"), 0);
	assert_int_equal(mkdir_as(ROOT, "ctx/c"), 0);
	make_child("ctx/b", 2);
	make_child("ctx/b", 3);
	dir = find("ctx/a/children");
	for (uint64_t serial = 0; serial <= fs->objects.last_serial; serial++) {
		off = serial;
		while (read_dir(dir, &off, &names))
			;
	}
	assert_null(strstr(names.p, "2"));
	assert_null(strstr(names.p, "3"));
	assert_null(strstr(names.p, "b"));
}

/* Gives PMD 0 of a set a value. */
static void set_pmd(const char *path, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	assert_int_equal(put(path, text), 0);
}

static void assert_total(const char *path, const char *prefix, uint64_t value)
{
	char line[64];

	snprintf(line, sizeof(line), "%spmd0 %" PRIu64 "\n", prefix, value);
	assert_says(path, line);
}

TEST_WITH(setup, teardown, total)
{
	set_pmd("ctx/a/set/0/pmd/0", 5);
	assert_total("ctx/a/total", "", 5);
	make_child("ctx/a", 1);
	make_child("ctx/a", 2);
	make_child("ctx/a", 3);
	set_pmd("ctx/a/children/1/set/0/pmd/0", 10);
	set_pmd("ctx/a/children/2/set/0/pmd/0", 100);
	assert_total("ctx/a/total", "", 115);
	assert_total("ctx/a/children/2/total", "", 100);
	set_pmd("ctx/a/children/3/set/0/pmd/0", UINT64_MAX - 100);
	assert_total("ctx/a/total", "", 14);
	assert_int_equal(remove_dir("ctx/a/children/1"), 0);
	assert_total("ctx/a/total", "", 4);
}

static unsigned lines_in(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

TEST_WITH(setup, teardown, total_of_sets)
{
	assert_int_equal(mkdir_as(USER, "ctx/a/set/9"), 0);
	make_child("ctx/a", 1);
	set_pmd("ctx/a/set/0/pmd/0", 1);
	set_pmd("ctx/a/set/9/pmd/0", 10);
	set_pmd("ctx/a/children/1/set/0/pmd/0", 100);
	set_pmd("ctx/a/children/1/set/9/pmd/0", 1000);
	assert_total("ctx/a/total", "", 101);
	assert_total("ctx/a/total", "set=9 ", 1010);
	assert_int_equal(get("ctx/a/total"), 0);
	assert_int_equal(lines_in(answer.body), 2);
	/* A counter that only a child uses is one of the sum, even if it has not counted yet. */
	assert_int_equal(put("ctx/a/children/1/set/9/pmc/1", "0x4100c0"), 0);
	assert_says("ctx/a/total", "set=9 pmd1 0\n");
	assert_int_equal(lines_in(answer.body), 3);
	/* A set that a child does not have counts as 0. */
	assert_int_equal(remove_dir("ctx/a/children/1/set/9"), 0);
	assert_total("ctx/a/total", "set=9 ", 10);
	assert_int_equal(mkdir_as(USER, "ctx/a/children/1/set/4"), 0);
	assert_int_equal(get("ctx/a/total"), 0);
	assert_int_equal(lines_in(answer.body), 2);
}

static void make_sets_of(unsigned uid, const char *ctx, int n)
{
	char path[64];

	for (int i = 1; i <= n; i++) {
		snprintf(path, sizeof(path), "%s/set/%d", ctx, i);
		assert_int_equal(mkdir_as(uid, path), 0);
	}
}

static void make_sets(int n)
{
	make_sets_of(USER, "ctx/a", n);
}

/* Many sets are freed between other requests. Until then they are charged. */
TEST_WITH(setup, teardown, end_yields)
{
	const struct user_quota *q = context_at("ctx/a")->id.quota;

	make_sets(1200);
	assert_int_equal(remove_dir("ctx/a"), 0);
	assert_false(list_empty(&fs->deferred));
	assert_int_not_equal(atomic_load(&q->bytes), 0);
	assert_int_equal(mkdir_as(USER, "ctx/a"), 0);
}

/* One event wakes no more than so many pollers: the oldest give way. */
TEST_WITH(setup, teardown, many_pollers)
{
	enum { MANY = 130 };
	struct opened f[MANY];
	const struct file *first, *last;

	for (int i = 0; i < MANY; i++) {
		struct fuse_poll_in in = {
			.kh = (uint64_t)i, .flags = FUSE_POLL_SCHEDULE_NOTIFY, .events = POLLPRI};

		f[i] = open_as(USER, "ctx/a/state", O_RDONLY);
		in.fh = f[i].fh;
		assert_int_equal(request(USER, FUSE_POLL, f[i].node, &in, sizeof(in)), 0);
	}
	first = (const struct file *)(uintptr_t)f[0].fh;
	last = (const struct file *)(uintptr_t)f[MANY - 1].fh;
	assert_null(first->poll);
	assert_non_null(last->poll);
	assert_int_equal(context_at("ctx/a")->notify.npollers, 128);
	for (int i = 0; i < MANY; i++)
		release(&f[i]);
	assert_int_equal(context_at("ctx/a")->notify.npollers, 0);
}

/* A long sum does not hold up others: the next request is answered before it. */
TEST_WITH(setup, teardown, total_yields)
{
	struct opened f;
	uint64_t id;

	make_sets(1000);
	set_pmd("ctx/a/set/1000/pmd/0", 7);
	f = open_as(USER, "ctx/a/total", O_RDONLY);
	send_read(&f);
	id = unique;
	assert_int_equal(request(ROOT, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0), 0);
	assert_int_equal(await(id), 0);
	assert_int_equal(answered(), strlen("set=1000 pmd0 7\n"));
	/* Removing the context ends one that is under way. */
	send_read(&f);
	id = unique;
	assert_int_equal(remove_dir("ctx/a"), 0);
	assert_int_equal(await(id), -ENODEV);
	release(&f);
}

/* Many long sums of one user take no more turns from another's than one. */
TEST_WITH(setup, teardown, total_by_user)
{
	enum { MANY = 20, OTHER = USER + 1 };
	struct opened many[MANY], one;
	uint64_t last;

	make_sets(1000);
	assert_int_equal(mkdir_as(OTHER, "ctx/b"), 0);
	make_sets_of(OTHER, "ctx/b", 1000);
	for (int i = 0; i < MANY; i++)
		many[i] = open_as(USER, "ctx/a/total", O_RDONLY);
	one = open_as(OTHER, "ctx/b/total", O_RDONLY);
	for (int i = 0; i < MANY; i++)
		send_read(&many[i]);
	send_read(&one);
	last = unique - 1;
	assert_int_equal(await(unique), 0);
	assert_int_equal(passed, 0);
	release(&one);
	/* The kernel releases no file before its read is answered. */
	assert_int_equal(await(last), 0);
	for (int i = 0; i < MANY; i++)
		release(&many[i]);
}

/* However many users fail meanwhile, a user still finds why its request has failed. */
TEST_WITH(setup, teardown, errors_by_user)
{
	enum { MANY = 1000, ONE = USER + 1, FIRST };
	struct opened f;

	assert_int_equal(request(ONE, FUSE_LOOKUP, find("ctx"), "none", sizeof("none")), -ENOENT);
	for (unsigned uid = FIRST; uid < FIRST + MANY; uid++)
		assert_int_equal(
			request(uid, FUSE_LOOKUP, find("ctx"), "more", sizeof("more")), -ENOENT);
	f = open_as(ONE, "last_error", O_RDONLY);
	send_read(&f);
	assert_int_equal(await(unique), 0);
	assert_non_null(memmem(answer.body, answered(), "none", strlen("none")));
	release(&f);
}

/* Users that have nothing any more, and whose errors are old, take no memory. */
TEST_WITH(setup, teardown, errors_end)
{
	enum { MANY = 1000, FIRST = USER + 1 };
	struct user_quotas *all = &fs->objects.quotas;
	struct user_quota *q;

	for (unsigned uid = FIRST; uid < FIRST + MANY; uid++)
		assert_int_equal(
			request(uid, FUSE_LOOKUP, find("ctx"), "more", sizeof("more")), -ENOENT);
	assert_true(all->by_uid.n > MANY);
	list_for_each_entry (q, &all->list, link)
		q->error.keep_until = 0;
	all->sweep_at = 0;
	assert_int_equal(mkdir_as(FIRST + MANY, "ctx/b"), 0);
	assert_true(all->by_uid.n < 8);
}

static uint64_t pmd_of(const char *path)
{
	assert_int_equal(get(path), 0);
	return strtoull(answer.body, NULL, 10);
}

/* Makes child @tid of context a, which counts on CPU @tid. */
static struct engine_ctx *counting_child(int tid)
{
	char path[64], text[64];

	make_child("ctx/a", tid);
	snprintf(path, sizeof(path), "ctx/a/children/%d/set/0/pmc/0", tid);
	assert_int_equal(put(path, "0x4100c0"), 0);
	snprintf(path, sizeof(path), "ctx/a/children/%d/ctl", tid);
	snprintf(text, sizeof(text), "load cpu=%d", tid);
	assert_int_equal(put(path, text), 0);
	assert_int_equal(put(path, "start"), 0);
	snprintf(path, sizeof(path), "ctx/a/children/%d", tid);
	return &context_at(path)->ec;
}

TEST_WITH(setup, teardown, total_while_counting)
{
	struct engine_ctx *t[2];
	uint64_t sum;

	set_pmd("ctx/a/set/0/pmd/0", 7);
	t[0] = counting_child(1);
	t[1] = counting_child(2);
	assert_int_equal(put("sim/advance", "1000000"), 0);
	sum = pmd_of("ctx/a/children/1/set/0/pmd/0") + pmd_of("ctx/a/children/2/set/0/pmd/0");
	assert_true(sum > 0);
	assert_total("ctx/a/total", "", sum + 7);
	/* The same when their workers are busy, and answer later. */
	for (unsigned i = 0; i < 2; i++)
		atomic_fetch_add(&t[i]->inflight, 1);
	assert_total("ctx/a/total", "", sum + 7);
	for (unsigned i = 0; i < 2; i++)
		atomic_fetch_sub(&t[i]->inflight, 1);
	assert_int_equal(put("sim/offline", "2"), 0);
	assert_int_equal(get("ctx/a/total"), -ENXIO);
	assert_says("ctx/a/last_error", "children/2: ");
	assert_int_equal(put("sim/offline", ""), 0);
}

/* Reads the total of a. As its child's worker is busy, the answer is yet to come. */
static struct opened begin_total(struct engine_ctx *t)
{
	struct opened f = open_as(ROOT, "ctx/a/total", O_RDONLY);

	atomic_fetch_add(&t->inflight, 1);
	send_read(&f);
	assert_int_equal(fs->pending.by_unique.n, 1);
	return f;
}

TEST_WITH(setup, teardown, total_interrupted)
{
	struct engine_ctx *t = counting_child(1);
	struct opened f = begin_total(t);
	const struct fuse_interrupt_in in = {.unique = unique};

	send_request(ROOT, FUSE_INTERRUPT, 0, &in, sizeof(in));
	assert_int_equal(await(in.unique), -EINTR);
	atomic_fetch_sub(&t->inflight, 1);
	assert_holds("ctx/a/last_error", "ok\n");
	send_read(&f);
	assert_int_equal(await(unique), 0);
	release(&f);
}

/* The daemon ends while a thread is being followed. */
TEST_WITH(setup, teardown, child_returned_after_close)
{
	struct fs_context *child;

	make_child("ctx/a", 30);
	child = context_at("ctx/a/children/30");
	context_close(child);
	context_gone(&child->ec);
	assert_int_equal(find("ctx/a/children/30"), 0);
}

static sem_t work_may_end;

static void work_waits(struct work *work)
{
	(void)work;
	sem_wait(&work_may_end);
}

static void work_is_done(struct work *work)
{
	(void)work;
}

/* Interrupts the request that waits while the workqueue has other work, which may end then. */
static void interrupt_waiting(void)
{
	const struct fuse_interrupt_in in = {.unique = unique};

	assert_int_equal(fs->pending.by_unique.n, 1);
	send_request(ROOT, FUSE_INTERRUPT, 0, &in, sizeof(in));
	assert_int_equal(await(in.unique), -EINTR);
	assert_int_equal(fs->pending.by_unique.n, 0);
	sem_post(&work_may_end);
}

TEST_WITH(setup, teardown, readings_interrupted)
{
	struct work other = {.run = work_waits, .done = work_is_done};
	struct opened f = open_as(ROOT, "pmu/readings", O_RDONLY);
	struct err e;

	assert_int_equal(readings_new(fs->be, &fs->readings, &e), 0);
	sem_init(&work_may_end, 0, 0);
	assert_int_equal(engine_work(fs->eng, &other, &e), 0);
	send_read(&f);
	interrupt_waiting();
	send_read(&f);
	assert_int_equal(await(unique), 0);
	assert_true(answered() > 0);
	release(&f);
	readings_free(fs->readings);
	fs->readings = NULL;
}

/* Writes @text to @path, and interrupts that while @other is the workqueue's work. */
static void interrupt_store(const char *path, const char *text, struct work *other)
{
	struct opened f = open_as(ROOT, path, O_WRONLY);
	struct err e;

	sem_init(&work_may_end, 0, 0);
	assert_int_equal(engine_work(fs->eng, other, &e), 0);
	send_write(ROOT, &f, text);
	interrupt_waiting();
	release(&f);
}

TEST_WITH(setup, teardown, stores_interrupted)
{
	struct work lookup = {.run = work_waits, .done = work_is_done};
	struct work opening = {.may_hang = true, .run = work_waits, .done = work_is_done};

	assert_int_equal(get("formats"), 0);
	interrupt_store("formats", "register /nowhere/format.so", &opening);
	assert_int_equal(put("formats", "register /nowhere/format.so"), -ENOENT);
	interrupt_store("ctx/a/ctl", "signal sig=10", &lookup);
	assert_int_equal(put("ctx/a/ctl", "signal sig=10 tid=4194304"), -ESRCH);
	assert_null(context_at("ctx/a")->notify.notifier);
}

TEST_WITH(setup, teardown, scrape_at_the_end)
{
	assert_int_equal(metrics_new(fs, &fs->metrics, &why), 0);
	metrics_end(fs->metrics);
	assert_int_equal(get("metrics/node.prom"), -ENODEV);
	metrics_free(fs->metrics);
	fs->metrics = NULL;
}

/* Another request is answered before all readers that were interrupted, whatever their order. */
TEST_WITH(setup, teardown, many_interrupted)
{
	enum { READERS = 100 };

	struct opened f = open_as(USER, "ctx/a/msg", O_RDONLY);
	struct fuse_interrupt_in in = {.unique = unique + READERS};

	for (unsigned i = 0; i < READERS; i++)
		send_read(&f);
	assert_int_equal(fs->pending.by_unique.n, READERS);
	for (unsigned i = 0; i < READERS; i++, in.unique--)
		send_request(ROOT, FUSE_INTERRUPT, 0, &in, sizeof(in));
	assert_int_equal(fs->pending.by_unique.n, 0);
	in.unique++;
	send_request(ROOT, FUSE_INTERRUPT, 0, &in, sizeof(in)); /* it has ended */
	assert_int_equal(request(ROOT, FUSE_STATFS, FUSE_ROOT_ID, NULL, 0), 0);
	assert_int_equal(passed, 0);
	assert_int_equal(await(in.unique + READERS - 1), -EINTR);
	assert_int_equal(passed, READERS - 1);
	release(&f);
}

TEST_WITH(setup, teardown, total_of_what_is_removed)
{
	struct engine_ctx *t = counting_child(1);
	const uint64_t children = find("ctx/a/children"), ctxs = find("ctx");
	struct opened f;
	uint64_t id;

	set_pmd("ctx/a/set/0/pmd/0", 3);
	make_child("ctx/a", 2);
	set_pmd("ctx/a/children/2/set/0/pmd/0", 100);
	/* A child that is queried later. */
	f = begin_total(t);
	id = unique;
	atomic_fetch_sub(&t->inflight, 1);
	send_request(ROOT, FUSE_RMDIR, children, "2", 2);
	assert_int_equal(await(id), 0);
	assert_non_null(strstr(answer.body, "pmd0 3\n"));
	/* The child whose query is under way. */
	atomic_fetch_add(&t->inflight, 1);
	send_read(&f);
	id = unique;
	send_request(ROOT, FUSE_RMDIR, children, "1", 2);
	atomic_fetch_sub(&t->inflight, 1);
	assert_int_equal(await(id), 0);
	release(&f);
	/* The context itself. */
	t = counting_child(3);
	f = begin_total(t);
	id = unique;
	atomic_fetch_sub(&t->inflight, 1);
	send_request(ROOT, FUSE_RMDIR, ctxs, "a", 2);
	assert_int_equal(await(id), -ENODEV);
	release(&f);
	assert_null(object_walk(&fs->objects, NULL));
}

/* A failed query of a child that is being removed does not fail the total. */
TEST_WITH(setup, teardown, total_without_the_removed)
{
	struct engine_ctx *t = counting_child(1);
	const uint64_t children = find("ctx/a/children");
	struct opened f;
	uint64_t id;

	set_pmd("ctx/a/set/0/pmd/0", 3);
	assert_int_equal(put("sim/offline", "1"), 0);
	f = begin_total(t);
	id = unique;
	send_request(ROOT, FUSE_RMDIR, children, "1", 2);
	atomic_fetch_sub(&t->inflight, 1);
	assert_int_equal(await(id), 0);
	assert_non_null(strstr(answer.body, "pmd0 3\n"));
	release(&f);
	assert_int_equal(put("sim/offline", ""), 0);
}

/* The open ctl file has been passed to a program of another user. */
TEST_WITH(setup, teardown, rights_of_the_writer)
{
	struct opened f = open_as(USER, "ctx/a/ctl", O_WRONLY);

	assert_int_equal(write_as(ROOT, &f, "load tid=1"), -EPERM);
	assert_says("ctx/a/last_error", "file was opened with uid");
	assert_holds("ctx/a/state", "unloaded\n");
	release(&f);
}

/* Reads of a user that wait are refused at the limit, and others are served. */
TEST_WITH(setup, teardown, many_wait)
{
	struct engine_ctx *t = counting_child(1);
	struct opened f = open_as(USER, "ctx/a/total", O_RDONLY);
	uint64_t first = unique + 1;

	atomic_store(&fs->objects.quotas.user_max, 1 << 30); /* stacks of sanitizers are larger */
	atomic_fetch_add(&t->inflight, 1);
	for (unsigned i = 0; i < REQUESTS_PER_USER; i++)
		send_read(&f);
	assert_int_equal(fs->pending.by_unique.n, REQUESTS_PER_USER);
	send_read(&f);
	assert_int_equal(await(unique), -ENOSPC);
	assert_says("ctx/a/last_error", "are waiting (limit: 1024 a user)");
	atomic_fetch_sub(&t->inflight, 1);
	assert_int_equal(await(first + REQUESTS_PER_USER - 1), 0);
	release(&f);
}

static unsigned char *stack;

/* Fills the stack that the next fiber gets. Its upper end, and this frame, are in its last page. */
static void fill_stack(void *arg)
{
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0), top = (frame | 4095) + 1;

	(void)arg;
	stack = (unsigned char *)(top - FIBER_STACK);
	memset(stack, 0xa5, frame - 1024 - (top - FIBER_STACK));
}

/* Requests that wait, that fail and that are long leave half of their stack alone. */
TEST_WITH(setup, teardown, stack_of_a_request)
{
	struct engine_ctx *t;
	unsigned unused = 0;

	assert_int_equal(fiber_start(fill_stack, NULL, &why), 0);
	make_sets(300);
	t = counting_child(1);
	assert_int_equal(get("ctx/a/total"), 0);
	atomic_fetch_add(&t->inflight, 1);
	assert_int_equal(get("ctx/a/total"), 0);
	assert_int_equal(put("sim/offline", "1"), 0);
	assert_int_equal(get("ctx/a/total"), -ENXIO);
	atomic_fetch_sub(&t->inflight, 1);
	assert_int_equal(put("sim/offline", ""), 0);
	assert_int_equal(put("formats", "register /nowhere/format.so"), -ENOENT);
	assert_int_equal(put("ctx/a/ctl", "signal sig=10 tid=4194304"), -ESRCH);
	while (stack[unused] == 0xa5)
		unused++;
	print_message("# %u of %d bytes of stack used\n", FIBER_STACK - unused, FIBER_STACK);
	assert_true(unused >= FIBER_STACK / 2);
	fiber_free_stacks();
}

static uint64_t random_state;

static void one_of_many(unsigned what, const char *path)
{
	static const char *const commands[] = {"start", "stop", "unload", "start", "load cpu=0",
		"load cpu=1", "load cpu=2", "load cpu=3"};
	TEXT_CLEANUP struct text file = {0};
	uint64_t off = 0;

	switch (what) {
	case 0:
	case 1:
		if (find("ctx/a"))
			born("ctx/a", (int)below(&random_state, 6) + 1, &why);
		break;
	case 2:
		remove_dir(path);
		break;
	case 3:
		text_printf(&file, "%s/ctl", path);
		put(file.p, commands[below(&random_state, 8)]);
		break;
	case 4:
		if (find("ctx/a"))
			get("ctx/a/total");
		break;
	case 5:
		if (find("ctx/a"))
			read_dir(find("ctx/a/children"), &off, &file);
		break;
	}
}

/* Everything at once, in random order; teardown checks that nothing is left. */
TEST_WITH(setup, teardown, any_order)
{
	char path[64];

	random_state = 12345;
	for (unsigned n = 0; n < ROUNDS; n++) {
		snprintf(path, sizeof(path), "ctx/a/children/%u", below(&random_state, 6) + 1);
		if (find(path))
			one_of_many(below(&random_state, 6), path);
		else
			one_of_many(
				below(&random_state, 2) ? 0 : 4 + below(&random_state, 2), path);
		if (below(&random_state, 100) == 0 && find("ctx/a"))
			assert_int_equal(remove_dir("ctx/a"), 0);
		if (!find("ctx/a"))
			assert_int_equal(mkdir_as(USER, "ctx/a"), 0);
	}
}

int main(void)
{
	if (formats_register(builtin_formats, &why) < 0)
		return 1;
	return unit_run(NULL, NULL);
}
