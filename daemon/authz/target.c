// SPDX-License-Identifier: MIT
#include "daemon/track/target.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "daemon/track/proc.h"

#ifndef NS_GET_PID_FROM_PIDNS
#define NS_GET_PID_FROM_PIDNS _IOR(NSIO, 0x6, int) /* Linux 6.11 */
#endif

/* Where a number has its meaning: the process namespace that is the @level-th below ours. */
struct place {
	int ns;
	uint64_t id;
	unsigned level;
	pid_t number;
};

/* Is the namespace @up levels above that of the thread the place? */
static bool within(int dir, unsigned up, const struct place *at)
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

static bool is_there(int dir, const struct place *at)
{
	struct proc_status s;
	struct err ignored;

	return proc_status(dir, &s, &ignored) == 0 && s.depth > at->level &&
	       s.number[at->level] == at->number && within(dir, s.depth - 1 - at->level, at);
}

/* Its directory, if that is the thread; -1. */
static int open_if_there(pid_t tid, const struct place *at)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(tid, &ignored);

	return dir >= 0 && is_there(dir, at) ? take_fd(&dir) : -1;
}

/* The next name in a directory that is a number; 0 at its end. */
static pid_t next_number(DIR *d)
{
	struct dirent *entry;

	while ((entry = readdir(d)))
		if (isdigit((unsigned char)entry->d_name[0]))
			return (pid_t)strtol(entry->d_name, NULL, 10);
	return 0;
}

static int search_process(pid_t pid, const struct place *at)
{
	struct err ignored;
	CLEANUP_CLOSE int dir = proc_open(pid, &ignored);
	CLEANUP_CLOSEDIR DIR *tasks = NULL;
	struct proc_status s;
	pid_t tid;
	int found = -1, fd;

	/* Threads of a process are all in the same namespaces. */
	if (dir < 0 || proc_status(dir, &s, &ignored) < 0 || s.depth <= at->level)
		return -1;
	fd = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	tasks = fd < 0 ? NULL : fdopendir(fd);
	while (tasks && found < 0 && (tid = next_number(tasks)))
		found = open_if_there(tid, at);
	return found;
}

static int search(const struct place *at)
{
	CLEANUP_CLOSEDIR DIR *proc = opendir("/proc");
	int found = -1;
	pid_t pid;

	while (proc && found < 0 && (pid = next_number(proc)))
		found = search_process(pid, at);
	return found;
}

/* What is found by asking the kernel is looked at as well: the number may be another's by then. */
static int find_elsewhere(const struct place *at, struct err *e)
{
	int tid = ioctl(at->ns, NS_GET_PID_FROM_PIDNS, (long)at->number), dir = -1;

	if (tid >= 0)
		dir = open_if_there(tid, at);
	else if (errno != ESRCH)
		dir = search(at);
	return dir < 0 ? err_set(e, ESRCH,
				 "your PID namespace has none of this number: take one from "
				 "/proc/PID/task there")
		       : dir;
}

static int find(pid_t caller, pid_t tid, struct err *e)
{
	CLEANUP_CLOSE int dir = -1;
	CLEANUP_CLOSE int ns = -1;
	struct proc_status s;
	int rc;

	if (tid <= 0)
		return err_set(e, ESRCH, "threads have numbers from 1 on: see /proc/PID/task");
	dir = proc_open(caller, e);
	rc = dir < 0 ? dir : proc_status(dir, &s, e);
	if (rc < 0)
		return err_prefix(e, "the caller, thread %d", (int)caller);
	if (s.depth <= 1)
		return proc_open(tid, e);
	ns = proc_ns_open(dir, "ns/pid", e);
	if (ns < 0)
		return err_prefix(e, "the caller, thread %d", (int)caller);
	return find_elsewhere(&(struct place){ns, proc_ns_id(ns), s.depth - 1, tid}, e);
}

static int look(int dir, struct target *t, struct err *e)
{
	struct proc_status s;
	int rc = proc_status(dir, &s, e);

	if (rc == 0)
		rc = proc_is_kernel(dir, e);
	if (rc < 0)
		return rc;
	if (rc)
		return err_set(e, EPERM,
			"%s is a thread of the kernel: load on a CPU to count what it does",
			s.name);
	if (s.tgid == getpid())
		return err_set(e, EINVAL, "this is the daemon itself, which cannot follow itself");
	t->tid = s.tid;
	t->tgid = s.tgid;
	return proc_alive(dir, e);
}

int target_open(pid_t caller, pid_t tid, struct target *out, struct err *e)
{
	CLEANUP_CLOSE int dir = find(caller, tid, e);
	int rc = dir < 0 ? dir : look(dir, out, e);

	out->named = tid;
	out->dir = rc == 0 ? take_fd(&dir) : -1;
	return rc < 0 ? err_prefix(e, "thread %d", (int)tid) : 0;
}

void target_close(struct target *t)
{
	cleanup_close(&t->dir);
}

int target_alive(const struct target *t, struct err *e)
{
	int rc = proc_alive(t->dir, e);

	return rc < 0 ? err_prefix(e, "thread %d", (int)t->named) : 0;
}
