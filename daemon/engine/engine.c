// SPDX-License-Identifier: MIT
#include "daemon/cpu/engine.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/cpu/engine_i.h"

/* What the tracker asks for. */

static void submit(void *arg, struct job *job)
{
	engine_submit(arg, job);
}

static void resubmit(void *arg, struct tenant *t)
{
	engine_submit_bounced(arg, t);
}

static void submit_waiting(void *arg)
{
	engine_submit_waiting(arg);
}

static const struct tracker_ops tracker_ops = {submit, resubmit, submit_waiting};

int engine_new(struct backend *be, struct engine **out, struct err *e)
{
	CLEANUP_FREE struct engine *eng = calloc(1, sizeof(*eng));
	int rc;

	if (!eng)
		return err_set(e, ENOMEM, "no memory");
	eng->be = be;
	eng->x.be = be;
	eng->x.stats = &eng->stats.exec;
	eng->box.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (eng->box.fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	rc = tracker_new(be, &eng->box, &eng->stats, &tracker_ops, eng, &eng->tracker, e);
	if (rc < 0)
		return rc;
	*out = take_ptr(&eng);
	return 0;
}

void engine_free(struct engine *eng)
{
	engine_drain(eng);
	tracker_stop(eng->tracker);
	engine_news(eng);
	tracker_free(eng->tracker);
	virtuals_close(&eng->x.virtuals);
	close(eng->box.fd);
	free(eng);
}

struct engine_stats *engine_stats(struct engine *eng)
{
	return &eng->stats;
}

int engine_news_fd(const struct engine *eng)
{
	return eng->box.fd;
}

int engine_tenant_init(struct engine *eng, struct tenant *t)
{
	*t = (struct tenant){.news.kind = NEWS_UNLOADED, .happened.kind = NEWS_HAPPENED};
	return ctx_init(&t->ctx, eng->be->pmu);
}

void engine_tenant_free(struct tenant *t)
{
	ctx_free(&t->ctx);
}

void engine_watch(struct engine *eng, struct tenant *t)
{
	if (!atomic_exchange(&t->watched, true) && t->home)
		eng->watched++;
}

const struct tenant *engine_owner(const struct engine *eng, unsigned cpu)
{
	for (const struct tenant *t = eng->loaded; t; t = t->loaded_next)
		if (worker_cpu(t->home) == cpu)
			return t;
	return NULL;
}

unsigned engine_on_cpus(const struct engine *eng)
{
	unsigned n = 0;

	for (const struct tenant *t = eng->loaded; t; t = t->loaded_next)
		n++;
	return n;
}

bool engine_carries(const struct engine *eng, unsigned cpu)
{
	return tracker_carries(eng->tracker, cpu);
}

static void wait_for_news(struct engine *eng)
{
	struct pollfd p = {.fd = eng->box.fd, .events = POLLIN};

	poll(&p, 1, -1);
	engine_news(eng);
}

/* An unload without a client, for which there is always memory. */
struct last_unload {
	struct job job;
	bool done;
};

static void unload_done(struct job *job)
{
	link_entry(job, struct last_unload, job)->done = true;
}

static void unload(struct engine *eng, struct tenant *t)
{
	struct last_unload last = {
		.job =
			{
				.tenant = t,
				.cmd.verb = CMD_UNLOAD,
				.done = unload_done,
				.here = true,
			},
	};

	engine_submit(eng, &last.job);
	while (!last.done)
		wait_for_news(eng);
}

void engine_drain(struct engine *eng)
{
	struct tenant *t;

	eng->ending = true;
	tracker_wait_no_more(eng->tracker);
	while (eng->loaded) {
		t = eng->loaded;
		unload(eng, t);
		while (eng->loaded == t)
			wait_for_news(eng);
	}
	while ((t = tracker_any(eng->tracker))) {
		unload(eng, t);
		while (t == tracker_any(eng->tracker))
			wait_for_news(eng);
	}
	while (eng->stats.workers || eng->survey || !tracker_idle(eng->tracker))
		wait_for_news(eng);
}

uint64_t engine_wake(const struct engine *eng)
{
	uint64_t soonest = 0;

	for (const struct tenant *t = eng->loaded; t; t = t->loaded_next) {
		uint64_t at = worker_wake(t->home);

		if (at && (!soonest || at < soonest))
			soonest = at;
	}
	return soonest;
}
