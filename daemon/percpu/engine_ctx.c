// SPDX-License-Identifier: MIT
#include "daemon/percpu/engine_ctx.h"

bool engine_ctx_publish(struct engine_ctx *ec)
{
	struct context *ctx = &ec->ctx;
	struct engine_ctx_status *st = &ec->status;
	bool changed =
		atomic_load_explicit(&st->changes, memory_order_relaxed) != ctx->count.changes ||
		atomic_load_explicit(&st->notified, memory_order_relaxed) != ctx->count.notified;

	if (changed) {
		atomic_store(&st->changes, ctx->count.changes);
		atomic_store(&st->notified, ctx->count.notified);
	}
	if (atomic_load_explicit(&st->kernel_pmcs, memory_order_relaxed) != ctx->past.kernel_pmcs)
		atomic_store(&st->kernel_pmcs, ctx->past.kernel_pmcs);
	/* Last: a message that is read must not be ahead of the status. */
	return messages_publish(&ctx->messages) || changed;
}

void engine_ctx_changed(struct engine_ctx *ec, struct event_queue *events)
{
	if (engine_ctx_publish(ec) && atomic_load(&ec->watched) &&
		!atomic_exchange(&ec->event_pending, true))
		event_send(events, &ec->changed_event);
}

void engine_ctx_end_job(struct engine_ctx *ec, struct event_queue *events, bool unloaded)
{
	unsigned n;

	if (!unloaded) {
		engine_ctx_release(ec);
		return;
	}
	n = atomic_load(&ec->inflight);
	do {
		if (n == 1) {
			event_send(events, &ec->unloaded_event);
			return;
		}
	} while (!atomic_compare_exchange_weak(&ec->inflight, &n, n - 1));
}
