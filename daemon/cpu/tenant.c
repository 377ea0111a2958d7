// SPDX-License-Identifier: MIT
#include "daemon/cpu/tenant.h"

#include <errno.h>

#include "base/raw_syscall.h"

void news_send(struct news_box *box, struct news *n)
{
	static const uint64_t one = 1;

	queue_put(&box->queue, &n->link);
	/* EAGAIN means that the counter is at its limit: it is readable, all the same. */
	raw_syscall4(SYS_write, box->fd, (long)&one, sizeof(one), 0);
}

bool tenant_publish(struct tenant *t)
{
	const struct context *ctx = &t->ctx;
	bool changed =
		atomic_load_explicit(&t->queued, memory_order_relaxed) != ctx->messages.n ||
		atomic_load_explicit(&t->changes, memory_order_relaxed) != ctx->count.changes ||
		atomic_load_explicit(&t->notified, memory_order_relaxed) != ctx->count.notified;

	if (!changed)
		return false;
	atomic_store(&t->queued, ctx->messages.n);
	atomic_store(&t->changes, ctx->count.changes);
	atomic_store(&t->notified, ctx->count.notified);
	return true;
}

void tenant_settled(struct tenant *t, struct news_box *box)
{
	if (tenant_publish(t) && atomic_load(&t->watched) && !atomic_exchange(&t->told, true))
		news_send(box, &t->happened);
}

void tenant_leave(struct tenant *t, struct news_box *box, bool unloaded)
{
	unsigned n;

	if (!unloaded) {
		atomic_fetch_sub(&t->inflight, 1);
		return;
	}
	n = atomic_load(&t->inflight);
	do {
		if (n == 1) {
			news_send(box, &t->news);
			return;
		}
	} while (!atomic_compare_exchange_weak(&t->inflight, &n, n - 1));
}

int job_cancelled(struct job *job)
{
	return err_set(&job->err, EINTR, "interrupted before it began");
}
