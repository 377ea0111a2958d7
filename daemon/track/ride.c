// SPDX-License-Identifier: MIT
/*
 * What a carrier executes in user mode between the register access that starts the counters and
 * the one that stops them is counted as its thread's: carrier_ride(), which does next to nothing.
 * Since that is always the same, it is gauged once for what the PMCs hold (gauge.c), and the core
 * subtracts it.
 */
#include "base/raw_syscall.h"
#include "daemon/track/carrier_i.h"

__attribute__((noinline)) long carrier_ride(
	struct carrier *c, struct context *ctx, struct timespec *timeout)
{
	long n;

	if (c->armed)
		exec_last(&c->x, ctx, &c->in, &c->err);
	n = raw_syscall6(SYS_ppoll, (long)c->fds, c->nfds, (long)timeout, 0, 0, 0);
	exec_quiet(&c->x, ctx);
	return n;
}

void carrier_put_in(struct carrier *c, struct context *ctx)
{
	c->x.lookout = ctx->smpl.fmt && c->lookout.witness ? &c->lookout : NULL;
	ctx->hold = &c->scratch.own;
	ctx->cpu = c->cpu;
	c->armed = exec_command(&c->x, ctx, &c->in, &c->err) == EXEC_LAST;
}

void carrier_take_out(struct carrier *c, struct context *ctx)
{
	c->armed = false;
	exec_command(&c->x, ctx, &c->out, &c->err);
	c->x.lookout = NULL;
}

int carrier_scratch(struct carrier *c, struct command *cmd, struct err *e)
{
	int rc;

	if (command_stops(cmd->verb))
		exec_quiet(&c->x, &c->scratch);
	rc = exec_command(&c->x, &c->scratch, cmd, e);
	return rc == EXEC_LAST ? exec_last(&c->x, &c->scratch, cmd, e) : rc;
}
