/* SPDX-License-Identifier: MIT */
/*
 * Reads of pmu/readings, pmu/energy and pm_counters/. A workqueue does them, because they read the
 * registers of all CPUs.
 */
#ifndef FS_READINGS_REQUEST_H
#define FS_READINGS_REQUEST_H

#include "daemon/fs/tree/node.h"
#include "daemon/percpu/readings.h"

/* Prints the contents of the file of @row, from @r. Called by the workqueue's thread. Returns 0, or
 * -errno with a sentence. */
typedef int readings_print(
	struct readings *r, const struct row *row, struct text *out, struct err *e);

/* The read() of such a file's row, on a fiber. */
int readings_request_read(
	struct call *call, readings_print *print, struct text *out, struct err *e);

#endif
