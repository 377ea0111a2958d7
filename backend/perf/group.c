// SPDX-License-Identifier: MIT
#include "backend/perf/group.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backend/perf/event.h"
#include "backend/sysfs/sysfs.h"
#include "base/nsec.h"

/* Tolerated lag of an event's time: nanoseconds, plus the time passed divided by LAG_FRACTION. That
 * is a tick of the slowest kernel clock plus 0.4 %. */
#define LAG_FIXED    10000000ULL
#define LAG_FRACTION 256

uint64_t group_clock(void)
{
	return nsec_now(CLOCK_MONOTONIC_RAW);
}

struct perf_target group_target(const struct perf_group *g)
{
	struct perf_target t = g->tid ? perf_on_thread(atomic_load(g->tid)) : perf_on_cpu(g->cpu);

	t.inherit = group_is_inherited(g);
	return t;
}

int group_explain_lost(int no, struct err *e)
{
	if (no == ENXIO)
		return err_set(e, ENXIO,
			"the CPU went offline while it counted, and the kernel removed its events: "
			"when the CPU is online, load again");
	return err_set(e, EBUSY,
		"the kernel took the events off the PMU for a while, as other perf events or the "
		"NMI watchdog (kernel.nmi_watchdog) got a counter: stop, write the PMD and start "
		"again");
}

bool group_is_inherited(const struct perf_group *g)
{
	return g->conf.inherit && !g->conf.process;
}

int group_open_cpu(struct perf_group *g, unsigned cpu, struct err *e)
{
	static const struct thread_conf conf = {.takes_counters = true};

	*g = (struct perf_group){.cpu = cpu, .conf = conf, .pinned = true};
	g->leader = perf_leader_new(group_target(g), &conf, &g->tells_lost, e);
	return g->leader < 0 ? g->leader : 0;
}

int group_open_thread(
	struct perf_group *g, const atomic_int *tid, const struct thread_conf *conf, struct err *e)
{
	struct thread_conf leader = *conf;
	int rc;

