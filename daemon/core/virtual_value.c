// SPDX-License-Identifier: MIT
/*
 * Virtual PMDs (specification 3.2.2). Their values come in with the plan, from whoever runs it:
 * the core only says which ones it needs.
 */
#include "daemon/core/core_i.h"

uint32_t virtuals_sampled(const struct context *ctx)
{
	return ctx->state == CTX_RUNNING && ctx->smpl.fmt ? ctx->active->virtuals : 0;
}

void virtuals_note(struct evtset *set)
{
	set->virtuals = 0;
	for (unsigned d = 0; d < set->npmds; d++)
		set->virtuals |= set->pmd[d].virtuals;
}

static uint32_t named(const struct context *ctx, const struct command *cmd)
{
	uint32_t rows = 0;

	for (unsigned i = 0; i < cmd->nregs; i++) {
		int row = cmd->regs[i].pmd ? pmu_find_virtual(ctx->pmu, cmd->regs[i].num) : -1;

		if (row >= 0)
			rows |= ROW(row);
	}
	return rows;
}

/* What has wrapped already may be sampled without another look. */
uint32_t ctx_virtuals(const struct context *ctx, const struct command *cmd)
{
	uint32_t rows = cmd->verb == CMD_READ ? named(ctx, cmd) : 0;

	if (command_stops(cmd->verb) || ctx->wrapped)
		rows |= virtuals_sampled(ctx);
	return rows;
}

int virtual_read(const struct context *ctx, unsigned row, const struct plan *plan, uint64_t *value,
	struct err *e)
{
	const struct pmu_virtual *v = &ctx->pmu->virtuals[row];

	if (v->kind == PMU_VIRTUAL_CPUTIME)
		return err_set(e, ENODATA,
			"pmd%u belongs to the thread that a sample interrupts, and there is none "
			"now: have it sampled (smpl=%u)",
			v->num, v->num);
	if (!(plan->virt.valid & ROW(row)))
		return err_set(e, EIO, "pmd%u: %s is not known now%s%s", v->num, v->name,
			v->path[0] ? ": see whether there is a number in " : "", v->path);
	*value = plan->virt.value[row];
	return 0;
}
