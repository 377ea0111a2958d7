/* SPDX-License-Identifier: MIT */
/*
 * Who is running on a CPU: a perf event there that ticks (cpu-clock) and notes each time whom it
 * has interrupted. The worker of that CPU makes it and is its only reader, or who has the
 * worker's context for a while in its stead.
 *
 * Process numbers are as the daemon sees them: in a container with numbers of its own, everyone
 * outside of it looks like the idle thread, 0.
 */
#ifndef CPU_WITNESS_H
#define CPU_WITNESS_H

#include <stdbool.h>

#include "base/err.h"
#include "perfmonfs/format.h"

struct witness;

/*
 * One for @cpu that ticks each @period_ns from now on; with @events it also tells what happens to
 * processes. The calling thread's samples will not count. EACCES, EPERM: the kernel does not
 * allow it; ENXIO: the CPU is offline.
 */
int witness_new(unsigned cpu, uint64_t period_ns, bool events, struct witness **out, struct err *e);
void witness_free(struct witness *w); /* NULL is fine */

/* Whether witness_new() succeeds, for those who want to know beforehand. */
int witness_probe(struct err *e);

/* Becomes readable with each tick, and when half of the room for events is used up. */
int witness_fd(const struct witness *w);

/* From now on it ticks each @period_ns; 0: not at all, so that an idle CPU is left alone. */
void witness_tick(struct witness *w, uint64_t period_ns);

/* No ticks until the next witness_tick(), which goes on in the middle of a period of that length.
 */
void witness_pause(struct witness *w);

/* Whether it tells what happens to processes, if it was made for that; at first it does. */
void witness_events(struct witness *w, bool on);

/*
 * Takes what there is. *@newest becomes the newest sample that is not of the thread that made @w,
 * and is left alone if there is none. Kernel addresses are not hidden. @event, unless NULL, is
 * called for what happened to processes, by rising time; its strings do not outlive the call.
 */
void witness_read(struct witness *w, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg);

/* When the newest sample so far was taken (CLOCK_MONOTONIC ns); 0: there was none. */
uint64_t witness_time(const struct witness *w);

/* How many records there was no room for. */
uint64_t witness_lost(const struct witness *w);

#endif
