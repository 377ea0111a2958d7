// SPDX-License-Identifier: MIT
/* Charges a user for the workers of threads. */
#include "daemon/task/task_registry_i.h"

int task_charge_interrupts(struct task_registry *reg, struct engine_ctx *ec, struct err *e)
{
	const struct context *ctx = &ec->ctx;
	const struct interrupt_conf conf = {
		.buffer = ctx->smpl.size, .user_stack = ctx->smpl.user_stack};
	const struct backend *be = reg->shared.be;

	if (!be->interrupts || !ctx_attributes(ctx) || !ec->ops->charge)
		return 0;
	return ec->ops->charge(ec, be->ops->interrupts_bytes(&conf), e);
}

/* Workers of CPUs are not charged, as there are no more of them than CPUs. */
int task_charge_worker(struct task_registry *reg, struct engine_ctx *ec, struct err *e)
{
	if (task_charge_interrupts(reg, ec, e) < 0)
		return -e->no;
	*ec->user_workers += ec->workers;
	reg->workers += ec->workers;
	return 0;
}

/* The counts of each thread, which the context keeps, stay charged. */
static void task_charge_kept(struct engine_ctx *ec)
{
	struct thread_table *kept = &ec->ctx.threads;
	struct err e, never;

	if (!ec->ops->charge || ec->ops->charge(ec, thread_table_bytes(kept), &e) == 0)
		return;
	thread_table_free(kept);
	ec->ops->charge(ec, 0, &never);
	err_prefix(&e, "the counts of each thread are gone");
	ec->ops->report_error(ec, &e);
}

void task_uncharge_worker(struct task_registry *reg, struct engine_ctx *ec)
{
	*ec->user_workers -= ec->workers;
	reg->workers -= ec->workers;
	task_charge_kept(ec);
}
