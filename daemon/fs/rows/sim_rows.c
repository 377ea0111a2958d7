// SPDX-License-Identifier: MIT
/* sim/: the knobs of the hardware model, if the backend is one. */
#include "daemon/fs/rows/rows.h"

#include <errno.h>

#include "base/num.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/tree/fs_state.h"
#include "perfmonfs/sim.h"

static int sim_read(struct call *call, struct text *out, struct err *e)
{
	return hw_knob_show(call->fs->be->sim->hw, call->node.row->name, out, e);
}

static int sim_store(struct call *call, struct slice text, struct err *e)
{
	return hw_knob_store(call->fs->be->sim->hw, call->node.row->name, text, e);
}

/* The time until a context needs attention, at most @left. */
static uint64_t sim_next_step(struct fs *fs, uint64_t left)
{
	uint64_t now = hw_now(fs->be->sim->hw), wake = engine_wake(fs->eng);

	return wake > now && wake - now < left ? wake - now : left;
}

static int sim_poll_all(struct call *call, struct err *e)
{
	struct fiber_wait polled = {0};

	engine_poll_all(call->fs->eng, await_wake, &polled);
	return await_event(call, &polled, e);
}

/* The longest time in which no counter of any CPU wraps unseen, ns; 0 means no limit. */
static uint64_t sim_advance_limit(const struct backend *be)
{
	uint64_t limit = be->types ? UINT64_MAX : pmu_poll_ns(be->pmu);

	for (unsigned i = 0; be->types && i < be->types->n; i++) {
		uint64_t ns = pmu_poll_ns(&be->types->of[1U << i]);

		if (ns < limit)
			limit = ns;
	}
	return limit;
}

/*
 * Model time runs ahead of the workers' clocks. It advances in steps, each to the next time at
 * which a context needs attention and each followed by a poll of all counters, so that events
 * happen at the right time.
 */
static int sim_store_advance(struct call *call, struct slice text, struct err *e)
{
	uint64_t limit = sim_advance_limit(call->fs->be), left;
	int rc;

	if (num_u64(slice_trim(text), &left, e) < 0)
		return -e->no;
	if (!call->fs->be->scripted)
		return err_set(e, EINVAL,
			"the clock runs in real time: start perfmonfs with --clock=script to "
			"advance it here");
	if (limit && left > limit)
		return err_set(e, ERANGE,
			"counters could wrap unseen: advance at most %llu ns at a time",
			(unsigned long long)limit);
	/* Events that are due are handled before more is counted. After an interrupt, advance shows
	 * how far model time has gone. */
	rc = sim_poll_all(call, e);
	while (rc == 0 && left) {
		uint64_t ns = sim_next_step(call->fs, left);

		left -= ns;
		hw_advance(call->fs->be->sim->hw, ns);
		rc = sim_poll_all(call, e);
	}
	return rc;
}

const struct row rows_sim[] = {
	{DIR_ROW(DIR_ROOT, DIR_SIM, "sim", 0500)},
	{FILE_ROW(DIR_SIM, "advance", 0600), .flags = ROW_WAITS, .read = sim_read,
		.store = sim_store_advance},
	{FILE_ROW(DIR_SIM, "offline", 0600), .length = LINES_OF_MACHINE, .read = sim_read,
		.store = sim_store},
	{FILE_ROW(DIR_SIM, "fault", 0600), .length = LINES_OF_MACHINE, .read = sim_read,
		.store = sim_store},
	{FILE_ROW(DIR_SIM, "poke", 0600), .length = LINES_OF_MACHINE, .read = sim_read,
		.store = sim_store},
	ROW_END,
};
