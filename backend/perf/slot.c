// SPDX-License-Identifier: MIT
/* One perf event per slot: opening, starting, stopping and reading it. */
#include "backend/perf/slot.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"

/* The result of read() of an inherited event, with the read_format of event.c. */
struct slot_reading {
	uint64_t count, enabled, running;
};

static void slot_count_access(atomic_ullong *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static int slot_lose(struct perf_slot *s, int no, struct err *e)
{
	close(s->fd);
	s->fd = -1;
	s->running = false;
	s->lost = no;
	return group_explain_lost(no, e);
}

/* Takes a parked member, which already has a count. */
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
	uint64_t begun;
	int fd;

	if (!sampling.period && group_unpark(pc->group, sel, &m))
		return slot_member_unpark(pc, &m, s, e);
	s->enabled = pc->group->reading.enabled;
	begun = group_clock();
	slot_count_access(&pc->stats->writes);
	fd = group_add(pc->group, &pc->src, sel, &sampling, &s->id, e);
	if (pc->group->running)
		s->waited = group_clock() - begun;
	return fd;
}

static int slot_member_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	int rc = group_count(pc->group, pc->stats, s->id, count, e);

	return rc < 0 ? slot_lose(s, -rc, e) : 0;
}

static int slot_inherited_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	struct slot_reading r;

	slot_count_access(&pc->stats->reads);
	if (read(s->fd, &r, sizeof(r)) != sizeof(r) || r.running != r.enabled)
		return slot_lose(s, EBUSY, e);
	*count = r.count;
	return 0;
}

static int slot_process_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	int rc = group_process_count(pc->group, pc->stats, s->id, count, e);

	return rc < 0 ? slot_lose(s, EBUSY, e) : 0;
}

/* Reads the count of the running event; on failure, the count is lost. */
static int slot_event_count(
	const struct perf_cpu *pc, struct perf_slot *s, uint64_t *count, struct err *e)
{
	int rc = pc->group->process        ? slot_process_count(pc, s, count, e)
		 : pc->group->conf.inherit ? slot_inherited_count(pc, s, count, e)
					   : slot_member_count(pc, s, count, e);

	/* The kernel was asked nevertheless, as it may have dropped the event. */
	if (rc == 0 && perfsel_user_clock(s->open))
		*count = s->interrupted;
	return rc;
}

static int slot_start(const struct perf_cpu *pc, struct perf_slot *s, struct err *e)
{
	int rc;

	if (s->running)
		return 0;
	rc = slot_event_count(pc, s, &s->count, e);
	s->running = rc == 0;
	if (perfsel_user_clock(s->open))
		s->started = nsec_now(CLOCK_MONOTONIC);
	return rc;
}

/* Stops the slot. Reports no failure: if the count is lost, reading it fails later. */
static void slot_stop(const struct perf_cpu *pc, struct perf_slot *s)
{
	struct err later;
	uint64_t count;

	if (!s->running || slot_event_count(pc, s, &count, &later) < 0)
		return;
	s->value += count - s->count;
	s->count = count;
	s->running = false;
}

/* Disables the event to free its counter. False: it takes no counter that another event could use.
 * Inherited events stay as they were opened. */
static bool slot_switch_off(const struct perf_cpu *pc, struct perf_slot *s)
{
	if (s->fd < 0 || s->off || !perfsel_hardware(s->open) || pc->group->conf.inherit)
		return false;
	slot_stop(pc, s);
	if (s->fd < 0)
		return true;
	slot_count_access(&pc->stats->writes);
	s->off = ioctl(s->fd, PERF_EVENT_IOC_DISABLE, 0) == 0;
	return s->off;
}

bool slot_rest(const struct perf_cpu *pc, struct perf_slot *s)
{
	return !s->running && slot_switch_off(pc, s);
}

bool slot_waits(const struct perf_slot *s)
{
	return s->running && s->off;
}

void slot_resume(const struct perf_cpu *pc, struct perf_slot *s)
{
	struct err later;

	if (!slot_waits(s))
		return;
	slot_count_access(&pc->stats->writes);
	s->off = ioctl(s->fd, PERF_EVENT_IOC_ENABLE, 0) < 0;
	if (s->off)
		slot_lose(s, EBUSY, &later);
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
	s->fd = slot_member_open(pc, sel, s, e);
	return s->fd < 0 ? s->fd : slot_attach(pc, s, e);
}

/* Parks the slot's event, which may be needed again soon, or closes it. */
static void slot_retire(const struct perf_cpu *pc, struct perf_slot *s)
{
	const struct group_member m = {.fd = s->fd, .sel = s->open, .id = s->id};

	if (s->fd >= 0 && !s->period && !perfsel_user_clock(s->open) && group_park(pc->group, &m))
		s->fd = -1;
	slot_close(s);
}

