// SPDX-License-Identifier: MIT
/* Virtual PMDs (specification 3.2.2): which values a command needs. struct pmu_io fetches them. */
#include "daemon/core/core_i.h"

void virtuals_begin(struct core_run *run, const struct command *cmd)
{
	const struct cmd_files *files = cmd->files;

	run->virt.asked = run->virt.valid = 0;
	for (unsigned i = 0; files && i < files->n; i++) {
		int row = pmu_find_virtual(run->ctx->pmu, files->pmd[i].num);

		if (row < 0)
			continue;
		run->virt.asked |= ROW(row);
		run->virt.valid |= files->pmd[i].known ? ROW(row) : 0;
		run->virt.value[row] = files->pmd[i].value;
	}
}

pmu_rows virtuals_sampled(const struct context *ctx)
{
	return ctx_counts_now(ctx) && ctx->smpl.fmt ? ctx->active->virtuals : 0;
}

void virtuals_note(struct evtset *set)
{
	set->virtuals = 0;
	for (unsigned d = 0; d < set->npmds; d++)
		set->virtuals |= set->pmd[d].virtuals;
}

static pmu_rows virtual_named(const struct context *ctx, const struct command *cmd)
{
	pmu_rows rows = 0;

	for (unsigned i = 0; i < cmd->vector.nregs; i++) {
		int row = cmd->vector.regs[i].pmd
				  ? pmu_find_virtual(ctx->pmu, cmd->vector.regs[i].num)
				  : -1;

		if (row >= 0)
			rows |= ROW(row);
	}
	return rows;
}

/* PMDs that have wrapped already may be sampled without another reading. */
pmu_rows virtuals_needed(const struct context *ctx, const struct command *cmd)
{
	pmu_rows rows = cmd->verb == CMD_READ ? virtual_named(ctx, cmd) : 0;

	if (command_freezes(cmd->verb) || ctx->ovfl.wrapped)
		rows |= virtuals_sampled(ctx);
	return rows;
}

bool ctx_reads_files(const struct context *ctx, const struct command *cmd)
{
	pmu_rows rows = virtuals_needed(ctx, cmd) & ~(cmd->files ? virtual_named(ctx, cmd) : 0);

	for_each_row (row, rows)
		if (pmu_virtual_is_file(&ctx->pmu->virtuals[row]))
			return true;
	return false;
}

int virtual_read(const struct core_run *run, unsigned row, uint64_t *value, struct err *e)
{
	const struct pmu_virtual *v = &run->ctx->pmu->virtuals[row];

	if (pmu_virtual_needs_thread(v) &&
		(run->ctx->state == CTX_UNLOADED || !run->ctx->target.tid))
		return err_set(e, ENODATA,
			"pmd%u describes the thread that a sample interrupts, and there is none "
			"now: put it into samples (smpl=%u), or load on a thread",
			v->num, v->num);
	if (pmu_virtual_needs_cpu(v) && (run->ctx->state == CTX_UNLOADED || run->ctx->target.tid))
		return err_set(e, ENODATA,
			"pmd%u is a register of the CPU that a context is loaded on, and this "
			"context is %s: load with cpu=",
			v->num, run->ctx->target.tid ? "on a thread" : "not loaded");
	if (pmu_virtual_counts_kernel(v) && !run->ctx->samples.kernel_ip)
		return err_set(e, EACCES,
			"pmd%u includes the kernel level, and this context was loaded without the "
			"right to it: see config/allow_kernel",
			v->num);
	if (!(run->virt.valid & ROW(row)))
		return err_set(e, EIO, "pmd%u: %s has no value now%s%s", v->num, v->name,
			v->path[0] ? ": see whether there is a number in " : "", v->path);
	*value = run->virt.value[row];
	return 0;
}
