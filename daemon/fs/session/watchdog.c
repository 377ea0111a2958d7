// SPDX-License-Identifier: MIT
#include "daemon/fs/session/watchdog.h"

#include <errno.h>

#include "base/cond.h"
#include "base/nsec.h"
#include "daemon/percpu/thread.h"

static void *watchdog_main(void *arg)
{
	struct watchdog *w = arg;
	struct timespec until;
	unsigned steps, last = 0;

	thread_set_name("pfm-watchdog");
	pthread_mutex_lock(&w->lock);
	while (!w->ending) {
		steps = atomic_load_explicit(&w->steps, memory_order_relaxed);
		if (steps % 2 || steps != last)
			w->alive();
		last = steps;
		until = nsec_timespec(nsec_now(CLOCK_MONOTONIC) + w->period);
		while (!w->ending &&
			pthread_cond_timedwait(&w->changed, &w->lock, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

void watchdog_begin(struct watchdog *w, uint64_t limit, void (*alive)(void))
{
	if (!limit)
		return;
	w->period = limit / 4;
	w->alive = alive;
	pthread_mutex_init(&w->lock, NULL);
	cond_init_monotonic(&w->changed);
	w->begun = thread_start(&w->thread, watchdog_main, w) == 0;
}

void watchdog_end(struct watchdog *w)
{
	if (!w->begun)
		return;
	pthread_mutex_lock(&w->lock);
	w->ending = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	w->begun = false;
}
