// SPDX-License-Identifier: MIT
/* Which thread an overflow belongs to. */
#include "daemon/core/core.h"

pfm_smpl_where_t core_where(const struct core_run *run)
{
	const struct ctx_target *target = &run->ctx->target;
	pfm_smpl_where_t where = {.cpu = run->where.cpu, .precise = run->where.precise};

	if (run->where.known)
		return run->where;
	if (run->ctx->state != CTX_UNLOADED && target->tid) {
		where.pid = (uint32_t)target->pid;
		where.tid = (uint32_t)target->tid;
		where.known = 1;
	}
	return where;
}
