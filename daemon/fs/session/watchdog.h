/* SPDX-License-Identifier: MIT */
/* The service manager's watchdog: a thread that tells it that the session thread goes on. */
#ifndef FS_WATCHDOG_H
#define FS_WATCHDOG_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct watchdog {
	/* Odd while the session thread waits for the kernel; each wait counts twice. The session
	 * thread writes it. */
	atomic_uint steps;
	/* Between two looks at it, ns. */
	uint64_t period;
	void (*alive)(void);
	pthread_t thread;
	bool begun;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Under the lock. */
	bool ending;
};

/* From now on, @alive is called at least each @limit ns, unless the session thread is in one step
 * for longer than half of that. @limit 0: there is no watchdog. */
void watchdog_begin(struct watchdog *w, uint64_t limit, void (*alive)(void));
void watchdog_end(struct watchdog *w);

/* The session thread begins to wait, or has waited. */
static inline void watchdog_step(struct watchdog *w)
{
	unsigned steps = atomic_load_explicit(&w->steps, memory_order_relaxed);

	atomic_store_explicit(&w->steps, steps + 1, memory_order_relaxed);
}

#endif
