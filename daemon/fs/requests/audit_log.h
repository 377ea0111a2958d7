/* SPDX-License-Identifier: MIT */
/*
 * Lines to the system's log, by datagrams to its socket. A send never waits: a line that the log
 * does not take at once is dropped and counted. Each datagram names the socket, so a log that
 * starts later, or again, gets the next line. Any thread.
 */
#ifndef FS_AUDIT_LOG_H
#define FS_AUDIT_LOG_H

#include <stdint.h>

#include "base/err.h"
#include "daemon/fs/tree/user_quota.h"

enum {
	/* Lines a second, and at once, of one user and of all users; root's are not counted. */
	AUDIT_USER_RATE = 10,
	AUDIT_USER_BURST = 20,
	AUDIT_ALL_RATE = 100,
	AUDIT_ALL_BURST = 200,
};

struct audit_log;

/* ENOMEM. @path need not exist. */
int audit_log_new(const char *path, struct audit_log **out, struct err *e);
/* NULL is fine. */
void audit_log_free(struct audit_log *l);

/* Sends @text, of syslog's @priority, at @now (CLOCK_MONOTONIC, ns), if @rate allows it; NULL: it
 * is not limited. The user's next line tells how many were suppressed. */
void audit_log_send(
	struct audit_log *l, struct audit_rate *rate, uint64_t now, int priority, const char *text);

/* Lines that the log did not take, and lines over a limit. */
unsigned long long audit_log_dropped(struct audit_log *l);
unsigned long long audit_log_suppressed(struct audit_log *l);

#endif
