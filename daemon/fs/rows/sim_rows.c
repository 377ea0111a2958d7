// SPDX-License-Identifier: MIT
/* sim/: the knobs of the hardware model, where there is one. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "perfmonfs/sim.h"

int knob_show(struct call *call, struct text *out, struct err *e)
{
	return hw_knob_show(call->fs->be->sim->hw, call->node.row->name, out, e);
}

struct advance {
	struct call call;
	uint64_t left; /* ns */
};

/* The time until a context wants to be looked at, if that comes first. */
static uint64_t step_of(const struct advance *a)
{
	struct fs *fs = a->call.fs;
	uint64_t now = hw_now(fs->be->sim->hw), wake = engine_wake(fs->eng);

	return wake > now && wake - now < a->left ? wake - now : a->left;
}

/* What is interrupted has come as far as sim/advance says. */
static void advance_on(void *arg)
{
	struct advance *a = arg;
	struct fs *fs = a->call.fs;
	uint64_t ns;

	if (a->left && fuse_req_interrupted(a->call.req)) {
		fuse_reply_err(a->call.req, EINTR);
		free(a);
	} else if (a->left) {
		ns = step_of(a);
		a->left -= ns;
		hw_advance(fs->be->sim->hw, ns);
		engine_poll_all(fs->eng, advance_on, a);
	} else {
		call_write_done(&a->call, 0, NULL);
		free(a);
	}
}

/*
 * Model time runs ahead of the workers' clocks. So that what happens at a certain time happens
 * then, it passes in steps to the next such time, each followed by a look at the counters; and so
 * that no counter wraps unseen, it is no more at once than the time between two such looks.
 */
static int advance(struct call *call, struct slice text, struct err *e)
{
	uint64_t limit = pmu_poll_ns(call->fs->be->pmu), ns;
	struct advance *a;

	if (num_u64(slice_trim(text), &ns, e) < 0)
		return -e->no;
	if (limit && ns > limit)
		return err_set(e, ERANGE,
			"counters could wrap unseen: advance at most %llu ns at a time",
			(unsigned long long)limit);
	a = malloc(sizeof(*a));
	if (!a)
		return err_set(e, ENOMEM, "no memory");
	*a = (struct advance){.call = *call, .left = ns};
	/* What is due comes before anything more counts. */
	engine_poll_all(call->fs->eng, advance_on, a);
	return CALL_LATER;
}

int knob_store(struct call *call, struct slice text, struct err *e)
{
	if (strcmp(call->node.row->name, "advance") == 0)
		return advance(call, text, e);
	return hw_knob_store(call->fs->be->sim->hw, call->node.row->name, text, e);
}
