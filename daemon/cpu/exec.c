// SPDX-License-Identifier: MIT
#include "daemon/cpu/exec.h"

#include <errno.h>

/* The core knows that a register is in other hands; whose, the backend may know. */
static void name_holder(struct backend *be, const struct context *ctx, const struct step *st,
	struct err *e)
{
	TEXT_CLEANUP struct text who = {0};
	struct err said = *e;

	be->ops->holder(be, ctx->cpu, st->blame, st->blame_value, &who);
	if (text_ok(&who) && who.n)
		err_set(e, said.no, "%s: by %s", said.text, who.p);
}

int exec_command(struct backend *be, struct backend_cpu *cpu, struct context *ctx,
	struct command *cmd, struct plan *plan, struct err *e)
{
	struct step st = {0};
	int rc;

	plan_clear(plan);
	while ((rc = core_step(ctx, cmd, &st, plan, be->ops->now(be), e)) == CORE_RUN)
		plan->done = be->ops->run(cpu, plan->op, plan->n, &plan->err);
	if (rc == -EBUSY && st.blame)
		name_holder(be, ctx, &st, e);
	return rc;
}
