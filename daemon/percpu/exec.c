// SPDX-License-Identifier: MIT
#include "daemon/percpu/exec.h"

#include <errno.h>

#include "base/container.h"
#include "daemon/percpu/interrupts.h"

static struct executor *exec_of(struct core_run *run)
{
	return container_of(run, struct executor, run);
}

static unsigned exec_run(struct core_run *run, struct reg_op *ops, unsigned n, struct err *e)
{
	struct executor *x = exec_of(run);

	return x->be->ops->run(x->cpu, ops, n, e);
}

static int exec_try_selector(struct core_run *run, uint32_t addr, uint64_t value, struct err *e)
{
	struct backend *be = exec_of(run)->be;

	return be->ops->try_selector ? be->ops->try_selector(be, addr, value, e) : 0;
}

static uint64_t exec_now(struct core_run *run)
{
	struct executor *x = exec_of(run);

	run->clock = x->be->ops->now(x->be);
	/* The core takes 0 for no time. */
	return x->cpu && x->thread ? x->be->ops->thread_time(x->cpu) + 1 : run->clock;
}

static void exec_fetch(struct core_run *run)
{
	struct executor *x = exec_of(run);
	struct virtual_moment at = {
		.now = x->moment ? x->moment : x->be->ops->now(x->be),
		.where = core_where(run),
		.be = x->be,
		.kernel = run->ctx->samples.kernel_ip,
		.cpu = run->ctx->target.tid ? NULL : x->cpu,
	};

	at.elapsed = ctx_elapsed(run->ctx, at.now);
	virtual_pmd_fetch(&x->virtuals, x->be->pmu, &at, &run->virt);
}

static int exec_threads(struct core_run *run, struct thread_table *out, struct err *e)
{
	struct executor *x = exec_of(run);

	if (!x->cpu || !x->thread || !x->be->ops->thread_table)
		return 0;
	return x->be->ops->thread_table(x->cpu, out, e);
}

static const struct pmu_io exec_io = {
	.run = exec_run,
	.try_selector = exec_try_selector,
	.now = exec_now,
	.fetch = exec_fetch,
	.threads = exec_threads,
};

/* The core knows that a register is in use; the backend may know by which program. */
static void exec_name_owner(struct executor *x, struct err *e)
{
	struct core_run *run = &x->run;
	TEXT_CLEANUP struct text owner = {0};
	struct err conflict = *e;

	x->be->ops->pmu_owner(
		x->be, run->ctx->target.cpu, run->conflict.addr, run->conflict.value, &owner);
	if (text_ok(&owner) && owner.n)
		err_set(e, conflict.no, "%s: by %s", conflict.text, owner.p);
}

static void exec_add(atomic_ullong *sum, uint64_t now, uint64_t before)
{
	if (now != before)
		atomic_fetch_add_explicit(sum, now - before, memory_order_relaxed);
}

static void exec_add_up(
	struct exec_stats *s, const struct ctx_count *now, const struct ctx_count *before)
{
	exec_add(&s->stolen, now->stolen, before->stolen);
	exec_add(&s->leapt, now->leapt, before->leapt);
	exec_add(&s->switches, now->switches, before->switches);
	exec_add(&s->overflows, now->overflows, before->overflows);
	exec_add(&s->messages_lost, now->messages_lost, before->messages_lost);
}

/* True if the command may change periods. A restart that resets no PMD only frees memory: to tell
 * the kernel the periods again would cost an overflow. */
static bool exec_sets_periods(const struct context *ctx, enum cmd_verb verb)
{
	if (verb == CMD_RESTART)
		return ctx->state != CTX_RUNNING || ctx->active->pending;
	return verb == CMD_START || verb == CMD_WRITE || verb == CMD_RESUME;
}

/* Finds the thread that was running, if that is known by now. */
static void exec_locate(struct executor *x, struct context *ctx)
{
	uint64_t before;

	x->run.where = (pfm_smpl_where_t){0};
	if (!x->sample_tick)
		return;
	before = ip_sampler_lost(x->sample_tick->ip_sampler);
	sample_tick_read(x->sample_tick, ctx, x->be->ops->now(x->be), &x->run.where);
	exec_add(&x->stats->attribution_lost, ip_sampler_lost(x->sample_tick->ip_sampler), before);
}

/* Sets the PMU of a load on a CPU, whose type is known by now. For a load on a thread, the caller
 * sets it. */
static void exec_set_type(const struct executor *x, struct command *cmd)
{
	if (cmd->verb == CMD_LOAD && !cmd->tid && x->be->types)
		cmd->load.pmu = backend_cpu_pmu(x->be, cmd->load.cpu);
}

/* Notes when counters start, by a plan that is left to be run. */
static void exec_note_start(struct executor *x, const struct context *ctx, enum ctx_state was)
{
	if (x->be->interrupts && was != CTX_RUNNING && ctx->state == CTX_RUNNING)
		x->resumed = x->be->ops->now(x->be);
}

int exec_command(struct executor *x, struct context *ctx, struct command *cmd, struct err *e)
{
	struct ctx_count before = ctx->count;
	enum ctx_state was = ctx->state;
	bool periods;
	int rc;

	x->run.io = &exec_io;
	exec_locate(x, ctx);
	interrupts_take(x, ctx);
	exec_set_type(x, cmd);
	periods = exec_sets_periods(ctx, cmd->verb);
	rc = cmd->verb == CMD_START ? interrupts_check_start(x, ctx, e) : 0;
	if (rc == 0)
		rc = core_command(&x->run, ctx, cmd, e);
	exec_note_start(x, ctx, was);
	/* The lines before a bad one have been written. */
	if (periods && (rc >= 0 || cmd->verb == CMD_WRITE))
		interrupts_arm(x, ctx);
	exec_add_up(x->stats, &ctx->count, &before);
	if (rc == -EBUSY && x->run.conflict.addr)
		exec_name_owner(x, e);
	return rc;
}

int exec_last_failed(struct executor *x, struct err *e)
{
	struct context *ctx = x->run.ctx;
	struct ctx_count before = ctx->count;
	int rc = core_last_failed(&x->run, e);

	exec_add_up(x->stats, &ctx->count, &before);
	return rc;
}
