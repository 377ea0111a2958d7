/* SPDX-License-Identifier: MIT */
/*
 * The thread that is to be monitored, and whether somebody may: as the kernel would decide for
 * ptrace (PTRACE_MODE_ATTACH_REALCREDS), by his credentials and never by those of the daemon. Of
 * security modules, Yama is asked as well; what AppArmor, SELinux, Smack and Landlock would say
 * cannot be seen from here.
 *
 * The daemon needs CAP_SYS_PTRACE for it, and must be in the user namespace that the machine
 * started with (which BPF takes anyway): elsewhere it cannot tell users apart that are not mapped.
 */
#ifndef TRACK_TARGET_H
#define TRACK_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Somebody's credentials, as far as they matter here; they stay when he has gone. */
struct credentials {
	pid_t tid, tgid;
	uid_t uid, euid;               /* real and effective */
	gid_t gid;                     /* real */
	uint64_t permitted, effective; /* capabilities, */
	uint64_t user_ns;              /* in this namespace (its inode number) */
	/* Open, so that neither number is given to another; -1 when there is none to hold. */
	int process;      /* his process: its directory in /proc */
	int held_user_ns; /* unless it is ours, which stays */
};

/* ESRCH: he has gone. */
int credentials_of(pid_t tid, struct credentials *out, struct err *e);
void credentials_drop(struct credentials *c); /* once */
/* He may trace any thread, whatever it becomes. */
bool credentials_trace_all(const struct credentials *c);

struct target {
	pid_t tid, tgid; /* as the daemon sees them */
	pid_t named;     /* the number that it was asked for by: the one to tell the caller of */
	int dir;         /* its directory in /proc: that thread's as long as it is open, though the
			    number may be another's by then */
};

/*
 * Finds the thread that has the number @tid for the thread @caller, in whose process namespace
 * that may be another one than in ours. ESRCH: there is none; EPERM: a thread of the kernel;
 * EINVAL: the daemon's own. Threads of another namespace are looked up by a search of all of /proc
 * before Linux 6.11: that takes 20 us for each thread of the machine.
 */
int target_open(pid_t caller, pid_t tid, struct target *out, struct err *e);
void target_close(struct target *t); /* once, or with dir -1 */

/* ESRCH once it has ended, even if nobody has waited for it yet. */
int target_alive(const struct target *t, struct err *e);

/* When @who asks: EPERM: he may not trace it; ESRCH; EAGAIN: it is just changing what it is. */
int target_check(const struct target *t, const struct credentials *who, struct err *e);

/*
 * When it has executed another program, long after he asked: by his credentials alone. That it was
 * of his own process does not count any more, for a set-user-id program is not his; and what Yama
 * demands (that it descends from him, who may have gone) is not asked of a tracer twice by the
 * kernel either. A number that changed by executing is another target: open that one.
 */
int target_check_again(const struct target *t, const struct credentials *who, struct err *e);

#endif
