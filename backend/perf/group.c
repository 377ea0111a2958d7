// SPDX-License-Identifier: MIT
#include "backend/perf/group.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backend/perf/event.h"

static int group_explain_lost(struct err *e)
{
	return err_set(e, EBUSY,
		"the kernel did not keep the thread's events on the PMU all of the time: events of "
		"whole CPUs or the NMI watchdog (kernel.nmi_watchdog) took a counter; stop, write "
		"the PMD and start again");
}

bool group_is_inherited(const struct perf_group *g)
{
	return g->conf.inherit && !g->conf.process;
}

int group_open(
	struct perf_group *g, const atomic_int *tid, const struct thread_conf *conf, struct err *e)
{
	struct thread_conf leader = *conf;
	int rc;

	*g = (struct perf_group){.tid = tid, .conf = *conf};
	g->pinned = conf->takes_counters && !conf->inherit;
	leader.takes_counters = g->pinned;
	leader.inherit = group_is_inherited(g);
	g->leader = perf_leader_new(atomic_load(tid), &leader, e);
	if (g->leader < 0 || !conf->process)
		return g->leader < 0 ? g->leader : 0;
	rc = process_new(conf->process, tid, g->leader, &g->process, e);
	if (rc < 0)
		close(g->leader);
	return rc;
}

void group_close(struct perf_group *g)
{
	for (unsigned i = 0; i < g->nparked; i++)
		close(g->parked[i].fd);
	process_free(g->process);
	close(g->leader);
}

/* The kernel has tried @sel alone when that was written. */
static int group_refused(const struct perf_group *g, uint64_t sel, int rc, struct err *e)
{
	struct err gone;

	if (rc != -EINVAL || !perfsel_hardware(sel) ||
		perf_leader_check(atomic_load(g->tid), g->leader, &gone) < 0)
		return rc;
	return err_set(e, EINVAL,
		"the PMU has too few counters for all events of the context: let it count fewer, "
		"or some of them in another event set");
}

int group_add(struct perf_group *g, const struct perf_sources *src, uint64_t sel,
	const struct perf_sampling *sampling, struct backend_stats *stats, uint64_t *id,
	struct err *e)
{
	int fd;

	if (g->conf.inherit && g->begun)
		return err_set(e, EBUSY,
			"after the first start, no event can be added to those that children "
			"inherit: unload, write the PMC, and load again");
	atomic_fetch_add_explicit(&stats->writes, 1, memory_order_relaxed);
	fd = perf_member_new(
		src, atomic_load(g->tid), g->leader, group_is_inherited(g), sel, sampling, e);
	if (fd < 0)
		return group_refused(g, sel, fd, e);
	g->current = false;
	if (ioctl(fd, PERF_EVENT_IOC_ID, id) == 0)
		return fd;
	close(fd);
	return err_set(e, EIO, "the kernel does not tell the event's number; load again");
}

bool group_park(struct perf_group *g, const struct group_member *m)
{
	if (!g->at_once || perfsel_hardware(m->sel) || g->nparked == GROUP_PARKED)
		return false;
	g->parked[g->nparked++] = *m;
	return true;
}

bool group_unpark(struct perf_group *g, uint64_t sel, struct group_member *m)
{
	for (unsigned i = 0; i < g->nparked; i++) {
		if (g->parked[i].sel != sel)
			continue;
		*m = g->parked[i];
		g->parked[i] = g->parked[--g->nparked];
		return true;
	}
	return false;
}

static bool group_read_process(struct perf_group *g)
{
	struct process_reading r;
	bool ok = process_time(g->process, &r);

	g->reading.enabled = r.enabled;
	g->reading.running = r.running;
	return ok;
}

static bool group_read_kernel(struct perf_group *g, struct backend_stats *stats)
{
	if (g->process)
		return group_read_process(g);
	atomic_fetch_add_explicit(&stats->reads, 1, memory_order_relaxed);
	return read(g->leader, &g->reading, sizeof(g->reading)) >=
	       (ssize_t)offsetof(struct group_reading, event);
}

/* It does not run, so that what it has missed does not grow. */
static void group_forget_lost(struct perf_group *g, struct backend_stats *stats)
{
	bool read = group_read_kernel(g, stats);

	g->lost = !read && !g->pinned;
	if (read)
		g->missed = g->reading.enabled - g->reading.running;
}

int group_open_process(struct perf_group *g, const struct perf_sources *src,
	const struct process_member *members, unsigned n, struct backend_stats *stats,
	struct err *e)
{
	atomic_fetch_add_explicit(&stats->writes, 1, memory_order_relaxed);
	return process_open(g->process, src, members, n, g->conf.max_files, e);
}

static int group_run(struct perf_group *g, bool on, struct backend_stats *stats, struct err *e)
{
	atomic_fetch_add_explicit(&stats->writes, 1, memory_order_relaxed);
	if (g->process)
		return process_run(g->process, on, e);
	if (ioctl(g->leader, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0) < 0)
		return err_set(e, EIO, "the kernel refuses to %s the events: %s; load again",
			on ? "start" : "stop", err_name(errno));
	return 0;
}

int group_start(struct perf_group *g, struct backend_stats *stats, struct err *e)
{
	bool waits = g->conf.on_exec && !g->begun;

	if (g->lost)
		group_forget_lost(g, stats);
	if (!waits && group_run(g, true, stats, e) < 0)
		return -e->no;
	g->begun = true;
	g->running = true;
	g->current = false;
	return 0;
}

int group_read(struct perf_group *g, struct backend_stats *stats, struct err *e)
{
	struct group_reading *r = &g->reading;

	if (!g->lost && !g->current) {
		g->lost = !group_read_kernel(g, stats) || r->enabled - r->running != g->missed;
		g->current = true;
	}
	return g->lost ? group_explain_lost(e) : 0;
}

void group_stop(struct perf_group *g, struct backend_stats *stats)
{
	struct err later;

	if (group_run(g, false, stats, &later) < 0)
		g->lost = true;
	g->running = false;
	g->current = false;
	group_read(g, stats, &later);
}

int group_count(struct perf_group *g, struct backend_stats *stats, uint64_t id, uint64_t *count,
	struct err *e)
{
	int rc = group_read(g, stats, e);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < g->reading.n; i++)
		if (g->reading.event[i].id == id) {
			*count = g->reading.event[i].value;
			return 0;
		}
	return group_explain_lost(e);
}

int group_process_count(struct perf_group *g, struct backend_stats *stats, uint64_t id,
	uint64_t *count, struct err *e)
{
	struct process_reading r;

	atomic_fetch_add_explicit(&stats->reads, 1, memory_order_relaxed);
	if (!process_count(g->process, id, &r) || r.running != r.enabled)
		return group_explain_lost(e);
	*count = r.count;
	return 0;
}