/* Continues with the old event after it could not be replaced. */
static void slot_continue(const struct perf_cpu *pc, struct perf_slot *s)
{
	struct err again;

	if (!s->lost && slot_start(pc, s, &again) < 0 && s->fd >= 0)
		slot_lose(s, EBUSY, &again);
	slot_resume(pc, s);
}

/* Stops the event in favour of @new, which is already open. If @new has the same event, it counts
 * from this reading on, so that nothing is left out or counted twice. */
static int slot_hand_over(
	const struct perf_cpu *pc, struct perf_slot *s, struct perf_slot *new, struct err *e)
{
	bool same = s->running && new->open == s->open;

	slot_stop(pc, s);
	if (s->lost)
		return group_explain_lost(s->lost, e);
	return same ? slot_event_count(pc, new, &new->count, e) : 0;
}

/* Replaces the event by the one that @sel selects; if that fails, the old event continues. The old
 * event gives up its counter if the new one needs it. */
static int slot_change(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel, struct err *e)
{
	bool ran = s->running;
	struct perf_slot new;
	int rc = slot_open(pc, sel, s->next_period, &new, e);

	if (rc == -EINVAL && slot_switch_off(pc, s))
		rc = slot_open(pc, sel, s->next_period, &new, e);
	if (rc == 0) {
		rc = slot_hand_over(pc, s, &new, e);
		if (rc < 0)
			slot_close(&new);
	}
	if (rc < 0) {
		if (ran)
			slot_continue(pc, s);
		return rc;
	}
	new.running = new.fd >= 0;
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
		rc = group_explain_lost(s->lost, e);
	else if (s->fd >= 0 && event == s->open && !s->period == !s->next_period)
		rc = slot_start(pc, s, e);
	else
		rc = slot_change(pc, s, event, e);
	if (rc == 0)
		s->sel = sel;
	return rc;
}

void slot_interrupt(struct perf_slot *s, uint64_t time)
{
	/* An interrupt whose record is read after the slot has stopped is not counted, even if it
	 * has been started again. */
	if (s->running && time >= s->started)
		s->interrupted += s->period;
}

uint64_t slot_value_at(const struct perf_slot *s, uint64_t count)
{
	return s->value + ((perfsel_user_clock(s->open) ? s->interrupted : count) - s->count);
}

int slot_read(const struct perf_cpu *pc, struct perf_slot *s, uint64_t *value, struct err *e)
{
	uint64_t count = s->count;
	int rc = 0;

	if (s->running)
		rc = slot_event_count(pc, s, &count, e);
	else if (s->lost)
		rc = group_explain_lost(s->lost, e);
	if (rc == 0)
		*value = s->value + (count - s->count);
	return rc;
}

int slot_write(const struct perf_cpu *pc, struct perf_slot *s, uint64_t value, struct err *e)
{
	uint64_t count = s->count;
	int rc = 0;

	if (s->running)
		rc = slot_event_count(pc, s, &count, e);
	else if (s->lost && s->sel & EVTSEL_EN)
		rc = group_explain_lost(s->lost, e);
	if (rc < 0)
		return rc;
	s->lost = 0;
	s->value = value;
	s->count = count;
	return 0;
}

/* Tries to open an event that interrupts, on this thread, which the daemon may always count. */
static int slot_try_interrupt(
	const struct perf_cpu *pc, uint64_t sel, uint64_t period, struct err *e)
{
	struct perf_sampling sampling = ring_sampling(pc->interrupts, period);
	int fd;

	slot_count_access(&pc->stats->writes);
	fd = perf_trial_new(&pc->src, -1, sel & ~EVTSEL_EN, &sampling, e);
	if (fd == -EINVAL || fd == -EOPNOTSUPP)
		return err_set(e, EOPNOTSUPP,
			"the kernel counts this event, but its counter cannot interrupt: choose "
			"another");
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The shortest time between two interrupts of a clock, ns: perf_swevent_init_hrtimer(). */
enum { CLOCK_PERIOD_MIN = 10000 };

/* The period that the kernel takes for @period, by which a clock at user level advances. */
static uint64_t slot_period(uint64_t sel, uint64_t period)
{
	bool shorter = period && period < CLOCK_PERIOD_MIN && perfsel_user_clock(sel);

	return shorter ? CLOCK_PERIOD_MIN : period;
}

int slot_interrupt_after(const struct perf_cpu *pc, struct perf_slot *s, uint64_t sel,
	uint64_t left, uint64_t wanted, struct err *e)
{
	uint64_t period = slot_period(sel, wanted);
	uint64_t next = slot_period(sel, left && wanted ? left : wanted);

	if (!next || !s->period || s->open != (sel & ~EVTSEL_EN)) {
		if (next && slot_try_interrupt(pc, sel, next, e) < 0)
			return -e->no;
		s->next_period = next;
		/* Replace the running event by one that interrupts. */
		return next && s->running ? slot_select(pc, s, s->sel, e) : 0;
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
