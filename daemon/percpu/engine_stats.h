/* SPDX-License-Identifier: MIT */
/* The engine's part of the file `stats`. Any thread adds to the atomic fields. */
#ifndef PERCPU_ENGINE_STATS_H
#define PERCPU_ENGINE_STATS_H

#include "daemon/percpu/exec.h"

struct engine_stats {
	atomic_ullong commands, polls;
	struct exec_stats exec;
	/* Workers alive. */
	unsigned workers;

	/* Threads that save and restore contexts, and monitored threads. */
	unsigned ctxsw_threads, threads;
	/* Contexts restored to registers, and saved from them. */
	atomic_ullong ctxsw_in, ctxsw_out;
	/* Times that one ctxsw thread waited for another. */
	atomic_ullong ctxsw_waits;
	/* Times that a ctxsw thread was too late, so that counts were lost. */
	atomic_ullong ctxsw_late;
	/* The part of @ctxsw_late where the kernel had not reported a switch. */
	atomic_ullong ctxsw_missed;
	/* Times that a ctxsw thread had to wait while events were to be counted, so that counts
	 * were lost. */
	atomic_ullong ctxsw_stalled;
	/* Times that a context lost its counts because its user's switches took too long. */
	atomic_ullong ctxsw_over_budget;
	/* Instructions that a save and restore adds to a user-level count, by the last calibration.
	 */
	atomic_ullong ctxsw_overhead;
};

#endif
