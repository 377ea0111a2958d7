// SPDX-License-Identifier: MIT
#include "backend/perf/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/perf/watch.h"
#include "base/cleanup.h"
#include "base/nsec.h"

enum {
	/* Tries before giving up: at least this many, and for at least this long. */
	PROCESS_TRIES = 5,
	PROCESS_TRIES_NS = 300000000,
	/* Descriptors of a thread in addition to its members: the leader and the watch. */
	PROCESS_FILES = 2,
};

/* The events of a thread. */
struct process_thread {
	pid_t tid;
	int leader;
	struct perf_watch watch;
	unsigned n; /* Members that are open. */
	int member[PMU_MAX_PMDS];
};

struct perf_process {
	pid_t pid;
	const atomic_int *tid;
	int reference;
	int dir; /* /proc/PID/task, which stays empty if another process reuses the pid. */
	unsigned nmembers;
	struct process_member member[PMU_MAX_PMDS];
	unsigned nthreads;
	struct process_thread *threads;
	/* The thread whose watch is mapped: those before it have ended, with all that they have
	 * created. */
	unsigned watched;
};

/* Threads of a process, in ascending order. */
struct process_list {
	pid_t *tid;
	unsigned n, room;
};

static const struct thread_conf process_conf = {.inherit = true};

int process_new(
	pid_t pid, const atomic_int *tid, int reference, struct perf_process **out, struct err *e)
{
	CLEANUP_FREE struct perf_process *p = calloc(1, sizeof(*p));
	char path[32];

	if (!p)
		return err_set(e, ENOMEM, "ENOMEM: no memory for the events of a process");
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	p->pid = pid;
	p->tid = tid;
	p->reference = reference;
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return err_set(
			e, errno == EMFILE ? EMFILE : ESRCH, "%s: %s", path, err_name(errno));
	*out = take_ptr(&p);
	return 0;
}

/* --- Groups */

/* Closes members first, because they would go on without their leader. */
static void process_close_thread(struct process_thread *t)
{
	for (unsigned k = 0; k < t->n; k++)
		close(t->member[k]);
	watch_close(&t->watch);
	close(t->leader);
}

static void process_close(struct perf_process *p)
{
	for (unsigned i = 0; i < p->nthreads; i++)
		process_close_thread(&p->threads[i]);
	free(p->threads);
	p->threads = NULL;
	p->nthreads = 0;
	p->watched = 0;
}

void process_free(struct perf_process *p)
{
	if (!p)
		return;
	process_close(p);
	close(p->dir);
	free(p);
}

static struct perf_target process_target(const struct process_thread *t)
{
	return (struct perf_target){.tid = t->tid, .cpu = -1, .inherit = true};
}

static int process_open_members(const struct perf_process *p, const struct perf_sources *src,
	struct process_thread *t, struct err *e)
{
	static const struct perf_sampling none;
	struct perf_target target = process_target(t);

	while (t->n < p->nmembers) {
		int fd = perf_member_new(src, target, t->leader, p->member[t->n].sel, &none, e);

		if (fd < 0)
			return fd;
		t->member[t->n++] = fd;
	}
	return 0;
}

static int process_open_thread(const struct perf_process *p, const struct perf_sources *src,
	struct process_thread *t, struct err *e)
{
	bool ignored;

	t->leader = perf_leader_new(perf_on_thread(t->tid), &process_conf, &ignored, e);
	if (t->leader < 0)
		return t->leader;
	if (watch_open(&t->watch, t->tid, e) == 0 && process_open_members(p, src, t, e) == 0)
		return 0;
	process_close_thread(t);
	return -e->no;
}

/* Opens a group on each thread, except threads that have ended. EINVAL means that another thread
 * has reused the tid, because everything else was tried with the reference's group. */
static int process_open_threads(struct perf_process *p, const struct perf_sources *src,
	const struct process_list *list, struct err *e)
{
	p->threads = calloc(list->n + 1, sizeof(*p->threads));
	if (!p->threads)
		return err_set(e, ENOMEM, "ENOMEM: no memory for %u threads", list->n);
	for (unsigned i = 0; i < list->n; i++) {
		struct process_thread *t = &p->threads[p->nthreads];
		int rc;

		*t = (struct process_thread){.tid = list->tid[i]};
		rc = process_open_thread(p, src, t, e);
		if (rc < 0 && rc != -ESRCH && rc != -EINVAL)
			return rc;
		p->nthreads += rc == 0;
	}
	return 0;
}

