/* SPDX-License-Identifier: MIT */
/*
 * Overflows by interrupts, on backends that have them: which counters interrupt, and passing what
 * the kernel has recorded to the core. For the owner of the context.
 */
#ifndef PERCPU_INTERRUPTS_H
#define PERCPU_INTERRUPTS_H

#include "daemon/percpu/exec.h"

/* Before a load: makes the kernel record the events of a thread on which @ctx samples with a format
 * that takes them. */
int interrupts_prepare(struct executor *x, const struct context *ctx, struct err *e);

/* Before a start: EOPNOTSUPP and others if @ctx records users' stacks, as only interrupts do, and
 * its counters cannot interrupt. */
int interrupts_check_start(struct executor *x, const struct context *ctx, struct err *e);

/* To be called after a command that has started, restarted or written @ctx, and before its last
 * plan is run: overflows of @ctx are found by interrupts if possible, otherwise by polling. */
void interrupts_arm(struct executor *x, struct context *ctx);

/* Handles all interrupts that have come, and all events of a thread. While a context that records
 * events is masked, its buffer must not change, so they wait. */
void interrupts_take(struct executor *x, struct context *ctx);

/* How long interrupts may wait in the ring buffer (ns): as long as there were none. */
uint64_t interrupts_delay(const struct executor *x, const struct context *ctx);

#endif
