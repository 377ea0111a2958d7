/* SPDX-License-Identifier: MIT */
/*
 * Ids and capabilities of a thread. /proc/TID/status has them, too, but the kernel prints all
 * supplementary groups with them, 16 ms for 65536, which any user can have. So since Linux 6.13
 * they are asked for one by one, which takes the same time for every thread.
 */
#ifndef AUTHZ_IDENTITY_H
#define AUTHZ_IDENTITY_H

#include "daemon/authz/proc.h"
#include "daemon/core/request.h"

struct identity {
	char name[64]; /* which the program chooses */
	pid_t tid, tgid;
	pid_t parent; /* 0: none, or in another PID namespace */
	uid_t uid[PROC_IDS];
	gid_t gid[PROC_IDS];
	uint64_t permitted, effective; /* capabilities */
	enum { DUMPABLE_UNKNOWN, DUMPABLE_NO, DUMPABLE_YES } dumpable;
};

/* Of the thread whose directory in /proc is @dir; errors are those of proc.h. EFBIG: before Linux
 * 6.13, it has too many groups for its ids to be read in a short time. */
int identity_of(int dir, struct identity *out, struct err *e);

/* A pidfd of a thread, which stays with it; negative: it has ended, or before Linux 6.9. */
int identity_open(pid_t tid);
/* Real user id of its thread, in one system call. False: it has ended, or before Linux 6.13. */
bool identity_real_uid(int pidfd, uid_t *uid);

/* All but the names. */
bool identity_same(const struct identity *a, const struct identity *b);

/* None if it cannot be read. */
struct capabilities capabilities_of(pid_t tid);

/* The thread's PID namespace is the daemon's. */
bool identity_in_our_pid_ns(int dir);

#endif
