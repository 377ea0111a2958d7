// SPDX-License-Identifier: MIT
/* Which thread an overflow belongs to. */
#include "daemon/core/core.h"

pfm_smpl_where_t core_where(const struct core_run *run)
{
	const struct ctx_target *target = &run->ctx->target;
	pfm_smpl_where_t where = run->where;

	if (where.known || run->ctx->state == CTX_UNLOADED || !target->tid)
		return where;
	where.pid = (uint32_t)target->pid;
	where.tid = (uint32_t)target->tid;
	where.known = 1;
	return where;
}
