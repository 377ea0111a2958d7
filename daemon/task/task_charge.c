// SPDX-License-Identifier: MIT
/* What a thread's worker takes of what its user may have. */
#include "daemon/task/task_registry_i.h"

int task_charge_interrupts(struct task_registry *reg, struct engine_ctx *ec, struct err *e)
{
	size_t bytes = ctx_attributes(&ec->ctx) ? reg->shared.be->interrupts_bytes : 0;

	return bytes && ec->ops->charge ? ec->ops->charge(ec, bytes, e) : 0;
}

/* A worker of a CPU is not charged: there are as few as CPUs. */
int task_charge_worker(struct task_registry *reg, struct engine_ctx *ec, struct err *e)
{
	if (task_charge_interrupts(reg, ec, e) < 0)
		return -e->no;
	*ec->user_workers += ec->workers;
	reg->workers += ec->workers;
	return 0;
}

void task_uncharge_worker(struct task_registry *reg, struct engine_ctx *ec)
{
	struct err never;

	*ec->user_workers -= ec->workers;
	reg->workers -= ec->workers;
	if (ec->ops->charge)
		ec->ops->charge(ec, 0, &never);
}
