// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/format_loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/pending_request.h"
#include "daemon/percpu/thread.h"

/* A file to open, or to close. It is the thread's from loader.waiting on until loader.done. */
struct loader_job {
	/* In loader.waiting or .done. */
	struct list_head link;
	/* In loader.waiting; guarded by its lock. */
	bool waiting;
	/* To open; NULL: @plugin is to be closed, and there is no request. */
	char *path;
	struct plugin plugin;
	int rc;
	struct err err;
	/* These two are the session thread's. */
	struct request request;
	struct audit_writer writer;
};

static struct {
	/* A leaf: guards the fields up to @ending. */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct list_head waiting, done;
	/* The thread works at it. */
	struct loader_job *current;
	bool ending;
	/* An eventfd. */
	int fd;
	/* The fields from here on are the session thread's. */
	pthread_t thread;
	bool started, stuck;
	/* Jobs that the thread has. */
	unsigned expected;
} loader = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.waiting = LIST_HEAD_INIT(loader.waiting),
	.done = LIST_HEAD_INIT(loader.done),
	.fd = -1,
};

static void loader_publish(struct loader_job *j)
{
	static const uint64_t one = 1;

	list_add_tail(&j->link, &loader.done);
	if (write(loader.fd, &one, sizeof(one)) < 0)
		return; /* its counter is at the limit: it is readable */
}

static void loader_work(struct loader_job *j)
{
	if (j->path)
		j->rc = plugin_open(j->path, &j->plugin, &j->err);
	else
		plugin_close(&j->plugin);
}

static void *loader_main(void *arg)
{
	struct loader_job *j;

	thread_set_name("pfm-formats");
	pthread_mutex_lock(&loader.lock);
	while (!loader.ending) {
		j = list_first_entry_or_null(&loader.waiting, struct loader_job, link);
		if (!j) {
			pthread_cond_wait(&loader.wake, &loader.lock);
			continue;
		}
		list_del(&j->link);
		j->waiting = false;
		loader.current = j;
		pthread_mutex_unlock(&loader.lock);
		loader_work(j);
		pthread_mutex_lock(&loader.lock);
		if (loader.ending)
			break; /* the daemon ends without this job */
		loader.current = NULL;
		loader_publish(j);
	}
	pthread_mutex_unlock(&loader.lock);
	return arg;
}

static int loader_start(struct err *e)
{
	if (loader.started)
		return 0;
	if (loader.fd < 0)
		loader.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (loader.fd < 0 || thread_start(&loader.thread, loader_main, NULL))
		return err_set(e, EAGAIN, "no thread can be started to read formats: try again");
	loader.started = true;
	return 0;
}

static void loader_submit(struct loader_job *j)
{
	loader.expected++;
	pthread_mutex_lock(&loader.lock);
	j->waiting = true;
	if (j->path)
		list_add_tail(&j->link, &loader.waiting);
	else /* dlopen() of the same path would find the old file */
		list_add(&j->link, &loader.waiting);
	pthread_cond_signal(&loader.wake);
	pthread_mutex_unlock(&loader.lock);
}

static void loader_free_job(struct loader_job *j)
{
	free(j->path);
	free(j);
}

/* False: the thread has it, or has had it. */
static bool loader_withdraw(struct loader_job *j)
{
	bool waiting;

	pthread_mutex_lock(&loader.lock);
	waiting = j->waiting;
	j->waiting = false;
	if (waiting)
		list_del(&j->link);
	pthread_mutex_unlock(&loader.lock);
	loader.expected -= waiting;
	return waiting;
}

/* A file that is being opened is closed afterwards. */
static bool loader_interrupted(struct request *r)
{
	struct loader_job *j = container_of(r, struct loader_job, request);

	list_del(&r->link);
	if (loader_withdraw(j)) {
		request_uncharge(r);
		loader_free_job(j);
	}
	return true;
}

