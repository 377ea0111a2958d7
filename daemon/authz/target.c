// SPDX-License-Identifier: MIT
#include "daemon/authz/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "daemon/authz/identity.h"

#ifndef NS_GET_PID_FROM_PIDNS
#define NS_GET_PID_FROM_PIDNS _IOR(NSIO, 0x6, int) /* Linux 6.11 */
#endif

enum {
	TARGET_SEARCH_MAX = 4096, /* threads of the machine, each of which takes 20 us */
	TARGET_LISTED_MAX = 16,   /* threads of a process among which a living one is searched */
};

/* A thread by its id in a PID namespace. */
struct ns_pid {
	int ns; /* descriptor of the namespace */
	uint64_t id;
	unsigned level; /* below the daemon's namespace */
	pid_t number;
};

/* True if the PID namespace @up levels above the thread's is the one of @at. */
static bool target_in_ns(int dir, unsigned up, const struct ns_pid *at)
{
	struct err ignored;
	CLEANUP_CLOSE int ns = proc_ns_open(dir, "ns/pid", &ignored);

	while (ns >= 0 && up--) {
		int parent = proc_ns_parent(ns);

		close(ns);
		ns = parent;
	}
	return ns >= 0 && proc_ns_id(ns) == at->id;
}

static bool target_matches(int dir, const struct ns_pid *at)
{
	struct proc_status s;
	struct err ignored;

	return proc_status(dir, PROC_STATUS_SHORT, &s, &ignored) == 0 && s.depth > at->level &&
	       s.number[at->level] == at->number && target_in_ns(dir, s.depth - 1 - at->level, at);
}

/* Opens the directory of thread @tid if it is the thread @at; otherwise returns -1. */
static int target_open_if_matches(pid_t tid, const struct ns_pid *at)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	return dir >= 0 && target_matches(dir, at) ? take_fd(&dir) : -1;
}

/* The next name that is a number; 0: none. */
static pid_t target_next_number(DIR *d)
{
	struct dirent *entry;

	while ((entry = readdir(d)))
		if (isdigit((unsigned char)entry->d_name[0]))
			return (pid_t)strtol(entry->d_name, NULL, 10);
	return 0;
}

/* Lists all threads of the process to which thread @dir belongs. NULL: the process has ended. */
static DIR *target_list_process(int dir)
{
	CLEANUP_CLOSE int fd = openat(dir, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd < 0 ? NULL : fdopendir(fd);

	if (tasks)
		fd = -1;
	return tasks;
}

static int target_search_process(pid_t pid, const struct ns_pid *at)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(pid, &ignored);
	CLEANUP_CLOSEDIR DIR *tasks = NULL;
	struct proc_status s;
	pid_t tid;
	int found = -1;

	/* All threads of a process are in the same PID namespaces. */
	if (dir < 0 || proc_status(dir, PROC_STATUS_SHORT, &s, &ignored) < 0 ||
		s.depth <= at->level)
		return -1;
	tasks = target_list_process(dir);
	while (tasks && found < 0 && (tid = target_next_number(tasks)))
		found = target_open_if_matches(tid, at);
	return found;
}

/* The number of levels from the daemon's PID namespace down to @ns. */
static unsigned target_level(int ns)
{
	CLEANUP_CLOSE int up = proc_ns_parent(ns);
	unsigned n = 0;

	while (up >= 0) {
		int parent = proc_ns_parent(up);

		close(up);
		up = parent;
		n++;
	}
	return n;
}

static int target_search(const struct ns_pid *at)
{
	CLEANUP_CLOSEDIR DIR *proc = opendir("/proc");
	int found = -1;
	pid_t pid;

	while (proc && found < 0 && (pid = target_next_number(proc)))
		found = target_search_process(pid, at);
	return found;
}

/*
 * The search before Linux 6.11. It depends only on the number of threads on the machine whether
 * there are too many to search, so that a refusal reveals nothing about threads that are hidden
 * from the caller.
 */
static int target_search_old(int caller, const struct ns_pid *at, struct err *e)
{
	if (target_matches(caller, at))
		return fcntl(caller, F_DUPFD_CLOEXEC, 0);
	if (proc_threads() > TARGET_SEARCH_MAX)
		return err_set(e, EOPNOTSUPP,
			"Linux before 6.11 cannot translate ids of your PID namespace, and more "
			"than %d threads are too many to search: load from the daemon's PID "
			"namespace",
			TARGET_SEARCH_MAX);
	return target_search(at);
}

/* Opens thread @tid, unless the id was reused after the kernel's answer, which a second query
 * shows. A thread that has ended keeps its id, and its flags can be read, until it is waited for.
 */
static int target_open_number(const struct ns_pid *at, pid_t tid)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	if (dir < 0 || ioctl(at->ns, NS_GET_PID_FROM_PIDNS, (long)at->number) != tid ||
		proc_is_kernel(dir, &ignored) < 0)
		return -1;
	return take_fd(&dir);
}

