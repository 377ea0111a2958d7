// SPDX-License-Identifier: MIT
#include "daemon/percpu/thread_wake.h"

#include <poll.h>

#include "base/nsec.h"

enum { PAUSE_MAX_NS = 100000000 };

/* How long to sleep until the thread's time can be @at: each reading that finds that time unchanged
 * doubles the pause. */
static uint64_t thread_wake_pause(struct thread_wake *tw, uint64_t now, uint64_t at)
{
	uint64_t ns = at > now ? at - now : 0;

	if (now != tw->last)
		tw->pause = 0;
	else
		tw->pause = 2 * (tw->pause > ns ? tw->pause : ns);
	if (tw->pause > PAUSE_MAX_NS)
		tw->pause = PAUSE_MAX_NS;
	tw->last = now;
	return tw->pause > ns ? tw->pause : ns;
}

/* Sets an alarm. False if the kernel refuses, or it is too late for one. */
static bool thread_wake_set_alarm(struct thread_wake *tw, struct executor *x, uint64_t at)
{
	uint64_t now = x->run.now;
	struct err ignored;

	if (!tw->alarms || !x->cpu || at <= now)
		return false;
	if (at == tw->alarm_at)
		return true;
	tw->alarm_fd = x->be->ops->thread_alarm(x->cpu, at - now, &ignored);
	tw->alarm_at = tw->alarm_fd < 0 ? 0 : at;
	return tw->alarm_at;
}

struct wake thread_wake_find(struct thread_wake *tw, struct executor *x, struct wake wake)
{
	if (wake.switches && thread_wake_set_alarm(tw, x, wake.at))
		wake.at = 0;
	else if (wake.at > 1)
		wake.at = nsec_now(CLOCK_MONOTONIC) + thread_wake_pause(tw, x->run.now, wake.at);
	wake.switches = false;
	return wake;
}

void thread_wake_alarmed(struct thread_wake *tw, short revents)
{
	tw->alarm_at = 0;
	/* The kernel has removed the thread's events. */
	if (revents & (POLLERR | POLLHUP))
		tw->alarms = false;
}
