// SPDX-License-Identifier: MIT
/* Putting a message about PMDs of the active set into the queue. */
#include "daemon/core/core_i.h"

void message_pmds(const struct pmu *pmu, pmu_rows rows, uint64_t pmds[PFM_MSG_BV])
{
	for_each_row (d, rows)
		pmds[pmu->pmds[d].num / 64] |= 1ULL << pmu->pmds[d].num % 64;
}

void message_send(struct context *ctx, uint32_t type, pmu_rows rows, const pfm_smpl_where_t *where)
{
	struct pfm_msg m = {
		.type = type,
		.set = ctx->active->id,
		.cpu = (uint16_t)ctx->target.cpu,
		.pid = ctx->target.tid ? (uint32_t)ctx->target.pid : where->pid,
		.tid = ctx->target.tid ? (uint32_t)ctx->target.tid : where->tid,
		.ip = where->ip,
	};

	message_pmds(ctx->pmu, rows, m.pmds);
	if (where->precise == PFM_SMPL_EARLIER)
		m.pmds[PFM_MSG_BV - 1] |= PFM_MSG_EARLIER;
	if (!messages_put(&ctx->messages, &m))
		ctx->count.messages_lost++;
}
