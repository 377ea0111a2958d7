// SPDX-License-Identifier: MIT
/* Requests of other threads to a ctxsw thread. */
#include <sys/eventfd.h>

#include "daemon/ctxsw/ctxsw_i.h"

void ctxsw_kick(struct ctxsw_thread *ct)
{
	eventfd_write(ct->fds[FD_WAKEUP].fd, 1);
}

void ctxsw_kick_cpu(struct ctxsw_thread *ct, unsigned cpu)
{
	struct ctxsw_thread *other =
		cpu < CPUS_MAX ? atomic_load(&ct->shared->ctxsw_threads[cpu]) : NULL;

	if (other && other != ct)
		ctxsw_kick(other);
}

void ctxsw_post(struct ctxsw_thread *ct, struct job *job)
{
	queue_put(&ct->inbox, &job->link);
	ctxsw_kick(ct);
}

void ctxsw_post_prepare(struct ctxsw_thread *ct, struct ctxsw_prepare_req *req)
{
	queue_put(&ct->prepare_reqs, &req->link);
	ctxsw_kick(ct);
}

bool ctxsw_is_given(const struct ctxsw_thread *ct)
{
	sched_u64 taker = atomic_load(&ct->shared->takers[ct->cpu]);

	return taker && atomic_load(&ct->giving.taker) == taker;
}

void ctxsw_given_handled(struct task_event *event)
{
	struct ctxsw_thread *ct = container_of(event, struct ctxsw_thread, giving.event);

	atomic_store(&ct->giving.sent, false);
}

void ctxsw_thread_retire(struct ctxsw_thread *ct)
{
	atomic_fetch_or(&ct->orders, ORDER_RETIRE);
	ctxsw_kick(ct);
}
