/* SPDX-License-Identifier: MIT */
/* The service manager's watchdog: a thread that tells the manager that the session thread makes
 * progress. */
#ifndef FS_WATCHDOG_H
#define FS_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct watchdog {
	/* Odd while the session thread waits for the kernel, so each wait adds 2. The session
	 * thread writes it. */
	atomic_uint steps;
	/* Time between two checks of @steps, ns. */
	uint64_t period;
	void (*alive)(void);
	pthread_t thread;
	bool begun;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Guarded by the lock. */
	bool ending;
};

/* From now on, @alive is called at least every @limit ns, unless the session thread spends more
 * than half of that in one step. A @limit of 0 means no watchdog. */
void watchdog_begin(struct watchdog *w, uint64_t limit, void (*alive)(void));
void watchdog_end(struct watchdog *w);

/* The session thread is about to wait, or has finished waiting. */
static inline void watchdog_step(struct watchdog *w)
{
	unsigned steps = atomic_load_explicit(&w->steps, memory_order_relaxed);

	atomic_store_explicit(&w->steps, steps + 1, memory_order_relaxed);
}

#endif
