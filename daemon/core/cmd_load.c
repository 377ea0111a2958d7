// SPDX-License-Identifier: MIT
/*
 * Load (specification 3.1.7): on a CPU, all registers that any set uses are reserved, so that no
 * switch finds one taken. On a thread, registers are reserved where the thread runs.
 */
#include "daemon/core/core_i.h"

static int load_check_cpu(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (rights_check(&cmd->rights, true, e) < 0)
		return -e->no;
	if (ctx->past.loaded && !(ctx->flags & CTX_SYSTEM_WIDE))
		return err_set(e, EINVAL,
			"this context was on a thread before (load tid=) and cannot be loaded on a "
			"CPU: make another");
	if (ctx->flags & CTX_NOTIFY_BLOCK)
		return err_set(e, EINVAL, "notify_block is for threads, not for CPUs: see flags");
	if (ctx->smpl.waits)
		return err_set(
			e, EINVAL, "waits is for threads, not for CPUs: leave it out of format");
	return 0;
}

/* Refuses counters that the CPUs of a package share: their counts are not a thread's. */
static int load_check_scope(const struct context *ctx, struct err *e)
{
	struct image im;

	for (unsigned i = 0; i < ctx->nsets; i++) {
		image_of(ctx->pmu, ctx->sets[i]->pmc, false, &im);
		for_each_row (d, im.pmds)
			if (ctx->pmu->pmds[d].scope > PMU_SCOPE_CORE)
				return err_set(e, EINVAL,
					"pmd%u counts for all CPUs of a package or cache, never "
					"for one thread: load on a CPU (load cpu=)",
					ctx->pmu->pmds[d].num);
	}
	return 0;
}

static int load_check_thread(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (rights_check(&cmd->rights, false, e) < 0)
		return -e->no;
	if (ctx->past.loaded && (ctx->flags & CTX_SYSTEM_WIDE))
		return err_set(e, EINVAL,
			"this context was on a CPU before (load cpu=) and cannot be loaded on a "
			"thread: make another");
	if (ctx->flags & CTX_BACKGROUND)
		return err_set(e, EINVAL, "background is for CPUs, not for threads: see flags");
	if (ctx->flags & CTX_SYSTEM_WIDE)
		return err_set(e, EINVAL, "system_wide is for CPUs, not for threads: see flags");
	if ((ctx->flags & CTX_NOTIFY_BLOCK) && cmd->load.untraced)
		return err_set(e, EINVAL, "notify_block needs ptrace: leave ptrace=no out");
	return load_check_scope(ctx, e);
}

int core_load_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	int rc;

	if (ctx->state != CTX_UNLOADED && ctx->target.tid)
		return err_set(
			e, EBUSY, "already loaded on thread %d: unload first", ctx->target.tid);
	if (ctx->state != CTX_UNLOADED)
		return err_set(e, EBUSY, "already loaded on CPU %u: unload first", ctx->target.cpu);
	rc = cmd->tid ? load_check_thread(ctx, cmd, e) : load_check_cpu(ctx, cmd, e);
	if (rc < 0)
		return rc;
	if (cmd->has_set && !ctx_set(ctx, cmd->set))
		return err_set(e, EINVAL, "no event set %u: make it first", cmd->set);
	if (rights_check_kernel(ctx, &cmd->rights, e) < 0)
		return -e->no;
	if (cmd->load.pmu && type_check(ctx, cmd->load.pmu, e) < 0)
		return -e->no;
	return sets_check(ctx, cmd->tid != 0, e);
}

static void load_default_resets(struct context *ctx)
{
	for (unsigned i = 0; i < ctx->nsets; i++)
		for (unsigned d = 0; d < ctx->pmu->npmds; d++)
			conf_default_resets(ctx, &ctx->sets[i]->pmd[d]);
}

static void load_done(struct context *ctx, const struct command *cmd)
{
	load_default_resets(ctx);
	sets_link(ctx);
	evtset_activate(ctx->active);
	messages_reset(&ctx->messages);
	thread_table_free(&ctx->threads);
	ctx->gap = (struct ctx_gap){0};
	ctx->samples.earlier_ip = 0;
	ctx->limits = cmd->limits;
	ctx->samples.kernel_ip = cmd->rights.kernel;
	ctx->ovfl.mask_due = 0;
	ctx->ovfl.masked = 0;
	ctx->ovfl.notify = false;
	ctx->ovfl.notify_pmds = 0;
	ctx->target.ended = false;
	ctx_set_state(ctx, CTX_LOADED);
	if (!ctx->target.tid)
		ctx->flags |= CTX_SYSTEM_WIDE;
	ctx->past.loaded = true;
}

static void load_list_set(const struct pmu *pmu, const struct evtset *set, struct loaded_pmcs *out)
{
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (set->pmc[p] == pmu->pmcs[p].def)
			continue;
		if (out->n < LOADED_PMCS)
			out->pmc[out->n] = (struct loaded_pmc){set->id, (uint16_t)p, set->pmc[p]};
		out->n++;
	}
}

static void load_list(const struct context *ctx, struct loaded_pmcs *out)
{
	out->n = 0;
	for (unsigned i = 0; i < ctx->nsets; i++)
		load_list_set(ctx->pmu, ctx->sets[i], out);
}

int cmd_load(struct core_run *run, const struct command *cmd, struct err *e)
{
	struct context *ctx = run->ctx;
	struct evtset *from = ctx->active, *set;
	struct image im;
	int rc = core_load_check(ctx, cmd, e);

	if (rc < 0)
		return rc;
	if (messages_allocate(&ctx->messages, ctx->smpl.fmt ? ctx->smpl.fmt->fmt_msgq_depth : 0) <
		0)
		return err_set(e, ENOMEM, "no memory for the message queue");
	set = ctx_set(ctx, cmd->has_set ? cmd->set : 0);
	ctx->target.cpu = cmd->load.cpu;
	ctx->target.tid = cmd->tid;
	ctx->target.always_active = cmd->load.always_active;
	ctx->active = set;
	if (cmd->load.pmu)
		type_set(ctx, cmd->load.pmu);
	registers_image(ctx, set, &im);
	rc = transition(run, &im, false, e);
	if (rc < 0) {
		type_reset(ctx);
		ctx->active = from;
		live_refresh(ctx, set);
		return rc;
	}
	load_done(ctx, cmd);
	if (cmd->load.pmcs)
		load_list(ctx, cmd->load.pmcs);
	return 0;
}
