/* SPDX-License-Identifier: MIT */
/*
 * Ids and capabilities of a thread. /proc/TID/status has them, too, but the kernel also prints all
 * supplementary groups there, which takes 16 ms for 65536, and any user can have as many. So since
 * Linux 6.13 they are read one by one, which takes the same time for every thread.
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

/* Reads the identity of the thread whose directory in /proc is @dir. Errors: those of proc.h;
 * EFBIG: before Linux 6.13, the thread has too many groups for its ids to be read in a short time.
 */
int identity_of(int dir, struct identity *out, struct err *e);

/* Opens a pidfd of a thread, which keeps referring to that thread. Negative: the thread has ended,
 * or Linux is older than 6.9. */
int identity_open(pid_t tid);
/* Gets the real user id of the thread in one system call. False: the thread has ended, or Linux is
 * older than 6.13. */
bool identity_real_uid(int pidfd, uid_t *uid);

/* Compares everything except the names. */
bool identity_same(const struct identity *a, const struct identity *b);

/* Returns no capabilities if they cannot be read. */
struct capabilities capabilities_of(pid_t tid);

/* The thread's PID namespace is the daemon's. */
bool identity_in_our_pid_ns(int dir);

#endif
