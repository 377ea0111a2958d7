// SPDX-License-Identifier: MIT
/* Charges a user for the workers of threads. */
#include "daemon/task/task_registry_i.h"

int task_charge_interrupts(struct task_registry *reg, struct engine_ctx *ec, struct err *e)
{
	size_t bytes = ctx_attributes(&ec->ctx) ? reg->shared.be->interrupts_bytes : 0;

	return bytes && ec->ops->charge ? ec->ops->charge(ec, bytes, e) : 0;
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

void task_uncharge_worker(struct task_registry *reg, struct engine_ctx *ec)
{
	struct err never;

	*ec->user_workers -= ec->workers;
	reg->workers -= ec->workers;
	if (ec->ops->charge)
		ec->ops->charge(ec, 0, &never);
}
