// SPDX-License-Identifier: MIT
/* Running plans and fetching virtual PMDs through struct pmu_io. */
#include "daemon/core/core_i.h"

void plan_fetch(struct core_run *run, pmu_rows rows)
{
	run->virt.want = rows;
	if (rows & ~run->virt.asked)
		run->io->fetch(run);
	run->now = run->io->now(run);
}

static bool plan_run_and_fetch(struct core_run *run, struct plan *plan, pmu_rows virtuals)
{
	plan->done = plan->n ? run->io->run(run, plan->op, plan->n, &plan->err) : 0;
	plan_fetch(run, virtuals);
	return !plan_failed(plan);
}

bool plan_run(struct core_run *run, struct plan *plan)
{
	return plan_run_and_fetch(run, plan, 0);
}

bool plan_run_sampling(struct core_run *run, struct plan *plan)
{
	return plan_run_and_fetch(run, plan, virtuals_sampled(run->ctx));
}

void plan_run_all(struct core_run *run, struct err *e)
{
	struct plan *plan = &run->plan;

	while (!plan_run(run, plan)) {
		*e = plan->err;
		if (!plan_rest(plan))
			break;
	}
}
