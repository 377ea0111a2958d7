/* SPDX-License-Identifier: MIT */
/*
 * The thread that is to be monitored, and whether somebody may: as the kernel would decide for
 * ptrace (PTRACE_MODE_ATTACH_REALCREDS), by his credentials and never by those of the daemon.
 */
#ifndef TRACK_TARGET_H
#define TRACK_TARGET_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Somebody's credentials, as far as they matter here; they stay when he has gone. */
struct credentials {
	pid_t tid, tgid;
	uid_t uid; /* real, as the group */
	gid_t gid;
	uint64_t permitted, effective; /* capabilities, */
	uint64_t user_ns;              /* in this namespace (its inode number) */
	uint64_t user_ns_above[32];    /* those that contain it, the next one first; */
	unsigned nabove;               /* so many */
};

/* -ESRCH: he has gone. */
int credentials_of(pid_t tid, struct credentials *out, struct err *e);

struct target {
	pid_t tid, tgid; /* as the daemon sees them */
	int dir;         /* its directory in /proc: that thread's as long as it is open, though the
			    number may be another's by then */
};

/*
 * Finds the thread that has the number @tid for the thread @caller, in whose process namespace
 * that may be another one than in ours. ESRCH: there is none; EINVAL: the daemon's own, or a thread
 * of the kernel.
 */
int target_open(pid_t caller, pid_t tid, struct target *out, struct err *e);
void target_close(struct target *t); /* once, or all zero with dir -1 */

/* -ESRCH once it has ended. */
int target_alive(const struct target *t, struct err *e);

/* EPERM: @who may not trace it; ESRCH. Ask again when it has executed another program. */
int target_check(const struct target *t, const struct credentials *who, struct err *e);

/* The CPUs that it may run on. */
int target_cpus(const struct target *t, cpu_set_t *out, struct err *e);

#endif
