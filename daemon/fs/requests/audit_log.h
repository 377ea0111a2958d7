/* SPDX-License-Identifier: MIT */
/*
 * Sends lines to the system's log, as datagrams to its socket. A send never waits: a line that the
 * log does not take at once is dropped and counted. Each datagram is addressed by the socket's
 * path, so a log that starts later or is restarted gets the next line. Any thread.
 */
#ifndef FS_AUDIT_LOG_H
#define FS_AUDIT_LOG_H

#include <stdint.h>

#include "base/err.h"
#include "daemon/fs/tree/user_quota.h"

enum {
	/* Limits of lines per second and of lines at once, for one user and for all users; root's
	 * are not limited. */
	AUDIT_USER_RATE = 10,
	AUDIT_USER_BURST = 20,
	AUDIT_ALL_RATE = 100,
	AUDIT_ALL_BURST = 200,
};

struct audit_log;

/* ENOMEM. @path need not exist. */
int audit_log_new(const char *path, struct audit_log **out, struct err *e);
/* @l may be NULL. */
void audit_log_free(struct audit_log *l);

/* Sends @text with the syslog priority @priority at @now (CLOCK_MONOTONIC, ns), if @rate allows it;
 * NULL means no limit. The user's next line tells how many were suppressed. */
void audit_log_send(
	struct audit_log *l, struct audit_rate *rate, uint64_t now, int priority, const char *text);

/* Lines that the log did not take, and lines over a limit. */
unsigned long long audit_log_dropped(struct audit_log *l);
unsigned long long audit_log_suppressed(struct audit_log *l);

#endif
