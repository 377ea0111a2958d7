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

static void advanced(void *arg)
{
	struct call *call = arg;

	call_write_done(call, 0, NULL);
	free(call);
}

/*
 * Model time runs ahead of the workers' clocks: so that no counter wraps unseen, one step is no
 * longer than the time between two looks at the counters, and each step has them looked at.
 */
static int advance(struct call *call, struct slice text, struct err *e)
{
	const struct pmu *pmu = call->fs->be->pmu;
	uint64_t limit = pmu_poll_ns(pmu), ns;
	struct call *kept;

	if (num_u64(slice_trim(text), &ns, e) < 0)
		return -e->no;
	if (limit && ns > limit)
		return err_set(e, ERANGE,
			"counters could wrap unseen: advance at most %llu ns at a time",
			(unsigned long long)limit);
	kept = malloc(sizeof(*kept));
	if (!kept)
		return err_set(e, ENOMEM, "no memory");
	*kept = *call;
	if (hw_knob_store(call->fs->be->sim->hw, "advance", text, e) < 0) {
		free(kept);
		return -e->no;
	}
	engine_poll_all(call->fs->eng, advanced, kept);
	return CALL_LATER;
}

int knob_store(struct call *call, struct slice text, struct err *e)
{
	if (strcmp(call->node.row->name, "advance") == 0)
		return advance(call, text, e);
	return hw_knob_store(call->fs->be->sim->hw, call->node.row->name, text, e);
}
