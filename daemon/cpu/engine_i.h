/* SPDX-License-Identifier: MIT */
/*
 * The parts of the engine: its life (engine.c), the way of commands (submit.c) and of news
 * (news.c), polling (poll.c) and looking at CPUs that nobody monitors (survey.c). All of it is the
 * session thread's.
 */
#ifndef CPU_ENGINE_I_H
#define CPU_ENGINE_I_H

#include "daemon/cpu/engine.h"
#include "daemon/cpu/exec.h"
#include "daemon/cpu/worker.h"
#include "daemon/track/tracker.h"

struct survey;

struct engine {
	struct backend *be;
	struct news_box box;
	struct engine_stats stats;
	struct tenant *loaded; /* those that have a home, */
	unsigned watched;      /* and how many of them are watched */
	struct survey *survey; /* the one under way */
	struct tracker *tracker;
	struct queue waiting; /* loads, until the tracker is idle or somebody is out of the way */
	bool ending;          /* nothing more is loaded */
	unsigned expected;    /* news to come, at least as many as 1 if there are any */
	uint64_t owed;        /* news taken before their senders have made the box readable */
	struct executor x;    /* of commands on unloaded contexts */
};

/* What @t has had to leave until it is the session thread's. CMD_DESTROY comes last, whatever it
 * has overtaken: true if it is among them. */
bool engine_submit_bounced(struct engine *eng, struct tenant *t);

/* The loads that were waiting: perhaps nobody is in their way any more. */
void engine_submit_waiting(struct engine *eng);

void survey_news(struct news *news);

#endif
