/* SPDX-License-Identifier: MIT */
/*
 * The thread to be monitored, and whether a user may: as the kernel decides for ptrace
 * (PTRACE_MODE_ATTACH_REALCREDS), by the credentials of the user's thread and never by the
 * daemon's. Of security modules, Yama is asked as well; what AppArmor, SELinux, Smack and Landlock
 * would say is not visible.
 *
 * The daemon needs CAP_SYS_PTRACE, and must be in the initial user namespace (which BPF requires
 * anyway): in another one, users that are not mapped there look alike.
 *
 * What reads /proc is for works of a workqueue: before Linux 6.13, a reading may take 16 ms.
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
	/* Until credentials_drop(); -1 then. */
	int process;    /* descriptor of the process in /proc, to notice when tgid is reused */
	int user_ns_fd; /* keeps the inode number from being reused; -1: the daemon's namespace */
};

/* ESRCH: the thread is gone. */
int credentials_of(pid_t tid, struct credentials *out, struct err *e);
/* Leaves @c only the capabilities that @opener has, too. EPERM: they are in different user
 * namespaces, where capabilities cannot be compared. */
int credentials_limit(struct credentials *c, const struct capabilities *opener, struct err *e);
/*
 * Closes the descriptors. target_check_again() needs none for a thread that has passed it before,
 * and for what that creates: these are in the requester's user namespace or in one within, which no
 * thread can leave outwards, so that it exists as long as they live.
 */
void credentials_drop(struct credentials *c);
/* Replaces @e if /proc hides processes from the requester: then a thread @named that is hidden
 * fails as one that is absent, ESRCH. Returns -e->no. */
int credentials_hide(const struct credentials *c, pid_t named, struct err *e);
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
 * EOPNOTSUPP: before Linux 6.11, finding another thread than the caller in another namespace takes
 * a search of /proc, which is not begun if the machine has thousands of threads.
 */
int target_open(pid_t caller, pid_t tid, struct target *out, struct err *e);
/* The same for the first thread of process @pid; another one if that has ended. */
int target_open_process(pid_t caller, pid_t pid, struct target *out, struct err *e);
/* For an open target, or one with dir -1. */
void target_close(struct target *t);

/* ESRCH once it has ended, even if it has not been waited for. */
int target_alive(const struct target *t, struct err *e);

/* How many threads its process has; 0: not known. */
unsigned target_threads(const struct target *t);

/* At load. EPERM: @cred may not trace it; ESRCH; EAGAIN: it is executing another program. */
int target_check(const struct target *t, const struct credentials *cred, struct err *e);

/*
 * After an exec, by credentials alone. That the target is in the requester's own process does not
 * count any more, as a set-user-ID program is not the requester's; and Yama, which demands that it
 * descends from the requester, is not asked of a tracer twice by the kernel either. A thread whose
 * id the exec has changed is another target: open that one.
 */
int target_check_again(const struct target *t, const struct credentials *cred, struct err *e);

#endif
