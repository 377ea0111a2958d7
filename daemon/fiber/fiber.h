/* SPDX-License-Identifier: MIT */
/*
 * Fibers: functions of the session thread that wait in the middle. A fiber has its own stack. While
 * it waits, the session thread continues with the code that started or woke it. Nothing runs beside
 * a fiber, so its data need no lock. doc/layers.md says why these are not threads.
 *
 * All functions are for one thread.
 */
#ifndef FIBER_FIBER_H
#define FIBER_FIBER_H

#include <stdbool.h>

#include "base/err.h"

enum {
/* Bytes that a fiber's functions may use. The frames of sanitizers are larger. Tests measure
 * the use: `stack` of tests/unit/test_fiber.c, and `stack_of_a_request` of test_children.c. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
	FIBER_STACK = 64 << 10,
#else
	FIBER_STACK = 32 << 10,
#endif
	/* Bytes that a fiber maps: its stack, with the page below, which ends the daemon if the
	 * stack overflows. */
	FIBER_BYTES = FIBER_STACK + 4096,
	/* Stacks that are kept for later fibers. */
	FIBER_KEPT = 16,
};

struct fiber;

/* Something for which one fiber waits, once. It begins as zero. */
struct fiber_wait {
	struct fiber *fiber;
	bool over;
};

/* Runs @fn on a new fiber until it waits or returns. ENOMEM: @fn was not called. */
int fiber_start(void (*fn)(void *arg), void *arg, struct err *e);
/* Called by a fiber: waits for fiber_wake(@w), unless that was called already. */
void fiber_wait(struct fiber_wait *w);
/* Ends the wait. The fiber runs before this returns, until it waits again or returns. */
void fiber_wake(struct fiber_wait *w);
/* Called by a fiber: calls @fn on the stack of the code that started or woke the fiber, for what
 * may nest deeply or call anything. @fn must not wake the fiber. */
void fiber_outside(void (*fn)(void *arg), void *arg);
/* Unmaps the stacks that are kept. */
void fiber_free_stacks(void);

#endif
