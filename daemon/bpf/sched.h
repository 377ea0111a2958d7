/* SPDX-License-Identifier: MIT */
/*
 * The scheduler's side of following threads: a BPF program on sched_switch (switch.bpf.c) that
 * knows which followed thread runs on which CPU, and rings the bell of a CPU when one of them comes
 * or goes there. A carrier (carrier.h), woken by the bell as a SCHED_FIFO thread of that CPU, runs
 * before the next thread executes an instruction in user mode; unless one of at least its priority
 * is ready as well, which is noticed, or others have been kept from that CPU for so long (a second)
 * that the kernel's fair server (Linux 6.8) lets them go first. Another one on sched_process_exec
 * does the same for threads that become programs which may not be monitored.
 *
 * It needs Linux 5.14 or later with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and
 * CONFIG_DEBUG_INFO_BTF, CAP_BPF and CAP_PERFMON, and the machine's own process numbers (no PID
 * namespace); tracefs it does not. Where kernel.perf_event_paranoid is above 2, Debian's kernels
 * want CAP_SYS_ADMIN for bells.
 */
#ifndef TRACK_SCHED_H
#define TRACK_SCHED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/core/request.h"
#include "daemon/track/sched_shared.h"

struct sched;

/* What it needs of the kernel, for --check: 0, or why not. Leaves nothing behind. */
int sched_probe(struct err *e);

/*
 * Loads the programs and attaches them: from here on each context switch of the machine costs what
 * the one takes; next to nothing while nobody is followed. EPERM, ENOSYS, ENOENT (no BTF),
 * EINVAL: with what is missing.
 */
int sched_open(struct sched **out, struct err *e);
void sched_close(struct sched *s);

/* All of this memory is there as long as @s, and never takes a page fault. */
struct sched_cpu *sched_cpu(const struct sched *s, unsigned cpu);
struct sched_slot *sched_slot(const struct sched *s, unsigned slot);

/* How many threads are followed. */
unsigned sched_followed(const struct sched *s);

/* The slot of the thread that runs on @cpu as far as it matters; 0: it is not followed. For the
 * CPU's carrier: for others it may be over when they hear of it. */
unsigned sched_here(const struct sched *s, unsigned cpu);

/* The bell of @cpu: a descriptor that becomes readable (poll) each time it rings, and need not be
 * read. It is the caller's to close. ENXIO: the CPU is offline; EBUSY: it has one. */
int sched_bell(struct sched *s, unsigned cpu, int *fd, struct err *e);
/* It is going to be closed. */
void sched_unbell(struct sched *s, unsigned cpu);

/*
 * These are for one thread at a time. Free slots should be used in turn: while one is forgotten, a
 * CPU may be about to note something in it.
 */

/*
 * Follows thread @tid by @slot from its next context switch on; who runs already is noticed when
 * its CPU's carrier has run. EBUSY: it is followed already.
 *
 * A number that changes (exec) is noticed at the next switch, if its coming had been: so after an
 * exec whoever knows the new number should look whether it is the slot's, or follow it anew.
 */
int sched_follow(struct sched *s, unsigned slot, pid_t tid, struct err *e);
/* Coming to CPUs outside of @where is no straying of this one's. ENOMEM. */
int sched_confine(struct sched *s, unsigned slot, const struct cpus *where, struct err *e);
/* What it has executed before is for the caller to see. ENOMEM. */
int sched_guard(struct sched *s, unsigned slot, const struct sched_guard *who, struct err *e);
/* Ends that, whatever its number is by now, and clears the slot. */
void sched_forget(struct sched *s, unsigned slot);

#endif