int format_loader_register(struct call *call, struct slice path, struct err *e)
{
	struct loader_job *j = calloc(1, sizeof(*j));

	if (j)
		j->path = strndup(path.p, path.n);
	if (!j || !j->path)
		err_set(e, ENOMEM, "no memory");
	else if (loader_start(e) == 0 && request_begin(&j->request, call, sizeof(*j) + path.n,
						 loader_interrupted, e) == 0) {
		j->writer = audit_format_writer(call);
		loader_submit(j);
		return CALL_LATER;
	}
	if (j)
		loader_free_job(j);
	return -e->no;
}

int format_loader_unregister(struct call *call, struct slice name_or_uuid, struct err *e)
{
	const struct audit_writer writer = audit_format_writer(call);
	struct loader_job *j = calloc(1, sizeof(*j));
	int rc;

	if (!j)
		return err_set(e, ENOMEM, "no memory");
	rc = loader_start(e);
	if (rc == 0)
		rc = format_unregister(name_or_uuid, &j->plugin, e);
	audit_format(call->fs, &writer, "unregister", j->plugin.fmt, NULL, rc);
	if (rc == 0)
		loader_submit(j);
	else
		loader_free_job(j);
	return rc;
}

/* Registers what was opened, unless the caller has gone. False: it is to be closed. */
static bool loader_register(struct loader_job *j)
{
	struct call *call = &j->request.call;
	bool due = request_end(&j->request), opened = j->rc == 0;

	if (opened && due)
		j->rc = format_register(&j->plugin, &j->err);
	else if (opened)
		j->rc = err_set(&j->err, EINTR, "interrupted");
	audit_format(call->fs, &j->writer, "register", j->rc == 0 ? j->plugin.fmt : NULL, j->path,
		j->rc);
	if (due)
		call_write_done(call, j->rc, j->rc < 0 ? &j->err : NULL);
	return !opened || j->rc == 0;
}

static void loader_take(struct loader_job *j)
{
	if (!j->path || loader_register(j)) {
		loader_free_job(j);
		return;
	}
	free(take_ptr(&j->path));
	loader_submit(j);
}

/* Call it with the lock held. */
static void loader_move(struct list_head *from, struct list_head *to)
{
	struct loader_job *j;

	while ((j = list_first_entry_or_null(from, struct loader_job, link))) {
		list_del(&j->link);
		list_add_tail(&j->link, to);
	}
}

int format_loader_fd(void)
{
	return loader.fd;
}

bool format_loader_expects(void)
{
	return loader.expected;
}

void format_loader_complete(void)
{
	struct list_head done = LIST_HEAD_INIT(done);
	struct loader_job *j;
	uint64_t signalled;

	if (!loader.expected || read(loader.fd, &signalled, sizeof(signalled)) < 0)
		return;
	pthread_mutex_lock(&loader.lock);
	loader_move(&loader.done, &done);
	pthread_mutex_unlock(&loader.lock);
	while ((j = list_first_entry_or_null(&done, struct loader_job, link))) {
		list_del(&j->link);
		loader.expected--;
		loader_take(j);
	}
}

static void loader_refuse(struct loader_job *j)
{
	if (j->path && request_end(&j->request))
		fuse_reply_err(j->request.call.req, ENODEV);
}

void format_loader_stop(void)
{
	struct list_head left = LIST_HEAD_INIT(left);
	struct loader_job *j, *current;

	if (!loader.started)
		return;
	pthread_mutex_lock(&loader.lock);
	loader.ending = true;
	loader_move(&loader.waiting, &left);
	loader_move(&loader.done, &left);
	current = loader.current;
	pthread_cond_signal(&loader.wake);
	pthread_mutex_unlock(&loader.lock);
	loader.stuck = current; /* a filesystem may never answer it */
	if (current)
		loader_refuse(current);
	else
		pthread_join(loader.thread, NULL);
	while ((j = list_first_entry_or_null(&left, struct loader_job, link))) {
		list_del(&j->link);
		loader_refuse(j);
		loader_free_job(j);
	}
}

bool format_loader_is_stuck(void)
{
	return loader.stuck;
}
