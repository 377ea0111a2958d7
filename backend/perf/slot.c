// SPDX-License-Identifier: MIT
/* One perf event per slot: opening, starting, stopping, and detecting that the kernel lost it. */
#include "backend/perf/slot.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "backend/sysfs/sysfs.h"
#include "base/nsec.h"

/* Nanoseconds, and divisor of the time passed: a smaller lag of an event's time is tolerated. It is
 * a tick of the slowest kernel clock plus 0.4 %. */
#define LAG_FIXED    10000000ULL
#define LAG_FRACTION 256

/* The result of read() with the read_format of event.c. */
struct slot_reading {
	uint64_t count, enabled, running;
};

/* Nanoseconds. Not CLOCK_MONOTONIC, which time daemons slew by up to several percent. */
static uint64_t slot_clock(void)
{
	return nsec_now(CLOCK_MONOTONIC_RAW);
}

static void slot_count_access(atomic_ullong *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static int slot_explain_lost(const struct perf_slot *s, struct err *e)
{
	if (s->lost == ENXIO)
		return err_set(e, ENXIO,
			"the CPU went offline while it counted, and the kernel removed its event; "
			"when the CPU is online, load again");
	return err_set(e, EBUSY,
		"the kernel did not keep the event on the PMU all of the time: other perf events "
		"or the NMI watchdog (kernel.nmi_watchdog) took its counter, or the CPU was "
		"offline; stop, write the PMD and start again");
}

static int slot_lose(struct perf_slot *s, int no, struct err *e)
{
	close(s->fd);
	s->fd = -1;
	s->running = false;
	s->lost = no;
	return slot_explain_lost(s, e);
}

/*
 * Reads the event and checks that it has counted all of the time.
 *
 * When a CPU goes offline, the kernel silently detaches its events: they can still be read, stopped
 * and started, but their count and time no longer advance, even after the CPU is online again. So
 * the event's time must have advanced by @ran nanoseconds, which the caller measures within the
 * interval that the kernel measures. The time of a hardware event does not advance either while it
 * has no counter.
 */
static int slot_read_event(const struct perf_cpu *pc, struct perf_slot *s, uint64_t ran,
	struct slot_reading *r, struct err *e)
{
	slot_count_access(&pc->stats->reads);
	if (read(s->fd, r, sizeof(*r)) !=
		sizeof(*r)) /* End of file: a pinned event is in error state. */
		return slot_lose(s, EBUSY, e);
	if (ran > r->enabled - s->time + LAG_FIXED + ran / LAG_FRACTION)
		return slot_lose(s,
			perfsel_hardware(s->open) && sysfs_cpu_online(pc->cpu) ? EBUSY : ENXIO, e);
	if (r->running != r->enabled)
		return slot_lose(s, EBUSY, e);
	return 0;
}

static int slot_event_open(
	const struct perf_cpu *pc, uint64_t sel, struct perf_slot *s, struct err *e)
{
	struct perf_sampling sampling = ring_sampling(pc->interrupts, s->next_period);

	slot_count_access(&pc->stats->writes);
	return perf_event_new(&pc->src, pc->cpu, sel, &sampling, e);
}

/* The kernel assigns a counter when the event is enabled; only a read shows whether it found one.
 * Software events need none. */
static bool slot_has_counter(const struct perf_cpu *pc, const struct perf_slot *s)
{
	struct slot_reading r;

	if (!perfsel_hardware(s->open))
		return true;
	slot_count_access(&pc->stats->reads);
	return read(s->fd, &r, sizeof(r)) == sizeof(r);
}

static int slot_event_start(const struct perf_cpu *pc, struct perf_slot *s, struct err *e)
{
	slot_count_access(&pc->stats->writes);
	if (ioctl(s->fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return err_set(e, EIO, "the kernel refuses to start the event: %s; load it again",
			err_name(errno));
	s->since = slot_clock();
	if (!slot_has_counter(pc, s)) {
		ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0);
		return err_set(e, EBUSY,
			"no counter of the PMU is free: other perf events or the NMI watchdog "
			"(kernel.nmi_watchdog) use them; stop some and start again");
	}
	s->running = true;
	return 0;
}

static int slot_event_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	uint64_t ran = slot_clock() - s->since;
	struct slot_reading r;
	int rc = slot_read_event(pc, s, ran, &r, e);

	if (rc < 0)
		return rc;
	if (ran > NSEC_PER_SEC) {
		s->time = r.enabled;
		s->since = slot_clock();
	}
	*count = r.count;
	return 0;
}

static int slot_event_stop(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	uint64_t ran = slot_clock() - s->since;
	struct slot_reading r;
	int rc;

	slot_count_access(&pc->stats->writes);
	if (ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		return slot_lose(s, EBUSY, e);
	rc = slot_read_event(pc, s, ran, &r, e);
	if (rc < 0)
		return rc;
	s->time = r.enabled;
	*count = r.count;
	return 0;
}

/* A parked member has a count already. */
static int slot_member_unpark(
	const struct perf_cpu *pc, const struct group_member *m, struct perf_slot *s, struct err *e)
{
	s->id = m->id;
	if (group_count(pc->group, pc->stats, m->id, &s->count, e) == 0)
		return m->fd;
	close(m->fd);
	return -e->no;
}

static int slot_member_open(
	const struct perf_cpu *pc, uint64_t sel, struct perf_slot *s, struct err *e)
{
	struct perf_sampling sampling = ring_sampling(pc->interrupts, s->next_period);
	struct group_member m;

	if (!sampling.period && group_unpark(pc->group, sel, &m))
		return slot_member_unpark(pc, &m, s, e);
	s->enabled = pc->group->reading.enabled;
	return group_add(pc->group, &pc->src, sel, &sampling, pc->stats, &s->id, e);
}

static int slot_member_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	int rc = group_count(pc->group, pc->stats, s->id, count, e);

	return rc < 0 ? slot_lose(s, EBUSY, e) : 0;
}

static int slot_inherited_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	struct slot_reading r;
	int rc = slot_read_event(pc, s, 0, &r, e);

	if (rc == 0)
		*count = r.count;
	return rc;
}

