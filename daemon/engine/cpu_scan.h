/* SPDX-License-Identifier: MIT */
/*
 * A scan of all CPUs: which are online, and which selectors are enabled on CPUs without a context,
 * that is, by another user of the PMU. It reads registers, so it runs in a thread of its own. The
 * session thread starts it and receives its result.
 */
#ifndef ENGINE_CPU_SCAN_H
#define ENGINE_CPU_SCAN_H

#include "daemon/engine/engine.h"

struct cpu_scan_result {
	bool online;
	/* A context is loaded there, or threads are monitored: its registers are not read. */
	bool in_use;
	/* err.no == 0: the registers were read. */
	struct err err;
	/* Enabled selectors, one bit per row of pmu.pmcs, and the values of all selectors. */
	pmu_rows enabled;
	uint64_t value[PMU_MAX_PMCS];
};

typedef void cpu_scan_done(void *arg, const struct cpu_scan_result *cpus, unsigned n);

/*
 * Calls @done in the session thread when a scan is complete; requests that come while it runs share
 * its result. Without memory, @done is called at once, with @cpus == NULL.
 */
void engine_scan_cpus(struct engine *eng, cpu_scan_done *done, void *arg);

#endif
