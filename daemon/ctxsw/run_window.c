// SPDX-License-Identifier: MIT
/*
 * Code that a ctxsw thread executes in user mode between the register access that starts the
 * counters and the one that stops them is counted. That code is ctxsw_run_window(), which therefore
 * does as little as possible, and the same for any context. As its cost is constant, it is
 * calibrated once for each configuration of PMCs (calibrate.c), and the core subtracts it.
 */
#include "base/raw_syscall.h"
#include "daemon/ctxsw/ctxsw_i.h"

__attribute__((noinline)) long ctxsw_run_window(struct ctxsw_thread *ct, struct timespec *timeout)
{
	long n;

	if (ct->run.start_pending)
		exec_last(&ct->x, &ct->err);
	ctxsw_set_works(ct, 0);
	n = raw_syscall6(SYS_ppoll, (long)ct->fds, ct->nfds, (long)timeout, 0, 0, 0);
	ctxsw_set_works(ct, 1);
	exec_freeze_counting(&ct->x);
	return n;
}

void ctxsw_sched_in(struct ctxsw_thread *ct, struct context *ctx)
{
	ct->x.sample_tick =
		ctx_attributes(ctx) && ct->sample_tick.ip_sampler ? &ct->sample_tick : NULL;
	ctx->res = &ct->cpu_ctx.own;
	ctx->target.cpu = ct->cpu;
	ct->run.start_pending = exec_command(&ct->x, ctx, &ct->in, &ct->err) == EXEC_LAST;
}

void ctxsw_sched_out(struct ctxsw_thread *ct, struct context *ctx)
{
	ct->run.start_pending = false;
	exec_command(&ct->x, ctx, &ct->out, &ct->err);
	ct->x.sample_tick = NULL;
}

int ctxsw_exec_cpu_ctx(struct ctxsw_thread *ct, struct command *cmd, struct err *e)
{
	int rc;

	if (command_freezes(cmd->verb))
		exec_freeze(&ct->x, &ct->cpu_ctx);
	rc = exec_command(&ct->x, &ct->cpu_ctx, cmd, e);
	return rc == EXEC_LAST ? exec_last(&ct->x, e) : rc;
}
