// SPDX-License-Identifier: MIT
/*
 * A background context gives its CPU to another context: its counters stop and are read, and its
 * registers are restored, as at unload. Its state stays what it was: it is saved, like the context
 * of a thread that does not run, until it resumes. A yield is never undone.
 */
#include "daemon/core/core_i.h"

int cmd_yield(struct core_run *run)
{
	struct context *ctx = run->ctx;
	struct err ignored = {0}; /* the counts that it has cost are lost */
	pmu_rows counting;

	if (ctx->state == CTX_UNLOADED || ctx->yielded)
		return 0; /* an unload has come first */
	counting = ctx->state == CTX_RUNNING ? ctx->res->hw.pmds : 0;
	registers_release(run, CTX_RUNNING, &ignored);
	if (ctx->state == CTX_RUNNING)
		gap_open(ctx, counting);
	ctx->yielded = true;
	ctx->count.changes++;
	overflow_act_saved(ctx);
	return 0;
}

/* Starts a context that has resumed: its state is LOADED and becomes RUNNING again. */
static int yield_start_again(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	uint64_t began = ctx->clock.began;
	struct err ignored = {0};
	int rc;

	evtset_save(ctx->active, ctx->active, &run->undo.sets);
	rc = start_counters(run, &ctx->limits, e);
	ctx->clock.began = run->undo.sets.began = began;
	run->undo.kind = UNDO_RESUME;
	if (rc < 0)
		registers_release(run, CTX_LOADED, &ignored);
	return rc;
}

/* The register access that starts the counters has failed. */
int resume_last_failed(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	struct err ignored = {0};
	int rc = start_last_failed(run, e);

	registers_release(run, CTX_LOADED, &ignored);
	ctx->state = CTX_RUNNING;
	ctx->yielded = true;
	ctx->gap.open = true;
	ctx->count.changes++;
	return rc;
}

/* If a register is not free, or the CPU is offline, the context stays saved, and the command can be
 * tried again. */
int cmd_resume(struct core_run *run, struct err *e)
{
	struct context *ctx = run->ctx;
	enum ctx_state state = ctx->state;
	struct image im;
	int rc;

	gap_end_yield(ctx, run->now);
	ctx->yielded = false;
	if (state == CTX_RUNNING)
		ctx->state = CTX_LOADED;
	registers_image(ctx, ctx->active, &im);
	rc = transition(run, &im, false, e);
	if (rc == 0 && state == CTX_RUNNING)
		rc = yield_start_again(run, e);
	if (rc < 0) {
		ctx->state = state;
		ctx->yielded = true;
		return rc;
	}
	ctx->count.changes++;
	return rc;
}