/* --- The list */

static void process_list_free(struct process_list *list)
{
	free(list->tid);
}

static int process_list_add(struct process_list *list, pid_t tid)
{
	if (list->n == list->room) {
		unsigned room = list->room ? 2 * list->room : 64;
		pid_t *more = reallocarray(list->tid, room, sizeof(*more));

		if (!more)
			return -1;
		list->tid = more;
		list->room = room;
	}
	list->tid[list->n++] = tid;
	return 0;
}

static int process_by_tid(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

static int process_read_list(const struct perf_process *p, struct process_list *list, struct err *e)
{
	CLEANUP_CLOSE int fd = openat(p->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	list->n = 0;
	if (!dir)
		return err_set(e, errno == EMFILE ? EMFILE : ESRCH,
			"the threads of process %d cannot be listed: %s", (int)p->pid,
			err_name(errno));
	fd = -1;
	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
			process_list_add(list, (pid_t)strtol(entry->d_name, NULL, 10)) < 0)
			return err_set(e, ENOMEM, "ENOMEM: no memory for a list of threads");
	qsort(list->tid, list->n, sizeof(*list->tid), process_by_tid);
	return 0;
}

/* The number of threads of the process: the kernel gives its task directory a link for each, and
 * two more. */
static unsigned process_count_threads(const struct perf_process *p)
{
	struct stat st;

	return fstat(p->dir, &st) < 0 ? 0 : (unsigned)st.st_nlink - 2;
}

static bool process_list_has(const struct process_list *list, pid_t tid)
{
	return list->n && bsearch(&tid, list->tid, list->n, sizeof(tid), process_by_tid);
}

/*
 * Whether all threads of the process are in @before. A list that is read while threads end may be
 * incomplete, and so may @before; but then it has fewer threads than there were, unless it has a
 * new one.
 */
static int process_is_same(const struct perf_process *p, const struct process_list *before,
	struct process_list *now, struct err *e)
{
	unsigned n = process_count_threads(p);
	int rc = process_read_list(p, now, e);

	if (rc < 0)
		return rc;
	if (now->n < n)
		return 0;
	for (unsigned i = 0; i < now->n; i++)
		if (!process_list_has(before, now->tid[i]))
			return 0;
	return 1;
}

/* Closes the groups of threads that have ended since; their tids may belong to threads of other
 * processes by now. */
static void process_drop_ended(struct perf_process *p, const struct process_list *list)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < p->nthreads; i++) {
		if (process_list_has(list, p->threads[i].tid))
			p->threads[kept++] = p->threads[i];
		else
			process_close_thread(&p->threads[i]);
	}
	p->nthreads = kept;
}

/* --- Opening */

static int process_check_files(
	const struct perf_process *p, unsigned threads, unsigned max_files, struct err *e)
{
	unsigned each = p->nmembers + PROCESS_FILES;

	if (threads <= max_files / each)
		return 0;
	return err_set(e, EMFILE,
		"process %d now has %u threads, each of which needs %u descriptors, more than when "
		"it was loaded: unload, and load again",
		(int)p->pid, threads, each);
}

/* Returns 1 if all threads have groups, 0 to try again. */
static int process_try_open(struct perf_process *p, const struct perf_sources *src,
	unsigned max_files, struct process_list *before, struct process_list *now, struct err *e)
{
	int rc = process_read_list(p, before, e);

	if (rc == 0)
		rc = process_check_files(p, before->n, max_files, e);
	if (rc == 0)
		rc = process_open_threads(p, src, before, e);
	if (rc == 0)
		rc = process_is_same(p, before, now, e);
	if (rc == 1)
		process_drop_ended(p, now);
	else
		process_close(p);
	return rc;
}

/* Checks that the groups belong to the program that was loaded, and not to one executed since. */
static int process_check_reference(const struct perf_process *p, struct err *e)
{
	return perf_leader_check(perf_on_thread(atomic_load(p->tid)), p->reference, e);
}

