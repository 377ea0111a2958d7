// SPDX-License-Identifier: MIT
/* Load and unload (specification 3.1.7, 3.1.8). */
#include "daemon/core/core_i.h"

int rights_check(const struct rights *r, bool system_wide, struct err *e)
{
	if (system_wide ? r->system : r->thread)
		return 0;
	return err_set(e, EPERM, "monitoring a %s needs root or membership of the group in %s",
		system_wide ? "CPU" : "thread",
		system_wide ? "config/sys_group" : "config/thread_group");
}

static int cpu_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (rights_check(&cmd->rights, true, e) < 0)
		return -e->no;
	if (ctx->ever_loaded && !(ctx->flags & CTX_SYSTEM_WIDE))
		return err_set(e, EINVAL,
			"this context has monitored a thread, by load tid=: make another one");
	if (ctx->flags & CTX_NOTIFY_BLOCK)
		return err_set(e, EINVAL, "notify_block is for threads, not for CPUs: see flags");
	return 0;
}

static int thread_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	if (rights_check(&cmd->rights, false, e) < 0)
		return -e->no;
	if (ctx->ever_loaded && (ctx->flags & CTX_SYSTEM_WIDE))
		return err_set(e, EINVAL,
			"this context has monitored a CPU, by load cpu=: make another one");
	if (ctx->flags & CTX_SYSTEM_WIDE)
		return err_set(e, EINVAL, "system_wide is for CPUs, not for threads: see flags");
	if ((ctx->flags & CTX_NOTIFY_BLOCK) && cmd->untraced)
		return err_set(e, EINVAL, "notify_block needs ptrace: leave ptrace=no out");
	return 0;
}

int not_loaded(const struct context *ctx, const char *verb, struct err *e)
{
	if (ctx->ended)
		return err_set(e, EINVAL,
			"thread %d has ended: there is nothing to %s, but its counts can be read; "
			"load another",
			ctx->tid, verb);
	return err_set(e, EINVAL,
		"not loaded: there is nothing to %s: write 'load cpu=N' or 'load tid=N' to ctl "
		"first",
		verb);
}

int core_load_check(const struct context *ctx, const struct command *cmd, struct err *e)
{
	int rc;

	if (ctx->state != CTX_UNLOADED && ctx->tid)
		return err_set(e, EBUSY, "already loaded on thread %d: unload first", ctx->tid);
	if (ctx->state != CTX_UNLOADED)
		return err_set(e, EBUSY, "already loaded on CPU %u: unload first", ctx->cpu);
	rc = cmd->tid ? thread_check(ctx, cmd, e) : cpu_check(ctx, cmd, e);
	if (rc < 0)
		return rc;
	if (cmd->has_set && !ctx_set(ctx, cmd->set))
		return err_set(e, EINVAL, "no event set %u: make it first", cmd->set);
	return sets_check(ctx, e);
}

/* All that any set uses is claimed now, so that no switch finds it taken. */
static int load_begin(struct context *ctx, const struct command *cmd, struct step *st,
	struct plan *plan, struct err *e)
{
	struct evtset *set = ctx_set(ctx, cmd->has_set ? cmd->set : 0);
	struct image other;

	evtset_save(set, ctx->active, &st->undo);
	if (!ctx->messages.ring && messages_reset(&ctx->messages) < 0)
		return err_set(e, ENOMEM, "no memory for the message queue");
	ctx->cpu = cmd->cpu;
	ctx->tid = cmd->tid;
	image_of(ctx->pmu, set->pmc, false, &st->target);
	for (unsigned i = 0; i < ctx->nsets; i++) {
		image_of(ctx->pmu, ctx->sets[i]->pmc, false, &other);
		image_reserve(ctx->pmu, &st->target, &other);
	}
	ctx->active = set;
	return transition_begin(ctx, st, plan, e);
}

static int loaded(struct context *ctx, const struct command *cmd)
{
	sets_link(ctx);
	evtset_activate(ctx->active);
	messages_reset(&ctx->messages);
	ctx->limits = cmd->limits;
	ctx->kernel_ip = cmd->rights.kernel;
	ctx->mask_due = 0;
	ctx->tell = false;
	ctx->report = 0;
	ctx->ended = false;
	ctx_set_state(ctx, CTX_LOADED);
	if (!ctx->tid)
		ctx->flags |= CTX_SYSTEM_WIDE;
	ctx->ever_loaded = true;
	return CORE_DONE;
}

int step_load(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	int rc;

	if (!transition_active(st)) {
		rc = core_load_check(ctx, cmd, e);
		if (rc < 0)
			return rc;
		rc = load_begin(ctx, cmd, st, plan, e);
	} else {
		rc = transition_step(ctx, st, plan, e);
	}
	if (rc < 0) {
		ctx->active = st->undo.from;
		live_refresh(ctx, st->undo.set);
	}
	return rc == CORE_DONE ? loaded(ctx, cmd) : rc;
}

