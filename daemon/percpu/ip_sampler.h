/* SPDX-License-Identifier: MIT */
/*
 * Samples the thread and the instruction pointer that are running on a CPU, with a perf cpu-clock
 * event of that CPU and its ring buffer. The CPU's worker opens it. One thread at a time uses it:
 * the worker, or the thread that owns the worker's context.
 *
 * Process numbers are those of the daemon's PID namespace. In a container, all processes outside of
 * it have number 0, like the idle thread.
 */
#ifndef PERCPU_IP_SAMPLER_H
#define PERCPU_IP_SAMPLER_H

#include <stdbool.h>

#include "base/err.h"
#include "perfmonfs/format.h"

struct ip_sampler;

struct ip_sampler_conf {
	uint64_t period_ns; /* It samples each period from now on. */
	bool events;        /* It also records exec, mmap, exit, ... of processes. */
	bool stacks;        /* Samples have call chains. */
};

/*
 * Opens a sampler of @cpu. Samples of the calling thread are ignored. EACCES, EPERM: the kernel
 * denies it; ENXIO: the CPU is offline.
 */
int ip_sampler_new(
	unsigned cpu, const struct ip_sampler_conf *conf, struct ip_sampler **out, struct err *e);
void ip_sampler_free(struct ip_sampler *s); /* NULL is allowed. */

/* True if its samples have call chains. */
bool ip_sampler_has_stacks(const struct ip_sampler *s);

/* Tells whether ip_sampler_new() would succeed; fails as it does. */
int ip_sampler_probe(struct err *e);

/* Becomes readable with each sample, and when half of the room for events is used. */
int ip_sampler_fd(const struct ip_sampler *s);

/* Samples each @period_ns from now on. 0: pauses, so that an idle CPU can sleep. */
void ip_sampler_set_period(struct ip_sampler *s, uint64_t period_ns);

/* Takes no samples until the next ip_sampler_set_period(), which, for the same period, continues in
 * the middle of it. */
void ip_sampler_pause(struct ip_sampler *s);

/* Turns the recording of events on or off, if @s was opened for them; it starts as on. */
void ip_sampler_enable_events(struct ip_sampler *s, bool on);

/*
 * Consumes the ring buffer. Sets *@newest to the newest sample, unless there is none; its frames
 * are valid until the next call. Kernel addresses are not hidden. Calls @event, unless NULL, for
 * each event, in order of time; the event's name is valid during the call only.
 */
void ip_sampler_read(struct ip_sampler *s, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg);

/* Time of the newest sample (CLOCK_MONOTONIC, ns); 0: there was none. */
uint64_t ip_sampler_time(const struct ip_sampler *s);

/* Number of records lost because the ring buffer was full. */
uint64_t ip_sampler_lost(const struct ip_sampler *s);

#endif
