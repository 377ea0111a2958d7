/* SPDX-License-Identifier: MIT */
/* The monitored command, from its first instruction to its end. */
#ifndef TOOLS_PFM_STAT_LAUNCH_H
#define TOOLS_PFM_STAT_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/err.h"

struct launch {
	pid_t pid;  /* 0: none */
	int pidfd;  /* readable when it has ended; -1 */
	int start;  /* a socket to it, while it has not executed its program; -1 */
	int status; /* of wait4(), once it is reaped */
	bool reaped;
	int exec_no;               /* errno of an execution that failed; launch_end() leaves it */
	struct rusage usage;       /* of it, and of the processes that it waited for */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC: launch_continue() and the end */
};

#define LAUNCH_NONE                                                                                \
	{                                                                                          \
		.pidfd = -1, .start = -1                                                           \
	}

/* Makes the process of the command, which waits until it is to execute @argv with the signal mask
 * @mask. It is killed if this process ends before it. */
int launch_waiting(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e);

/*
 * Has a waiting command execute @name and leaves it stopped before its first instruction: no
 * instruction of this process is executed in it any more. Returns 0; -ENOENT: there is no such
 * command; -EACCES and others: it cannot be executed; -EPERM: it would gain privileges, which it
 * cannot for this user while it is counted.
 */
int launch_stop(struct launch *l, const char *name, struct err *e);

/* Both: its process is stopped before the first instruction. */
int launch_stopped(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e);

/* The program that execvp() finds by @name exists, and gains no privileges: perf events that count
 * its process go on when it is executed. */
bool launch_is_plain(const char *name);

/* Lets it run. If it was waiting, it executes its program; launch_check() tells, after its end,
 * whether that failed. This process does not wait for that, as to wake up could take the command's
 * CPU from it. */
void launch_continue(struct launch *l);
/* Errors as of launch_stop(). */
int launch_check(const struct launch *l, const char *name, struct err *e);

/* Waits for its end. */
void launch_wait(struct launch *l);

/* Kills it, if it has not ended, and waits for that. */
void launch_end(struct launch *l);

/* The exit status that it gives to pfm. */
int launch_exit_status(const struct launch *l);

#endif
