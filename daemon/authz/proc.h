/* SPDX-License-Identifier: MIT */
/*
 * What /proc tells of a thread. All of it is read relative to the thread's open directory, which
 * stays that thread's: once it has been waited for, nothing can be read there any more (ESRCH), no
 * matter who has its number by then.
 */
#ifndef TRACK_PROC_H
#define TRACK_PROC_H

#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* The kernel's limit of nesting is 32 below the first, for both kinds of namespaces. */
enum { PROC_NS_MAX = 33 };

enum { PROC_REAL, PROC_EFFECTIVE, PROC_SAVED, PROC_IDS };

struct proc_status {
	char name[64];                   /* fit for a sentence */
	pid_t tid, tgid, parent, tracer; /* the last two: 0, nobody that we know of */
	pid_t number[PROC_NS_MAX]; /* its tid in each process namespace, from ours to its own */
	unsigned depth;            /* so many; 0 if the kernel is built without them */
	uid_t uid[PROC_IDS];
	gid_t gid[PROC_IDS];
	uint64_t permitted, effective;
};

struct proc_user_ns {
	uint64_t id; /* its inode number; 0 if the kernel is built without them */
	uid_t owner; /* the effective uid that made it, in the next one; not told of ours */
};

/* Descriptors, or -errno. */
int proc_open(pid_t tid, struct err *e);
int proc_ns_open(int dir, const char *ns, struct err *e); /* ns: a file, like "ns/pid" */

int proc_ns_parent(int ns); /* -errno; EPERM: it is ours */
uint64_t proc_ns_id(int ns);

/* Does not set @out's padding, so that two that were zero before can be compared. */
int proc_status(int dir, struct proc_status *out, struct err *e);

/* Whose its files are. Not its directory: that is always the effective user's. */
int proc_owner(int dir, struct stat *st, struct err *e);

/* Its user namespace and all that contain it, up to and with ours. */
int proc_user_ns(int dir, struct proc_user_ns out[PROC_NS_MAX], unsigned *n, struct err *e);

/* 1, 0. */
int proc_is_kernel(int dir, struct err *e);

/* 0; ESRCH: it will execute nothing in user mode any more, though it may not be gone yet. */
int proc_alive(int dir, struct err *e);

#endif
