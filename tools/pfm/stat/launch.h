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
	int pidfd;  /* readable when the process has ended; -1: none */
	int start;  /* a socket to the process until it executes its program; -1: none */
	int status; /* of wait4(), once it is reaped */
	bool reaped;
	int exec_no;               /* errno of a failed execution; launch_end() leaves it */
	struct rusage usage;       /* of the process and the children that it waited for */
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, at launch_continue() and at the end */
};

#define LAUNCH_NONE                                                                                \
	{                                                                                          \
		.pidfd = -1, .start = -1                                                           \
	}

/* Creates the process of the command, which waits for the order to execute @argv with the signal
 * mask @mask. It is killed if this process ends first. */
int launch_waiting(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e);

/*
 * Makes a waiting command execute @name and leaves it stopped before its first instruction, so that
 * no instruction of pfm is counted. Returns 0; -ENOENT: there is no such command; -EACCES and
 * others: it cannot be executed; -EPERM: it would gain privileges, which it cannot while this user
 * counts it.
 */
int launch_stop(struct launch *l, const char *name, struct err *e);

/* Does both: the process is stopped before the first instruction of the command. */
int launch_stopped(struct launch *l, char *const *argv, const sigset_t *mask, struct err *e);

/* Whether the program that execvp() finds by @name exists and gains no privileges, so that perf
 * events on its process keep counting when it is executed. */
bool launch_is_plain(const char *name);

/*
 * Lets the command run. A waiting process executes its program; after its end, launch_check()
 * reports whether that failed. This process does not wait for the execution, since waking up could
 * take the command's CPU from it.
 */
void launch_continue(struct launch *l);
/* Fails like launch_stop() if the program could not be executed. */
int launch_check(const struct launch *l, const char *name, struct err *e);

/* Waits for the end of the command. */
void launch_wait(struct launch *l);

/* Kills the command if it has not ended, and waits for its end. */
void launch_end(struct launch *l);

/* The exit status of pfm that reports the command's. */
int launch_exit_status(const struct launch *l);

#endif