static int slot_process_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	int rc = group_process_count(pc->group, pc->stats, s->id, count, e);

	return rc < 0 ? slot_lose(s, EBUSY, e) : 0;
}

/* A member has counted since it was opened or unparked, or will when the group runs. */
static int slot_member_begin(const struct perf_cpu *pc, struct perf_slot *s, struct err *e)
{
	(void)pc, (void)e;
	s->running = true;
	return 0;
}

/* What an event of a CPU and a member of a group do differently. */
struct slot_ops {
	int (*open)(const struct perf_cpu *pc, uint64_t sel, struct perf_slot *s, struct err *e);
	/* Starts a new event. */
	int (*begin)(const struct perf_cpu *pc, struct perf_slot *s, struct err *e);
	/* The count of the running event; a failed stop or count has lost it. */
	int (*stop)(const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e);
	int (*count)(
		const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e);
};

static const struct slot_ops slot_event_ops = {
	.open = slot_event_open,
	.begin = slot_event_start,
	.stop = slot_event_stop,
	.count = slot_event_count,
};

static const struct slot_ops slot_member_ops = {
	.open = slot_member_open,
	.begin = slot_member_begin,
	.stop = slot_member_count,
	.count = slot_member_count,
};

/* Of a group that is inherited. */
static const struct slot_ops slot_inherited_ops = {
	.open = slot_member_open,
	.begin = slot_member_begin,
	.stop = slot_inherited_count,
	.count = slot_inherited_count,
};

/* Of a process. */
static const struct slot_ops slot_process_ops = {
	.open = slot_member_open,
	.begin = slot_member_begin,
	.stop = slot_process_count,
	.count = slot_process_count,
};

static const struct slot_ops *slot_ops(const struct perf_cpu *pc)
{
	if (!pc->group)
		return &slot_event_ops;
	if (pc->group->process)
		return &slot_process_ops;
	return pc->group->conf.inherit ? &slot_inherited_ops : &slot_member_ops;
}

static int slot_start(const struct perf_cpu *pc, struct perf_slot *s, struct err *e)
{
	int rc;

	if (s->running)
		return 0;
	if (!pc->group)
		return slot_event_start(pc, s, e);
	rc = slot_ops(pc)->count(pc, s, &s->count, e);
	s->running = rc == 0;
	return rc;
}

/* Cannot fail: if the count is lost, reading it fails. */
static void slot_stop(const struct perf_cpu *pc, struct perf_slot *s)
{
	struct err later;
	uint64_t count;

	if (!s->running || slot_ops(pc)->stop(pc, s, &count, &later) < 0)
		return;
	s->value += count - s->count;
	s->count = count;
	s->running = false;
}

static int slot_attach(const struct perf_cpu *pc, struct perf_slot *s, struct err *e)
{
	if (!pc->interrupts || !s->next_period)
		return 0;
	slot_count_access(&pc->stats->writes);
	if (ring_attach(pc->interrupts, s->fd, &s->id, e) < 0) {
		slot_close(s);
		return -e->no;
	}
	s->period = s->next_period;
	return 0;
}

