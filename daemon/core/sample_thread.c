// SPDX-License-Identifier: MIT
/* Which thread an overflow belongs to. */
#include "daemon/core/core.h"

void ctx_set_where(struct context *ctx, pfm_smpl_where_t *where)
{
	if (where->known && where->tid == (uint32_t)ctx->target.tid) {
		if (where->ip)
			ctx->samples.earlier_ip = where->ip;
		return;
	}
	*where = (pfm_smpl_where_t){
		.ip = ctx->samples.earlier_ip,
		.pid = (uint32_t)ctx->target.pid,
		.tid = (uint32_t)ctx->target.tid,
		.cpu = (uint16_t)ctx->target.cpu,
		.known = 1,
		.precise = ctx->samples.earlier_ip ? PFM_SMPL_EARLIER : PFM_SMPL_POLL,
	};
}

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
