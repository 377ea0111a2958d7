/* SPDX-License-Identifier: MIT */
/*
 * The life of traced threads, by ptrace: a thread of its own, for the kernel knows a tracer by its
 * thread. Tracees are seized, never stopped but for as long as it takes to deal with an event;
 * signals, group-stops and job control are theirs as without us. If the daemon dies, the kernel
 * lets go of them all, and they run on.
 */
#ifndef TRACK_TRACER_H
#define TRACK_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct tracer;

/* News of tracees, told in the tracer's thread: it must not be kept waiting. */
struct tracer_ops {
	/* @parent, seized with follow, has made @child (a thread, or a process by fork or vfork),
	 * which is traced as well, follows likewise, and stands still before its first instruction
	 * until tracer_go(). */
	void (*born)(void *arg, pid_t parent, pid_t child);
	/* A tracee has executed another program; its number was @was. It stands still until
	 * tracer_go(). */
	void (*exec)(void *arg, pid_t was, pid_t now);
	/* It is stopped as tracer_hold() wanted. */
	void (*held)(void *arg, pid_t tid);
	/* It has ended, or is not traced any more. */
	void (*ended)(void *arg, pid_t tid);
};

/* -ENOMEM, -EAGAIN. */
int tracer_new(const struct tracer_ops *ops, void *arg, struct tracer **out, struct err *e);
/* Lets go of all tracees; each runs on as it would have without us. */
void tracer_free(struct tracer *tr);

/*
 * Seizes thread @tid, without stopping it; its children too if @follow. Waits for the tracer's
 * thread, microseconds. EBUSY: somebody traces it already (the sentence names who) or we do;
 * ESRCH; EPERM: the kernel refuses.
 */
int tracer_seize(struct tracer *tr, pid_t tid, bool follow, struct err *e);

/* The rest is only ordered, and done a little later, in the order of the calls. Numbers that are
 * not traced are ignored. */

/* Lets it run on after born() or exec(). */
void tracer_go(struct tracer *tr, pid_t tid);
/* Stops it, until tracer_resume(): it executes nothing in user mode meanwhile. SIGKILL still ends
 * it. */
void tracer_hold(struct tracer *tr, pid_t tid);
void tracer_resume(struct tracer *tr, pid_t tid);
/* Lets go of it, whatever it does just now. ended() follows. */
void tracer_release(struct tracer *tr, pid_t tid);

#endif