static int target_find_in_ns(int caller, const struct ns_pid *at, struct err *e)
{
	int tid = ioctl(at->ns, NS_GET_PID_FROM_PIDNS, (long)at->number), dir = -1;

	if (tid >= 0)
		dir = target_open_number(at, tid);
	else if (errno != ESRCH)
		dir = target_search_old(caller, at, e);
	if (dir == -EOPNOTSUPP)
		return dir;
	return dir < 0 ? err_set(e, ESRCH,
				 "it does not exist in your PID namespace: choose one from "
				 "/proc/PID/task there")
		       : dir;
}

/* @dir: the directory of the caller. */
static int target_find_from(int dir, pid_t tid, struct err *e)
{
	CLEANUP_CLOSE int ns = proc_ns_open(dir, "ns/pid", e);

	if (ns < 0)
		return ns;
	return target_find_in_ns(
		dir, &(struct ns_pid){ns, proc_ns_id(ns), target_level(ns), tid}, e);
}

static int target_find(pid_t caller, pid_t tid, struct err *e)
{
	CLEANUP_CLOSE int dir = -1;

	if (tid <= 0)
		return err_set(e, ESRCH, "thread ids begin at 1: see /proc/PID/task");
	dir = proc_open(caller, e);
	if (dir < 0)
		return err_prefix(e, "the caller, thread %d", (int)caller);
	return identity_in_our_pid_ns(dir) ? proc_open(tid, e) : target_find_from(dir, tid, e);
}

static int target_read(int dir, struct target *t, struct err *e)
{
	struct identity is;
	int rc = identity_of(dir, &is, e);

	if (rc == 0)
		rc = proc_is_kernel(dir, e);
	if (rc < 0)
		return rc;
	if (rc)
		return err_set(
			e, EPERM, "%s is a kernel thread: load on a CPU to count it", is.name);
	if (is.tgid == getpid())
		return err_set(e, EINVAL,
			"this is the daemon, which cannot follow itself: choose another thread");
	t->tid = is.tid;
	t->tgid = is.tgid;
	t->began = proc_began(dir);
	return proc_alive(dir, e);
}

int target_hide(pid_t caller, pid_t named, struct err *e)
{
	struct credentials cred;
	struct err ignored;
	int rc;

	if (credentials_of(caller, &cred, &ignored) < 0)
		return -e->no;
	rc = credentials_hide(&cred, named, e);
	credentials_drop(&cred);
	return rc;
}

/* Refuses thread @tid; as an absent one, if /proc hides threads from the caller. */
static int target_refuse(pid_t caller, pid_t tid, struct err *e)
{
	err_prefix(e, "thread %d", (int)tid);
	return e->no == EOPNOTSUPP ? -e->no : target_hide(caller, tid, e);
}

int target_open(pid_t caller, pid_t tid, struct target *out, struct err *e)
{
	CLEANUP_CLOSE int dir = target_find(caller, tid, e);
	int rc = dir < 0 ? dir : target_read(dir, out, e);

	out->named = tid;
	out->dir = rc == 0 ? take_fd(&dir) : -1;
	return rc == 0 ? 0 : target_refuse(caller, tid, e);
}

/* Ended threads in the list are those that their tracer has not waited for. */
static int target_find_living(int first, struct target *out, struct err *e)
{
	CLEANUP_CLOSEDIR DIR *tasks = target_list_process(first);
	char name[16];
	pid_t tid;

	for (int n = 0; tasks && n < TARGET_LISTED_MAX && (tid = target_next_number(tasks)); n++) {
		CLEANUP_CLOSE int dir = -1;

		snprintf(name, sizeof(name), "%d", (int)tid);
		dir = openat(dirfd(tasks), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir >= 0 && target_read(dir, out, e) == 0)
			return take_fd(&dir);
	}
	return err_set(e, ESRCH, "its process has ended: choose one that ps -e shows");
}

int target_open_process(pid_t caller, pid_t pid, struct target *out, struct err *e)
{
	CLEANUP_CLOSE int dir = target_find(caller, pid, e);
	int rc;

	*out = (struct target){.named = pid, .dir = -1};
	rc = dir < 0 ? dir : target_read(dir, out, e);
	if (rc == 0) {
		out->dir = take_fd(&dir);
		return 0;
	}
	if (rc == -ESRCH && dir >= 0 && out->tid == out->tgid) {
		out->dir = target_find_living(dir, out, e);
		out->first_ended = out->dir >= 0;
	}
	return out->first_ended ? 0 : target_refuse(caller, pid, e);
}

void target_close(struct target *t)
{
	cleanup_close(&t->dir);
}

unsigned target_threads(const struct target *t)
{
	struct stat st;

	/* Two links belong to the directory itself, and one to each thread. */
	return fstatat(t->dir, "..", &st, 0) < 0 ? 0 : (unsigned)st.st_nlink - 2;
}

int target_alive(const struct target *t, struct err *e)
{
	int rc = proc_alive(t->dir, e);

	return rc < 0 ? err_prefix(e, "thread %d", (int)t->named) : 0;
}