static int slot_open(const struct perf_cpu *pc, uint64_t sel, uint64_t period, struct perf_slot *s,
	struct err *e)
{
	*s = PERF_SLOT_INIT;
	s->open = sel;
	s->next_period = period;
	if (perfsel_nothing(sel))
		return 0;
	s->fd = slot_ops(pc)->open(pc, sel, s, e);
	return s->fd < 0 ? s->fd : slot_attach(pc, s, e);
}

/* Its event may be needed again soon. */
static void slot_retire(const struct perf_cpu *pc, struct perf_slot *s)
{
	const struct group_member m = {.fd = s->fd, .sel = s->open, .id = s->id};

	if (s->fd >= 0 && !s->period && pc->group && group_park(pc->group, &m))
		s->fd = -1;
	slot_close(s);
}

/* Replaces the event by the one that @sel selects; if that fails, the old event continues. */
static int slot_change(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel, struct err *e)
{
	bool ran = s->running;
	struct perf_slot new;
	int rc = slot_open(pc, sel, s->next_period, &new, e);

	if (rc < 0)
		return rc;
	slot_stop(pc, s); /* The new event may need its counter. */
	if (s->lost)
		rc = slot_explain_lost(s, e);
	else if (new.fd >= 0)
		rc = slot_ops(pc)->begin(pc, &new, e);
	if (rc < 0) {
		struct err again;

		slot_close(&new);
		if (ran && !s->lost && slot_start(pc, s, &again) < 0)
			slot_lose(s, EBUSY, &again);
		return rc;
	}
	new.value = s->value;
	slot_retire(pc, s);
	*s = new;
	return 0;
}

int slot_select(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel, struct err *e)
{
	uint64_t event = sel & ~EVTSEL_EN;
	int rc = 0;

	if (!(sel & EVTSEL_EN))
		slot_stop(pc, s);
	else if (s->lost)
		rc = slot_explain_lost(s, e);
	else if (s->fd >= 0 && event == s->open && !s->period == !s->next_period)
		rc = slot_start(pc, s, e);
	else
		rc = slot_change(pc, s, event, e);
	if (rc == 0)
		s->sel = sel;
	return rc;
}

int slot_read(const struct perf_cpu *pc, struct perf_slot *s, uint64_t *value, struct err *e)
{
	uint64_t count = s->count;
	int rc = 0;

	if (s->running)
		rc = slot_ops(pc)->count(pc, s, &count, e);
	else if (s->lost)
		rc = slot_explain_lost(s, e);
	if (rc == 0)
		*value = s->value + (count - s->count);
	return rc;
}

int slot_write(const struct perf_cpu *pc, struct perf_slot *s, uint64_t value, struct err *e)
{
	uint64_t count = s->count;
	int rc = 0;

	if (s->running)
		rc = slot_ops(pc)->count(pc, s, &count, e);
	else if (s->lost && s->sel & EVTSEL_EN)
		rc = slot_explain_lost(s, e);
	if (rc < 0)
		return rc;
	s->lost = 0;
	s->value = value;
	s->count = count;
	return 0;
}

/* Opens an event that would interrupt, on any thread. */
static int slot_try_interrupt(
	const struct perf_cpu *pc, uint64_t sel, uint64_t period, struct err *e)
{
	struct perf_sampling sampling = ring_sampling(pc->interrupts, period);
	int fd;

	slot_count_access(&pc->stats->writes);
	fd = perf_event_new(&pc->src, pc->cpu, sel & ~EVTSEL_EN, &sampling, e);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int slot_interrupt_after(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel,
	uint64_t left, uint64_t period, struct err *e)
{
	uint64_t next = left && period ? left : period;

	if (!next || !s->period || s->open != (sel & ~EVTSEL_EN)) {
		if (next && slot_try_interrupt(pc, sel, next, e) < 0)
			return -e->no;
		s->next_period = next;
		return 0;
	}
	s->next_period = next;
	if (!left && s->period == period)
		return 0;
	slot_count_access(&pc->stats->writes);
	if (ioctl(s->fd, PERF_EVENT_IOC_PERIOD, &next) < 0)
		return err_set(e, errno, "the kernel refuses the period: %s", err_name(errno));
	s->period = next;
	return 0;
}

void slot_close(struct perf_slot *s)
{
	if (s->fd >= 0)
		close(s->fd);
	*s = PERF_SLOT_INIT;
}
