// SPDX-License-Identifier: MIT
/* Reading the counters of all contexts on CPUs, to find overflows. */
#include <stdlib.h>

#include "daemon/engine/engine_i.h"

/* One call of engine_poll_all(): done() is called with the last job. */
struct poll_round {
	/* Jobs under way, and 1 while more are submitted. */
	unsigned left;
	void (*done)(void *arg);
	void *arg;
};

struct poll_job {
	struct job job;
	struct poll_round *round;
};

static void poll_round_put(struct poll_round *r)
{
	if (--r->left)
		return;
	r->done(r->arg);
	free(r);
}

static void poll_job_done(struct job *job)
{
	struct poll_job *p = container_of(job, struct poll_job, job);

	poll_round_put(p->round);
	free(p);
}

void engine_poll_all(struct engine *eng, void (*done)(void *arg), void *arg)
{
	struct poll_round *r = calloc(1, sizeof(*r));
	struct engine_ctx *ec, *next;

	if (!r) {
		done(arg);
		return;
	}
	*r = (struct poll_round){.left = 1, .done = done, .arg = arg};
	list_for_each_entry_safe (ec, next, &eng->loaded, loaded_entry) {
		struct poll_job *p = calloc(1, sizeof(*p));

		if (!p)
			break;
		p->round = r;
		p->job.ec = ec;
		p->job.cmd.verb = CMD_POLL;
		p->job.session_done = true;
		p->job.done = poll_job_done;
		r->left++;
		engine_submit(eng, &p->job);
	}
	poll_round_put(r);
}
