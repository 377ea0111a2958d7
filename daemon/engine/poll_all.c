// SPDX-License-Identifier: MIT
/* A look at all contexts on CPUs, for what has overflowed. */
#include <stdlib.h>

#include "daemon/cpu/engine_i.h"

/* One round of polls: the last job to be done calls back. */
struct round {
	unsigned left;
	void (*after)(void *arg);
	void *arg;
};

struct poll_job {
	struct job job;
	struct round *round;
};

static void round_done(struct round *r)
{
	if (--r->left)
		return;
	r->after(r->arg);
	free(r);
}

static void poll_done(struct job *job)
{
	struct poll_job *p = link_entry(job, struct poll_job, job);

	round_done(p->round);
	free(p);
}

void engine_poll_all(struct engine *eng, void (*after)(void *arg), void *arg)
{
	struct round *r = calloc(1, sizeof(*r));

	if (!r) {
		after(arg);
		return;
	}
	*r = (struct round){.left = 1, .after = after, .arg = arg};
	for (struct tenant *t = eng->loaded, *next; t; t = next) {
		struct poll_job *p = calloc(1, sizeof(*p));

		next = t->loaded_next;
		if (!p)
			break;
		p->round = r;
		p->job.tenant = t;
		p->job.cmd.verb = CMD_POLL;
		p->job.here = true;
		p->job.done = poll_done;
		r->left++;
		engine_submit(eng, &p->job);
	}
	round_done(r);
}
