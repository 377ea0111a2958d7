// SPDX-License-Identifier: MIT
/*
 * daemon/ctxsw/ctxsw_switch.c, with ctxsw threads that sleep before they start the counters at each
 * STALL_EVERYth restore of a CPU, as they do for memory that the kernel has moved.
 */
#include <time.h>

#include "base/nsec.h"
#include "daemon/ctxsw/ctxsw_i.h"

enum { STALL_EVERY = 17, STALL_NS = 5000000 };

static _Thread_local unsigned restores;

static void stalling_sched_in(struct ctxsw_thread *ct, struct context *ctx)
{
	struct timespec ns = nsec_timespec(STALL_NS);

	if (++restores % STALL_EVERY == 0)
		nanosleep(&ns, NULL);
	ctxsw_sched_in(ct, ctx);
}

#define ctxsw_sched_in stalling_sched_in
#include "daemon/ctxsw/ctxsw_switch.c"
