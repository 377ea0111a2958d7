/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The scheduler's program, on a kernel that hides switches: of those to and from followed threads,
 * each HIDE_EVERYth of a CPU. As that is odd, threads that take turns with others are hidden when
 * they come as often as when they leave.
 */
#include <stdbool.h>

enum { HIDE_EVERY = 17 };

static bool hiding_hides(unsigned long long *ctx);
static int hiding_shows(unsigned long long *ctx);

/* What on_switch() is there becomes hiding_shows(). */
#define on_switch(parameter)                                                                       \
	on_switch(parameter)                                                                       \
	{                                                                                          \
		return hiding_hides(ctx) ? 0 : hiding_shows(ctx);                                  \
	}                                                                                          \
	static __attribute__((always_inline)) int hiding_shows(parameter)

#include "daemon/bpf/switch.bpf.c"

sched_u32 hiding_seen[SCHED_CPUS];

/* The last switch of a thread is not hidden: its context would never end. */
static bool hiding_hides(sched_u64 *ctx)
{
	const struct task_struct *prev = (const void *)ctx[1], *next = (const void *)ctx[2];
	sched_u32 cpu = bpf_get_smp_processor_id() & (SCHED_CPUS - 1), w = cpus[cpu].ctxsw_tid;

	if (!w || prev->pid == w || next->pid == w || (prev->__state & TASK_DEAD))
		return false;
	if (!switch_lookup_tid(prev->pid) && !switch_lookup_tid(next->pid))
		return false;
	return ++hiding_seen[cpu] % HIDE_EVERY == 0;
}
