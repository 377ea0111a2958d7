/* SPDX-License-Identifier: MIT */
/* Going into the background, and telling the parent process and systemd when the daemon serves. */
#ifndef DAEMON_BACKGROUND_H
#define DAEMON_BACKGROUND_H

#include <stdint.h>

#include "base/err.h"

struct background {
	/* The pipe to the parent process, which waits; -1: in the foreground. */
	int pipe;
};

/* Forks; returns in the child only. The parent exits when the child calls background_ready(), or
 * ends: with status 0 or 1. */
int background_fork(struct background *b, struct err *e);

/* Reports that the daemon serves. @background: a struct background. */
void background_ready(void *background);
/* Reports to systemd that the daemon is alive. */
void background_alive(void);
/* How often systemd expects background_alive() from this process (ns); 0: never. */
uint64_t background_watchdog_ns(void);

#endif