int process_open(struct perf_process *p, const struct perf_sources *src,
	const struct process_member *members, unsigned n, unsigned max_files, struct err *e)
{
	__attribute__((cleanup(process_list_free))) struct process_list before = {0}, now = {0};
	uint64_t until = nsec_now(CLOCK_MONOTONIC) + PROCESS_TRIES_NS;
	unsigned tries = 0;
	int rc;

	process_close(p); /* groups of a start that has failed */
	p->nmembers = n;
	for (unsigned k = 0; k < n; k++)
		p->member[k] = members[k];
	do
		rc = process_try_open(p, src, max_files, &before, &now, e);
	while (rc == 0 && (++tries < PROCESS_TRIES || nsec_now(CLOCK_MONOTONIC) < until));
	if (rc == 0)
		return err_set(e, EAGAIN,
			"the threads of process %d come and go too fast to open them: try again, "
			"or load with follow instead of inherit",
			(int)p->pid);
	/* From now on, an execve() of the process removes its events if they may not count. */
	if (rc > 0)
		rc = process_check_reference(p, e);
	if (rc < 0)
		process_close(p);
	return rc;
}

/* --- Running and reading */

/* Starts or stops threads 0 to @n - 1; returns how many of them the kernel has started or
 * stopped. */
static unsigned process_run_first(struct perf_process *p, unsigned n, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	unsigned i = 0;

	while (i < n && ioctl(p->threads[i].leader, request, 0) == 0)
		i++;
	return i;
}

int process_run(struct perf_process *p, bool on, struct err *e)
{
	unsigned done = process_run_first(p, p->nthreads, on);

	if (done == p->nthreads)
		return 0;
	err_set(e, EIO, "the kernel refuses to %s the events: %s: load again",
		on ? "start" : "stop", err_name(errno));
	if (on)
		process_run_first(p, done, false);
	return -EIO;
}

static bool process_add(int fd, struct process_reading *r)
{
	struct process_reading one;

	if (read(fd, &one, sizeof(one)) != sizeof(one))
		return false;
	r->count += one.count;
	r->enabled += one.enabled;
	r->running += one.running;
	return true;
}

bool process_time(const struct perf_process *p, struct process_reading *r)
{
	*r = (struct process_reading){0};
	for (unsigned i = 0; i < p->nthreads; i++)
		if (!process_add(p->threads[i].leader, r))
			return false;
	return true;
}

bool process_count(const struct perf_process *p, uint64_t id, struct process_reading *r)
{
	unsigned k = 0;

	*r = (struct process_reading){0};
	while (k < p->nmembers && p->member[k].id != id)
		k++;
	for (unsigned i = 0; i < p->nthreads; i++)
		if (k == p->nmembers || !process_add(p->threads[i].member[k], r))
			return false;
	return true;
}

static void process_count_thread(const struct process_thread *t, struct thread_table *out)
{
	struct thread_value *v = &out->value[(size_t)out->n * out->ncounters];
	struct err ended;

	for (unsigned k = 0; k < t->n; k++) {
		struct process_reading r = {0};

		v[k].lost = !process_add(t->member[k], &r) || r.running != r.enabled;
		v[k].count = r.count;
	}
	out->thread[out->n].tid = t->tid;
	out->thread[out->n++].ended =
		perf_leader_check(process_target(t), t->leader, &ended) == -ESRCH;
}

int process_table(const struct perf_process *p, struct thread_table *out, struct err *e)
{
	if (!thread_table_init(out, p->nthreads, p->nmembers))
		return err_set(
			e, ENOMEM, "ENOMEM: no memory for the counts of %u threads", p->nthreads);
	for (unsigned k = 0; k < p->nmembers; k++)
		out->addr[k] = p->member[k].addr;
	for (unsigned i = 0; i < p->nthreads; i++)
		process_count_thread(&p->threads[i], out);
	return 0;
}

/* Maps the watch of the next thread. The one before it keeps its page until then, as long as there
 * is memory for both: rings of other targets could take it. */
static int process_map_watch(struct perf_process *p, struct process_thread *t, struct err *e)
{
	int rc = t->watch.page ? 0 : watch_map(&t->watch, t->leader, e);

	if (p->watched)
		watch_unmap(&t[-1].watch);
	return rc < 0 && p->watched ? watch_map(&t->watch, t->leader, e) : rc;
}

int process_watch(struct perf_process *p, struct err *e)
{
	for (; p->watched < p->nthreads; p->watched++) {
		struct process_thread *t = &p->threads[p->watched];

		if (process_map_watch(p, t, e) < 0)
			return -e->no;
		if (!watch_is_over(t->leader))
			return t->leader;
	}
	return err_set(e, ESRCH, "all threads have ended or have lost their events");
}
