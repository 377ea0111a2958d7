// SPDX-License-Identifier: MIT
#include "daemon/cpu/exec.h"

#include <errno.h>

/* The core knows that a register is in other hands; whose, the backend may know. */
static void name_holder(
	struct backend *be, const struct context *ctx, const struct step *st, struct err *e)
{
	TEXT_CLEANUP struct text who = {0};
	struct err said = *e;

	be->ops->holder(be, ctx->cpu, st->blame, st->blame_value, &who);
	if (text_ok(&who) && who.n)
		err_set(e, said.no, "%s: by %s", said.text, who.p);
}

static void add(atomic_ullong *sum, uint64_t now, uint64_t before)
{
	if (now != before)
		atomic_fetch_add_explicit(sum, now - before, memory_order_relaxed);
}

static void add_up(
	struct exec_stats *s, const struct ctx_count *now, const struct ctx_count *before)
{
	add(&s->thefts, now->thefts, before->thefts);
	add(&s->switches, now->switches, before->switches);
	add(&s->overflows, now->overflows, before->overflows);
	add(&s->messages_lost, now->messages_lost, before->messages_lost);
}

/* By what has been seen up to now. */
static void who_runs(struct executor *x, struct context *ctx)
{
	uint64_t before;

	x->plan.where = (pfm_smpl_where_t){0};
	if (!x->lookout)
		return;
	before = witness_lost(x->lookout->witness);
	lookout_read(x->lookout, ctx, x->be->ops->now(x->be), &x->plan.where);
	add(&x->stats->witness_lost, witness_lost(x->lookout->witness), before);
}

/* What the plan that has just been run wants to know besides. */
static void fetch(struct executor *x)
{
	struct plan *plan = &x->plan;

	if (plan->virt.want & ~plan->virt.asked)
		virtuals_fetch(&x->virtuals, x->be->pmu, &plan->where, x->be->ops->now(x->be),
			&plan->virt);
}

/* From one plan to the next until the command is through; the plan has just been run. */
static int carry_on(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	struct plan *plan = &x->plan;
	struct ctx_count before = ctx->count;
	struct evtset *was = ctx->active;
	int rc;

	who_runs(x, ctx);
	for (;;) {
		fetch(x);
		plan->at = x->be->ops->now(x->be);
		rc = core_step(ctx, cmd, &x->step, plan, e);
		if (rc != CORE_RUN || plan->last)
			break;
		plan->done = x->be->ops->run(x->cpu, plan->op, plan->n, &plan->err);
	}
	if (ctx_counts_now(ctx) && x->step.moves)
		ctx_quiet_plan(ctx, &x->quiet);
	if (ctx->nlive) /* of @was too: no set that could be active is deleted */
		ctx_live_end(ctx, was);
	add_up(x->stats, &ctx->count, &before);
	if (rc == -EBUSY && x->step.blame)
		name_holder(x->be, ctx, &x->step, e);
	return rc == CORE_RUN ? EXEC_LAST : rc;
}

int exec_command(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	if (ctx->nlive)
		ctx_live_begin(ctx);
	x->plan.virt.asked = x->plan.virt.valid = 0;
	if (command_stops(cmd->verb) && ctx_counts_now(ctx)) {
		step_quiet(&x->step);
		plan_copy(&x->plan, &x->quiet);
		x->plan.virt.want = ctx_virtuals(ctx, cmd);
		return carry_on(x, ctx, cmd, e);
	}
	step_begin(&x->step);
	plan_clear(&x->plan);
	x->plan.virt.want = ctx_virtuals(ctx, cmd);
	return carry_on(x, ctx, cmd, e);
}

int exec_last_failed(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	if (ctx->nlive)
		ctx_live_begin(ctx);
	return carry_on(x, ctx, cmd, e);
}