/* Stopped some time ago: is what is to be put back still ours? What is not is left alone. */
static int verify(struct context *ctx, struct step *st, struct plan *plan)
{
	plan_clear(plan);
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
		if (ctx->hold->claimed_sel[p])
			plan_add(plan, REG_READ, ctx->pmu->pmcs[p].addr, 0, 0);
	st->phase = PHASE_VERIFY;
	return CORE_RUN;
}

static void take_verified(struct context *ctx, const struct plan *plan)
{
	for (unsigned p = 0; p < ctx->pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(plan, ctx->pmu->pmcs[p].addr);
		uint64_t differ = selector_differs(ctx, p, op);

		if (differ)
			selector_disown(ctx, p, differ);
	}
}

/*
 * Selectors first, the global control last. A counter whose selector was taken over is the other
 * one's now, and so is its bit of the global control; forgetting costs no access.
 */
static int release(struct context *ctx, struct step *st, struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	uint64_t ours_global = 0;

	plan_clear(plan);
	for (unsigned p = 0; p < pmu->npmcs; p++) {
		if (ctx->hold->claimed_sel[p])
			plan_add(
				plan, REG_RELEASE, pmu->pmcs[p].addr, 0, ctx->hold->claimed_sel[p]);
		if (ctx->hold->hw.pmcs & ROW(p))
			plan_add(
				plan, REG_FORGET, pmu->pmcs[p].addr, 0, ~ctx->hold->claimed_sel[p]);
	}
	for (unsigned d = 0; d < pmu->npmds; d++) {
		bool ours = ctx->hold->claimed_sel[pmu->pmds[d].pmc] & image_field(pmu, d);

		if (ours)
			ours_global |= image_global_bits(pmu, ROW(d));
		if (ctx->hold->claimed_pmds & ROW(d))
			plan_add(
				plan, ours ? REG_RELEASE : REG_FORGET, pmu->pmds[d].addr, 0, ~0ULL);
	}
	if (ctx->hold->claimed_global & ours_global)
		plan_add(plan, REG_RELEASE, pmu->global_ctrl, 0,
			ctx->hold->claimed_global & ours_global);
	if (ctx->hold->claimed_global & ~ours_global)
		plan_add(plan, REG_FORGET, pmu->global_ctrl, 0,
			ctx->hold->claimed_global & ~ours_global);
	st->phase = PHASE_RELEASE;
	return CORE_RUN;
}

static int unloaded(struct context *ctx, struct step *st, struct err *e)
{
	*ctx->hold = (struct hold){0};
	ctx->active = ctx->sets[0];
	ctx->block = false;
	ctx_set_state(ctx, CTX_UNLOADED);
	if (!st->err.no)
		return CORE_DONE;
	*e = st->err;
	return -e->no;
}

int step_unload(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	if (stop_active(st)) {
		/* Whether it could be stopped or not: putting registers back stops it too. */
		if (stop_step(ctx, st, plan, e) == CORE_RUN)
			return CORE_RUN;
		stop_report(ctx, plan);
		if (st->err.no == ENXIO)
			st->err.no = 0; /* a CPU that is gone has nothing to be put back */
		return release(ctx, st, plan);
	}
	switch (st->phase) {
	case PHASE_VERIFY:
		take_verified(ctx, plan);
		if (plan_failed(plan) && plan_rest(plan))
			return CORE_RUN;
		return release(ctx, st, plan);
	case PHASE_RELEASE:
		if (plan_failed(plan)) {
			st->err = plan->err;
			if (plan_rest(plan))
				return CORE_RUN;
		}
		return unloaded(ctx, st, e);
	default:
		if (ctx->state == CTX_UNLOADED)
			return CORE_DONE;
		if (ctx_parked(ctx))
			return unloaded(ctx, st, e);
		return ctx->state == CTX_RUNNING ? stop_begin(ctx, st, plan)
						 : verify(ctx, st, plan);
	}
}

int step_end(struct context *ctx, struct step *st, struct plan *plan, struct err *e)
{
	struct pfm_msg m = {
		.type = PFM_MSG_END,
		.set = ctx->active->id,
		.cpu = (uint16_t)ctx->cpu,
		.pid = (uint32_t)ctx->pid,
		.tid = (uint32_t)ctx->tid,
	};
	enum ctx_state was = ctx->state;
	int rc;

	if (was == CTX_UNLOADED)
		return CORE_DONE; /* somebody has been quicker */
	rc = step_unload(ctx, st, plan, e);
	if (rc == CORE_RUN)
		return rc;
	ctx->ended = true;
	ctx->ended_as = was;
	ctx->count.notified++;
	ctx->count.messages_lost += !messages_put(&ctx->messages, &m);
	return rc;
}
