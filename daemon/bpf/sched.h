/* SPDX-License-Identifier: MIT */
/*
 * Following threads in the scheduler. A BPF program on sched_switch (switch.bpf.c) knows which
 * followed thread runs on which CPU, and wakes the CPU's ctxsw thread (daemon/ctxsw) when a
 * followed thread comes or goes. The ctxsw thread is SCHED_FIFO, so it runs before the next thread
 * executes an instruction in user mode. There are two exceptions, which are both detected: a ready
 * thread of at least the same priority, and the kernel's fair server (Linux 6.8), after real-time
 * threads have kept others from the CPU for a second. Another program, on sched_process_exec,
 * revokes threads that execute programs which their requester may not trace.
 *
 * Requires Linux 5.14 or later with CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS and
 * CONFIG_DEBUG_INFO_BTF, CAP_BPF and CAP_PERFMON, and the initial PID namespace. Where
 * kernel.perf_event_paranoid is above 2, Debian's kernels require CAP_SYS_ADMIN for the wakeup
 * events. tracefs is not needed.
 */
#ifndef BPF_SCHED_H
#define BPF_SCHED_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "daemon/core/request.h"
#include "daemon/bpf/sched_shared.h"

struct sched;

/* Tries sched_open() and one wakeup event, for --check, and leaves nothing behind. Errors: those of
 * both. */
int sched_probe(struct err *e);

/*
 * Loads and attaches the programs. From then on, they run at each context switch of the machine;
 * while no thread is followed they return at once. EPERM; ENOSYS; ENOENT: no BTF; EINVAL: a PID
 * namespace.
 */
int sched_open(struct sched **out, struct err *e);
void sched_close(struct sched *s);

/* Valid until sched_close(), and never causes a page fault. */
struct sched_cpu *sched_cpu(const struct sched *s, unsigned cpu);
struct sched_slot *sched_slot(const struct sched *s, unsigned slot);

/* Number of followed threads. */
unsigned sched_followed(const struct sched *s);

/* Slot of the current thread of @cpu; 0: it is not followed. Only for that CPU's ctxsw thread: on
 * other threads, the answer may be stale. */
unsigned sched_here(const struct sched *s, unsigned cpu);

/* Opens the wakeup event of @cpu: a descriptor that polls readable at each wakeup and need not be
 * read. The caller closes it. ENXIO: the CPU is offline; EBUSY: it is open already. */
int sched_wakeup_open(struct sched *s, unsigned cpu, int *fd, struct err *e);
/* Call before the descriptor is closed. */
void sched_wakeup_close(struct sched *s, unsigned cpu);

/*
 * Only one thread at a time may call the following functions. Use free slots in turn: while a slot
 * is forgotten, a CPU may still be writing to it.
 */

/*
 * Follows thread @tid in @slot from its next context switch on. If the thread is already running,
 * that is noticed when the CPU's ctxsw thread has run. EBUSY: the thread is followed already.
 *
 * An exec that changes the id is noticed at the next switch, provided that the thread was seen to
 * come. So after an exec, check whether the slot has the new id, or follow the thread again.
 */
int sched_follow(struct sched *s, unsigned slot, pid_t tid, struct err *e);
/* Sets the CPUs on which the thread is counted: running elsewhere does not count as uncovered.
 * ENOMEM. */
int sched_set_cpumask(struct sched *s, unsigned slot, const struct cpus *cpumask, struct err *e);
/* Checks execs against @requester from now on; the caller has to check earlier ones. ENOMEM. */
int sched_set_requester(
	struct sched *s, unsigned slot, const struct sched_requester *requester, struct err *e);
/* Stops following the thread, whatever its id is by now, and clears the slot. */
void sched_forget(struct sched *s, unsigned slot);

#endif
