// SPDX-License-Identifier: MIT
/* sim/: the knobs of the hardware model, if the backend is one. */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/num.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/pending_request.h"
#include "perfmonfs/sim.h"

static int sim_read(struct call *call, struct text *out, struct err *e)
{
	return hw_knob_show(call->fs->be->sim->hw, call->node.row->name, out, e);
}

static int sim_store(struct call *call, struct slice text, struct err *e)
{
	return hw_knob_store(call->fs->be->sim->hw, call->node.row->name, text, e);
}

/* A write to sim/advance. */
struct sim_advance {
	struct request request;
	/* Remaining model time, ns. */
	uint64_t left;
};

/* The time until a context needs attention, at most the remaining time. */
static uint64_t sim_next_step(const struct sim_advance *a)
{
	struct fs *fs = a->request.call.fs;
	uint64_t now = hw_now(fs->be->sim->hw), wake = engine_wake(fs->eng);

	return wake > now && wake - now < a->left ? wake - now : a->left;
}

/* Takes one step. After an interrupt, advance shows how far model time has gone. */
static void sim_advance_step(void *arg)
{
	struct sim_advance *a = arg;
	struct fs *fs = a->request.call.fs;
	uint64_t ns = sim_next_step(a);

	if (a->left && !a->request.interrupted) {
		a->left -= ns;
		hw_advance(fs->be->sim->hw, ns);
		engine_poll_all(fs->eng, sim_advance_step, a);
		return;
	}
	request_end(&a->request);
	if (a->left)
		fuse_reply_err(a->request.call.req, EINTR);
	else
		call_write_done(&a->request.call, 0, NULL);
	free(a);
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
	uint64_t limit = sim_advance_limit(call->fs->be), ns;
	struct sim_advance *a;

	if (num_u64(slice_trim(text), &ns, e) < 0)
		return -e->no;
	if (!call->fs->be->scripted)
		return err_set(e, EINVAL,
			"the clock runs in real time: start perfmonfs with --clock=script to "
			"advance it here");
	if (limit && ns > limit)
		return err_set(e, ERANGE,
			"counters could wrap unseen: advance at most %llu ns at a time",
			(unsigned long long)limit);
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(e, ENOMEM, "no memory");
	a->left = ns;
	if (request_begin(&a->request, call, sizeof(*a), request_note_interrupted, e) < 0) {
		free(a);
		return -e->no;
	}
	/* Events that are due are handled before more is counted. */
	engine_poll_all(call->fs->eng, sim_advance_step, a);
	return CALL_LATER;
}

const struct row rows_sim[] = {
	{DIR_ROW(DIR_ROOT, DIR_SIM, "sim", 0500)},
	{FILE_ROW(DIR_SIM, "advance", 0600), .read = sim_read, .store = sim_store_advance},
	{FILE_ROW(DIR_SIM, "offline", 0600), .length = LINES_OF_MACHINE, .read = sim_read,
		.store = sim_store},
	{FILE_ROW(DIR_SIM, "fault", 0600), .length = LINES_OF_MACHINE, .read = sim_read,
		.store = sim_store},
	{FILE_ROW(DIR_SIM, "poke", 0600), .length = LINES_OF_MACHINE, .read = sim_read,
		.store = sim_store},
	ROW_END,
};