	*g = (struct perf_group){.tid = tid, .conf = *conf};
	g->pinned = conf->takes_counters && !conf->inherit;
	leader.takes_counters = g->pinned;
	leader.inherit = group_is_inherited(g);
	g->leader = perf_leader_new(group_target(g), &leader, &g->tells_lost, e);
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

/* Explains the refusal of a member. @sel alone was already tried when it was written, so EINVAL
 * means that the group does not fit. */
static int group_refused(const struct perf_group *g, uint64_t sel, int rc, struct err *e)
{
	struct err gone;

	if (rc != -EINVAL || !perfsel_hardware(sel) ||
		(g->tid && perf_leader_check(group_target(g), g->leader, &gone) < 0))
		return rc;
	return err_set(e, EINVAL,
		"the PMU has too few counters for all events of the context: count fewer, or count "
		"some in another event set");
}

int group_resume(const struct perf_group *g, struct err *e)
{
	return g->running ? perf_group_resume(group_target(g), g->leader, e) : 0;
}

int group_add(struct perf_group *g, const struct perf_sources *src, uint64_t sel,
	const struct perf_sampling *sampling, uint64_t *id, struct err *e)
{
	int fd;

	if (g->conf.inherit && g->begun)
		return err_set(e, EBUSY,
			"events cannot be added to an inherited context once it was started: "
			"unload, write the PMC, and load again");
	fd = perf_member_new(src, group_target(g), g->leader, sel, sampling, e);
	if (fd < 0)
		return group_refused(g, sel, fd, e);
	g->current = false;
	if (ioctl(fd, PERF_EVENT_IOC_ID, id) < 0)
		err_set(e, EIO, "the kernel does not tell the event's number: load again");
	else if (group_resume(g, e) == 0)
		return fd;
	close(fd);
	return -e->no;
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
	       (ssize_t)offsetof(struct group_reading, words);
}

/* Clears @lost of a group that does not run. What it has missed therefore does not grow
 * meanwhile. */
static void group_forget_lost(struct perf_group *g, struct backend_stats *stats)
{
	bool read = group_read_kernel(g, stats);

	g->lost = read || g->pinned ? 0 : EBUSY;
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
		return err_set(e, EIO, "the kernel refuses to %s the events: %s: load again",
			on ? "start" : "stop", err_name(errno));
	return 0;
}

/* Checks that a group on a CPU got its counters. The kernel assigns them when the group is enabled,
 * but only a reading shows whether it found any. A thread gets them when it runs. */
static int group_check_counters(struct perf_group *g, struct backend_stats *stats, struct err *e)
{
	struct err later;

	if (g->tid || group_read_kernel(g, stats))
		return 0;
	group_run(g, false, stats, &later);
	return err_set(e, EBUSY,
		"no counter of the PMU is free, as other perf events or the NMI watchdog "
		"(kernel.nmi_watchdog) use them: stop some and start again");
}

int group_start(struct perf_group *g, struct backend_stats *stats, struct err *e)
{
	bool waits = g->conf.on_exec && !g->begun;

	if (g->lost == ENXIO)
		return group_explain_lost(g->lost, e);
	if (g->lost)
		group_forget_lost(g, stats);
	if (!waits && group_run(g, true, stats, e) < 0)
		return -e->no;
	g->since = group_clock();
	if (group_check_counters(g, stats, e) < 0)
		return -e->no;
	g->begun = true;
	g->running = true;
	g->current = false;
	return 0;
}

/* Nanoseconds that a CPU's group has certainly run since @since. */
static uint64_t group_ran(const struct perf_group *g)
{
	return g->running && !g->tid ? group_clock() - g->since : 0;
}

/* Reads a group that has run for @ran nanoseconds. Returns why its counts are lost, or 0. If a
 * CPU's group can be read but its time does not pass, or passes off the PMU, the kernel has
 * detached it. */
static int group_read_run(struct perf_group *g, uint64_t ran, struct backend_stats *stats)
{
	const struct group_reading *r = &g->reading;
	uint64_t passed;

	if (!group_read_kernel(g, stats))
		return !g->tid && !sysfs_cpu_online(g->cpu) ? ENXIO : EBUSY;
	if (r->enabled - r->running != g->missed)
		return g->tid ? EBUSY : ENXIO;
	passed = r->enabled - g->time;
	return (ran && !passed) || ran > passed + LAG_FIXED + ran / LAG_FRACTION ? ENXIO : 0;
}

int group_read(struct perf_group *g, struct backend_stats *stats, struct err *e)
{
	uint64_t ran = group_ran(g);

	if (!g->lost && !g->current) {
		g->lost = group_read_run(g, ran, stats);
		g->current = true;
		if (ran > NSEC_PER_SEC) {
			g->time = g->reading.enabled;
			g->since = group_clock();
		}
	}
	return g->lost ? group_explain_lost(g->lost, e) : 0;
}

void group_stop(struct perf_group *g, struct backend_stats *stats)
{
	uint64_t ran = group_ran(g);
	struct err later;

	if (group_run(g, false, stats, &later) < 0)
		g->lost = EBUSY;
	g->running = false;
	if (!g->lost)
		g->lost = group_read_run(g, ran, stats);
	g->current = true;
	g->time = g->reading.enabled;
}

int group_count(struct perf_group *g, struct backend_stats *stats, uint64_t id, uint64_t *count,
	struct err *e)
{
	int rc = group_read(g, stats, e);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < g->reading.n; i++) {
		struct group_count c = group_member_read(g, i);

		if (c.id == id) {
			*count = c.value;
			return 0;
		}
	}
	if (!g->tid)
		g->lost = ENXIO;
	return group_explain_lost(g->tid ? EBUSY : ENXIO, e);
}

int group_process_count(struct perf_group *g, struct backend_stats *stats, uint64_t id,
	uint64_t *count, struct err *e)
{
	struct process_reading r;

	atomic_fetch_add_explicit(&stats->reads, 1, memory_order_relaxed);
	if (!process_count(g->process, id, &r) || r.running != r.enabled)
		return group_explain_lost(EBUSY, e);
	*count = r.count;
	return 0;
}
