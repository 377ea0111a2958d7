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

/* From one plan to the next until the command is through; the plan has just been run. */
static int carry_on(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	struct plan *plan = &x->plan;
	struct ctx_count before = ctx->count;
	int rc;

	for (;;) {
		plan->at = x->be->ops->now(x->be);
		rc = core_step(ctx, cmd, &x->step, plan, e);
		if (rc != CORE_RUN || plan->last)
			break;
		plan->done = x->be->ops->run(x->cpu, plan->op, plan->n, &plan->err);
	}
	if (ctx->state == CTX_RUNNING && x->step.moves)
		ctx_quiet_plan(ctx, &x->quiet);
	add_up(x->stats, &ctx->count, &before);
	if (rc == -EBUSY && x->step.blame)
		name_holder(x->be, ctx, &x->step, e);
	return rc == CORE_RUN ? EXEC_LAST : rc;
}

int exec_command(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	if (command_stops(cmd->verb) && ctx->state == CTX_RUNNING) {
		step_quiet(&x->step);
		plan_copy(&x->plan, &x->quiet);
		return carry_on(x, ctx, cmd, e);
	}
	step_begin(&x->step);
	plan_clear(&x->plan);
	return carry_on(x, ctx, cmd, e);
}

int exec_last_failed(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	return carry_on(x, ctx, cmd, e);
}
