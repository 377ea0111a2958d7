/* SPDX-License-Identifier: MIT */
/*
 * The thread to be monitored, and whether a user may monitor it. This is decided as the kernel does
 * for ptrace (PTRACE_MODE_ATTACH_REALCREDS), by the credentials of the user's thread and never by
 * the daemon's. Of security modules, only Yama is taken into account: what AppArmor, SELinux, Smack
 * and Landlock would say is not visible.
 *
 * The daemon needs CAP_SYS_PTRACE, and must be in the initial user namespace (which BPF requires
 * anyway): in another one, users that are not mapped there look alike.
 *
 * Functions that read /proc are for the workqueue: before Linux 6.13, a read may take 16 ms.
 */
#ifndef AUTHZ_TARGET_H
#define AUTHZ_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/core/request.h"

/* Credentials of a requester. They remain valid when its thread has exited. */
struct credentials {
	pid_t tid, tgid;
	uid_t uid, euid;               /* real and effective */
	gid_t gid;                     /* real */
	uint64_t permitted, effective; /* capabilities in user_ns */
	uint64_t user_ns;              /* inode number */
	bool elsewhere;                /* in another user namespace than the daemon */
	/* Descriptors, until credentials_drop(); -1 after it. */
	int process;    /* the process's directory in /proc, to notice when tgid is reused */
	int user_ns_fd; /* keeps user_ns from being reused; -1: the daemon's namespace */
};

/* ESRCH: the thread is gone. */
int credentials_of(pid_t tid, struct credentials *out, struct err *e);
/* Removes from @c the capabilities that @opener does not have. EPERM: they are in different user
 * namespaces, where capabilities cannot be compared. */
int credentials_limit(struct credentials *c, const struct capabilities *opener, struct err *e);
/*
 * Closes the descriptors. target_check_again() needs none for a thread that has passed it before,
 * nor for threads and processes that such a thread creates. They are in the requester's user
 * namespace or in one within it, which no thread can leave outwards, so that namespace exists as
 * long as they live.
 */
void credentials_drop(struct credentials *c);
/* Replaces @e with ESRCH if /proc hides processes from the requester, so that a hidden thread
 * @named looks like an absent one. Returns -e->no. */
int credentials_hide(const struct credentials *c, pid_t named, struct err *e);
/* credentials_hide() for thread @caller. */
int target_hide(pid_t caller, pid_t named, struct err *e);
/* The requester may trace any thread, whatever it executes. */
bool credentials_trace_all(const struct credentials *c);

struct target {
	pid_t tid, tgid;  /* in the daemon's PID namespace */
	pid_t named;      /* the id that the caller used, for messages */
	int dir;          /* its directory in /proc, which stays valid if the id is reused */
	bool first_ended; /* @named is its process, whose first thread has ended */
	uint64_t began;   /* as proc_began() */
};

/*
 * Finds the thread that has the id @tid in the PID namespace of thread @caller. ESRCH: there is
 * none, or /proc hides it from the caller; EPERM: a kernel thread; EINVAL: the daemon's own.
 * EOPNOTSUPP: before Linux 6.11, finding any thread except the caller in another namespace takes a
 * search of /proc, which is refused if the machine has thousands of threads.
 */
int target_open(pid_t caller, pid_t tid, struct target *out, struct err *e);
/* Finds the first thread of process @pid, or another one if that has ended. Errors: those of
 * target_open(). */
int target_open_process(pid_t caller, pid_t pid, struct target *out, struct err *e);
/* Closes a target, which may have dir -1. */
void target_close(struct target *t);

/* ESRCH once it has ended, even if it has not been waited for. */
int target_alive(const struct target *t, struct err *e);

/* How many threads its process has; 0: not known. */
unsigned target_threads(const struct target *t);

/* The check at load. EPERM: @cred may not trace the thread; ESRCH; EAGAIN: it is executing another
 * program. */
int target_check(const struct target *t, const struct credentials *cred, struct err *e);

/*
 * The check after an exec, by credentials alone. It no longer matters that the target is in the
 * requester's own process, as a set-user-ID program is not the requester's. Yama, which demands
 * that the target descends from the requester, is not consulted again: the kernel does not consult
 * it twice about a tracer, either. A thread whose id the exec has changed is another target: open
 * that one.
 */
int target_check_again(const struct target *t, const struct credentials *cred, struct err *e);

#endif
