/* SPDX-License-Identifier: MIT */
/*
 * Reading /proc, for the whole daemon. Reads by the open directory of a thread are about that
 * thread: once it has been waited for, they fail with ESRCH, even if another thread has its id by
 * then. At most PROC_FILE_MAX bytes of a file are read.
 */
#ifndef AUTHZ_PROC_H
#define AUTHZ_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

/* A status holds up to 65536 supplementary groups of 11 bytes. Each time such a status is opened,
 * its first read takes the kernel 16 ms; with PROC_STATUS_SHORT bytes, half a millisecond. */
enum { PROC_FILE_MAX = 1 << 20, PROC_STATUS_SHORT = 32768 };

/* The kernel nests up to 32 PID namespaces below the first one, and up to 32 user namespaces. */
enum { PROC_NS_MAX = 33 };

enum { PROC_REAL, PROC_EFFECTIVE, PROC_SAVED, PROC_IDS };

/* /proc/TID/status. */
struct proc_status {
	char name[64]; /* which the program chooses */
	pid_t tid, tgid;
	pid_t parent, tracer;      /* 0: none, or in another PID namespace */
	pid_t number[PROC_NS_MAX]; /* its tid in each PID namespace, beginning with the daemon's */
	unsigned depth;            /* of number[]; 0: the kernel has no PID namespaces */
	uid_t uid[PROC_IDS];
	gid_t gid[PROC_IDS];
	uint64_t permitted, effective; /* capabilities */
};

struct proc_user_ns {
	uint64_t id; /* inode number; 0: the kernel has no user namespaces */
	uid_t owner; /* effective uid of its creator, in the parent namespace; not set for the
			daemon's own */
};

/* Opens /proc/TID/task/TID, or a file like "ns/pid" in such a directory. Returns a descriptor or
 * -errno. */
int proc_open(pid_t tid, struct err *e);
int proc_ns_open(int dir, const char *ns, struct err *e);

int proc_ns_parent(int ns); /* a descriptor or -errno; EPERM: @ns is the daemon's */
uint64_t proc_ns_id(int ns);

/* Reads a status. EFBIG: it has more than @most bytes. */
int proc_status(int dir, size_t most, struct proc_status *out, struct err *e);

/* The text of /proc/TID/status, which the caller frees; and what follows @key there, or "". */
int proc_status_text(int dir, char **text, struct err *e);
const char *proc_after(const char *text, const char *key);

/* The owner of the thread's files: its effective ids if it is dumpable, else a root. (The directory
 * itself always belongs to the effective ids.) */
int proc_owner(int dir, struct stat *st, struct err *e);

/* The thread's user namespace, and all that contain it up to the daemon's. */
int proc_user_ns(int dir, struct proc_user_ns out[PROC_NS_MAX], unsigned *n, struct err *e);

/* False if @map, "uid_map" or "gid_map", certainly does not map 0 to @id. Without a mapping of 0,
 * it counts as mapped to the daemon's root. */
bool proc_may_be_root(int dir, const char *map, unsigned id);

/* The thread's id in the daemon's PID namespace, and its name. */
int proc_name(int dir, pid_t *tid, char name[64], struct err *e);

/* 1: it is a kernel thread; 0: it is not. */
int proc_is_kernel(int dir, struct err *e);

/* The thread's CPU time (ns), up to the last tick while it runs; 0: not known. */
uint64_t proc_runtime(int dir);

/* 0: alive; ESRCH: the thread will execute nothing in user mode any more, though it may still be
 * visible. */
int proc_alive(int dir, struct err *e);

/* When the thread began, in ticks (_SC_CLK_TCK) since boot: differs between successive threads with
 * the same id. 0: not known. */
uint64_t proc_began(int dir);

/* The CPU on which the thread runs, or ran last; 0 if that is not known. */
unsigned proc_cpu(int dir);

/* False if there is no such thread. */
bool proc_is_zombie(pid_t tid);
/* Thread @tid is one of process @pid. */
bool proc_is_thread_of(pid_t tid, pid_t pid);

/* RLIMIT_MEMLOCK (bytes) of a process; UINT64_MAX: unlimited; 0: unknown. Read from /proc, as
 * prlimit() of another process takes a capability that the daemon drops. */
uint64_t proc_memlock(pid_t pid);

/* True if the thread does not see all processes, as its /proc is, or may be, mounted with hidepid.
 */
bool proc_hides(int dir);

/* The number of threads of the whole machine; UINT_MAX: not known. */
unsigned proc_threads(void);

/* kernel.yama.ptrace_scope; 0 without Yama. */
int proc_yama_scope(void);

#endif
