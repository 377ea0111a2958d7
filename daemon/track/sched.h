/* SPDX-License-Identifier: MIT */
/*
 * The scheduler's side of following threads: a BPF program on sched_switch that knows which
 * followed thread runs on which CPU, and rings the bell of a CPU when one of them comes or goes
 * there. A carrier (carrier.h), woken by the bell as a SCHED_FIFO thread of that CPU, runs before
 * the next thread executes an instruction in user mode.
 */
#ifndef TRACK_SCHED_H
#define TRACK_SCHED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/track/sched_shared.h"

struct sched;

/* What it needs of the kernel, for --check: 0, or why not. Leaves nothing behind. */
int sched_probe(struct err *e);

/*
 * Loads the program and attaches it: from here on each context switch of the machine costs what
 * the program takes. EPERM, ENOSYS, ENOENT (no tracepoint), EINVAL: with what is missing.
 */
int sched_open(struct sched **out, struct err *e);
void sched_close(struct sched *s);

struct sched_cpu *sched_cpu(const struct sched *s, unsigned cpu);
struct sched_slot *sched_slot(const struct sched *s, unsigned slot);

/* The bell of @cpu: a descriptor that becomes readable (poll) each time it rings, and need not be
 * read. It is the caller's to close. ENXIO: the CPU is offline. */
int sched_bell(struct sched *s, unsigned cpu, int *fd, struct err *e);
/* It is going to be closed. */
void sched_unbell(struct sched *s, unsigned cpu);

/*
 * Follows thread @tid by @slot from its next context switch on; who runs already is noticed when
 * its CPU's carrier has run. EBUSY: it is followed already.
 */
int sched_follow(struct sched *s, unsigned slot, pid_t tid, struct err *e);
/* Ends that, whatever its number is by now, and clears the slot. */
void sched_forget(struct sched *s, unsigned slot);

#endif
