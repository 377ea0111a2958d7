// SPDX-License-Identifier: MIT
/*
 * The perf backend: the kernel's counters as logical registers of a PMU.
 *
 * Each CPU and each thread has slots of one selector and one counter, which the daemon programs
 * like hardware. No other program shares them: the original value of a reserved register is always
 * 0, and restoring it closes the event.
 */
#include "backend/perf/perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/perf/alarm.h"
#include "backend/perf/event.h"
#include "backend/perf/perf_i.h"
#include "backend/perf/slot.h"
#include "backend/perf/try.h"
#include "backend/perf/watch.h"
#include "backend/sysfs/sysfs.h"
#include "base/cleanup.h"
#include "base/nsec.h"

enum {
	NSLOTS = 16,
	PERFSEL_ADDR = 0x100,
	PERFCNT_ADDR = 0x200,
};

struct perf_backend {
	struct backend be;
	struct pmu pmu;
	unsigned cpu_limit;
	struct perf_trial trial;
};

struct backend_cpu {
	struct perf_cpu pc;
	struct perf_group group;
	struct perf_alarm *alarm; /* Alarm of a thread; NULL: none was needed yet. */
	struct perf_watch watch;
	struct perf_slot slots[NSLOTS];
};

_Static_assert(NSLOTS + 4 + GROUP_PARKED <= GROUP_MAX,
	"a slot's new event, the leader, the alarm and ring.events fit into a group, too");

static void perf_describe_slot(struct pmu *pmu, uint16_t n)
{
	struct pmu_pmc *pmc = &pmu->pmcs[n];
	struct pmu_pmd *pmd = &pmu->pmds[n];

	*pmc = (struct pmu_pmc){
		.num = n,
		.addr = PERFSEL_ADDR + n,
		.rsvd = ~PERFSEL_BITS,
		.enable = EVTSEL_EN,
		.kernel = EVTSEL_OS,
		.user = EVTSEL_USR,
		.gate = n,
	};
	*pmd = (struct pmu_pmd){
		.num = n,
		.pmc = n,
		.field = ~0ULL,
		.addr = PERFCNT_ADDR + n,
		.waddr = PERFCNT_ADDR + n,
		.wmask = ~0ULL,
		.width = 64,
		.global = -1,
		.rdpmc = -1,
	};
	snprintf(pmc->name, sizeof(pmc->name), "PERFSEL%u", n);
	snprintf(pmd->name, sizeof(pmd->name), "PERFCNT%u", n);
}

static void perf_describe(struct pmu *pmu, const struct perf_sources *src)
{
	*pmu = (struct pmu){
		.name = "perf",
		.model = "Linux perf events",
		.space = PMU_SPACE_PERF,
		.counter_width = 64,
		.npmcs = NSLOTS,
		.npmds = NSLOTS,
		.max_rate = 1ULL << 36,
	};
	for (uint16_t n = 0; n < NSLOTS; n++)
		perf_describe_slot(pmu, n);
	pmu_add_virtuals(pmu);
	pmu->nevents = (uint16_t)perf_events_list(src, pmu->events);
}

/* The sources of @cpu. Where all CPUs are alike, the kernel was asked when the backend was opened.
 */
static struct perf_sources perf_sources_of(const struct backend *be, unsigned cpu)
{
	const struct perf_trial *t = &((const struct perf_backend *)be)->trial;
	struct perf_sources src = t->kinds[0].src;

	if (t->nkinds > 1)
		perf_sources_find(cpu, &src);
	return src;
}

/* @cpu is the target, or 0 for a thread, which can have the events of all CPUs. NULL: no memory. */
static struct backend_cpu *perf_target_new(struct backend *be, unsigned cpu)
{
	struct backend_cpu *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->pc.cpu = cpu;
	c->pc.group = &c->group;
	c->pc.stats = &be->stats;
	c->pc.src = perf_sources_of(be, cpu);
	for (unsigned n = 0; n < NSLOTS; n++)
		c->slots[n] = PERF_SLOT_INIT;
	return c;
}

static int perf_cpu_open(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e)
{
	CLEANUP_FREE struct backend_cpu *c = perf_target_new(be, cpu);

	if (!c)
		return err_set(e, ENOMEM, "CPU %u: ENOMEM: no memory for its registers", cpu);
	if (group_open_cpu(&c->group, cpu, e) < 0)
		return err_prefix(e, "CPU %u", cpu);
	*out = take_ptr(&c);
	return 0;
}

static int perf_thread_open(struct backend *be, const atomic_int *tid,
	const struct thread_conf *conf, struct backend_cpu **out, struct err *e)
{
	CLEANUP_FREE struct backend_cpu *c = perf_target_new(be, 0);

	if (!c)
		return err_set(e, ENOMEM, "ENOMEM: no memory for a thread's registers");
	if (group_open_thread(&c->group, tid, conf, e) < 0)
		return -e->no;
	*out = take_ptr(&c);
	return 0;
}

/* Closes members first, because they would go on without their leader. */
static void perf_cpu_close(struct backend_cpu *c)
{
	for (unsigned n = 0; n < NSLOTS; n++)
		slot_close(&c->slots[n]);
	alarm_free(c->alarm);
	ring_free(c->pc.interrupts);
	group_close(&c->group);
	watch_close(&c->watch);
	free(c);
}

/* After a run that has read the counters, returns the time of that reading. An execve() of the
 * thread may have started the group while it was stopped. */
static uint64_t perf_thread_time(struct backend_cpu *c)
{
	struct err ignored;

	if (c->group.running || c->group.conf.on_exec)
		group_read(&c->group, c->pc.stats, &ignored);
	c->group.current = c->group.at_once;
	return c->group.reading.enabled;
}

static int perf_thread_alarm(struct backend_cpu *c, uint64_t ns, struct err *e)
{
	int rc = c->alarm ? 0 : alarm_new(&c->group, &c->alarm, e);

	if (rc == 0)
		rc = alarm_set(c->alarm, ns, c->pc.stats, e);
	return rc < 0 ? rc : c->alarm->fd;
}

static int perf_thread_check(struct backend_cpu *c, struct err *e)
{
	return perf_leader_check(group_target(&c->group), c->group.leader, e);
}

static int perf_thread_watch(struct backend_cpu *c, struct err *e)
{
	const struct perf_group *g = &c->group;
	int leader = group_is_inherited(g) ? g->leader : -1, fd;

	if (g->process && g->begun)
		return process_watch(g->process, e);
	if (!c->watch.open && watch_open(&c->watch, atomic_load(g->tid), e) < 0)
		return -e->no;
	if (!c->watch.page && watch_map(&c->watch, leader, e) < 0)
		return -e->no;
	fd = leader < 0 ? c->watch.fd : leader;
	return watch_is_over(fd)
		       ? err_set(e, ESRCH, "all threads have ended or have lost their events")
		       : fd;
}

static int perf_thread_table(struct backend_cpu *c, struct thread_table *out, struct err *e)
{
	*out = (struct thread_table){0};
	return c->group.process ? process_table(c->group.process, out, e) : 0;
}

/* Makes events that do not run give up their counters to others. False: there are none. */
static bool perf_rest(struct backend_cpu *c)
{
	bool any = false;

	for (unsigned i = 0; i < NSLOTS; i++)
		any = slot_rest(&c->pc, &c->slots[i]) || any;
	return any;
}

static int perf_selector_write(
	struct backend_cpu *c, struct perf_slot *s, uint64_t sel, struct err *e)
{
	int rc;

	if (sel & ~PERFSEL_BITS)
		return err_set(e, EPERM, "0x%" PRIx64 " sets reserved bits: only 0x%llx may be set",
			sel, PERFSEL_BITS);
	rc = slot_select(&c->pc, s, sel, e);
	if (rc == -EINVAL && perf_rest(c))
		rc = slot_select(&c->pc, s, sel, e);
	return rc;
}

static uint64_t perf_updated(uint64_t old, const struct reg_op *op)
{
	return (old & ~op->mask) | (op->value & op->mask);
}

static int perf_selector_update(
	struct backend_cpu *c, struct perf_slot *s, struct reg_op *op, struct err *e)
{
	uint64_t old = s->sel;
	uint64_t new = perf_updated(old, op);
	int rc = new == old ? 0 : perf_selector_write(c, s, new, e);

	if (rc == 0)
		op->value = old;
	return rc;
}

static int perf_selector_op(
	struct backend_cpu *c, struct perf_slot *s, struct reg_op *op, struct err *e)
{
	switch (op->verb) {
	case REG_READ:
	case REG_RESERVE:
		op->value = s->sel;
		return 0;
	case REG_WRITE:
		return perf_selector_write(c, s, op->value, e);
	case REG_REPLACE:
		if ((s->sel ^ op->expect) & op->mask) {
			op->value = s->sel;
			return 0;
		}
		__attribute__((fallthrough));
	case REG_UPDATE:
		return perf_selector_update(c, s, op, e);
	case REG_RELEASE:
		slot_close(s);
		return 0;
	case REG_FORGET:
		return 0;
	}
	return err_set(e, EINVAL, "%d is not a register operation", op->verb);
}

static int perf_counter_op(
	struct backend_cpu *c, struct perf_slot *s, struct reg_op *op, struct err *e)
{
	switch (op->verb) {
	case REG_READ:
	case REG_RESERVE:
		return slot_read(&c->pc, s, &op->value, e);
	case REG_WRITE:
		return slot_write(&c->pc, s, op->value, e);
	case REG_RELEASE:
		return slot_write(&c->pc, s, 0, e);
	case REG_FORGET:
		return 0;
	case REG_UPDATE:
	case REG_REPLACE:
		break;
	}
	return err_set(e, EPERM, "a counter must be written whole");
}

static int perf_run_one(struct backend_cpu *c, struct reg_op *op, struct err *e)
{
	unsigned sel = op->addr - PERFSEL_ADDR;
	unsigned cnt = op->addr - PERFCNT_ADDR;

	if (cnt < NSLOTS) {
		if (perf_counter_op(c, &c->slots[cnt], op, e) == 0)
			return 0;
		return err_prefix(e, "pmd%u", cnt);
	}
	if (sel < NSLOTS) {
		if (perf_selector_op(c, &c->slots[sel], op, e) == 0)
			return 0;
		return err_prefix(e, "pmc%u, 0x%" PRIx64, sel, op->value);
	}
	return err_set(e, EPERM, "0x%x is not a register of the perf PMU", op->addr);
}

static void perf_name_target(const struct backend_cpu *c, struct err *e)
{
	if (c->group.tid)
		err_prefix(e, "thread %d", atomic_load(c->group.tid));
	else
		err_prefix(e, "CPU %u", c->pc.cpu);
}

static unsigned perf_run_each(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	unsigned done = 0;

	while (done < n && perf_run_one(c, &ops[done], e) == 0)
		done++;
	if (done < n)
		perf_name_target(c, e);
	return done;
}

/* The value of selector @n after @op, assuming that it succeeds. */
static uint64_t perf_selector_after(unsigned n, uint64_t sel, const struct reg_op *op)
{
	if (op->addr != PERFSEL_ADDR + n)
		return sel;
	switch (op->verb) {
	case REG_WRITE:
		return op->value;
	case REG_REPLACE:
		return (sel ^ op->expect) & op->mask ? sel : perf_updated(sel, op);
	case REG_UPDATE:
		return perf_updated(sel, op);
	case REG_RELEASE:
		return 0;
	default:
		return sel;
	}
}

/* Whether any slot counts after all @n operations, assuming that they succeed. */
static bool perf_counts_after(const struct backend_cpu *c, const struct reg_op *ops, unsigned n)
{
	for (unsigned i = 0; i < NSLOTS; i++) {
		uint64_t sel = c->slots[i].sel;

		for (unsigned k = 0; k < n; k++)
			sel = perf_selector_after(i, sel, &ops[k]);
		if (sel & EVTSEL_EN)
			return true;
	}
	return false;
}

/* Opens the events that slots have selected on each thread of the process. */
static int perf_open_process(struct backend_cpu *c, struct err *e)
{
	struct process_member members[NSLOTS];
	unsigned n = 0;

	for (unsigned i = 0; i < NSLOTS; i++)
		if (c->slots[i].fd >= 0)
			members[n++] = (struct process_member){.sel = c->slots[i].open,
				.addr = PERFCNT_ADDR + i,
				.id = c->slots[i].id};
	return group_open_process(&c->group, &c->pc.src, members, n, c->pc.stats, e);
}

/* Gives counters to the events that run, after selectors have been written. */
static void perf_assign_counters(struct backend_cpu *c)
{
	bool waits = !c->group.running;

	for (unsigned i = 0; i < NSLOTS; i++)
		waits = slot_waits(&c->slots[i]) || waits;
	if (!waits)
		return;
	perf_rest(c);
	for (unsigned i = 0; i < NSLOTS; i++)
		slot_resume(&c->pc, &c->slots[i]);
}

static int perf_start_group(struct backend_cpu *c, struct err *e)
{
	if (c->group.process && !c->group.begun && perf_open_process(c, e) < 0)
		return -e->no;
	return group_start(&c->group, c->pc.stats, e);
}

/*
 * If all counters stop, the group stops before the first of them; it starts after the last one has.
 * If it cannot start, the last operation counts as failed, and the caller undoes all of them. With
 * at_once, the group stops after the last run.
 */
static unsigned perf_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	bool counts = perf_counts_after(c, ops, n);
	unsigned done;

	if (!n)
		return 0;
	if (!c->group.at_once && c->group.running) {
		c->group.current = false;
		if (!counts)
			group_stop(&c->group, c->pc.stats);
	}
	done = perf_run_each(c, ops, n, e);
	if (counts)
		perf_assign_counters(c);
	if (done < n || c->group.running || !counts || perf_start_group(c, e) == 0)
		return done;
	perf_name_target(c, e);
	return n - 1;
}

/* Whether any slot has a hardware event. The kernel opens these or puts them on the PMU one after
 * another, so they cannot begin to count at one moment. */
static bool perf_has_hardware(const struct backend_cpu *c)
{
	for (unsigned i = 0; i < NSLOTS; i++)
		if (c->slots[i].fd >= 0 && perfsel_hardware(c->slots[i].open))
			return true;
	return c->group.conf.takes_counters;
}

static void perf_thread_at_once(struct backend_cpu *c, bool on)
{
	c->group.at_once = on && !c->group.conf.inherit && !perf_has_hardware(c);
	c->group.current = false;
	if (!on && c->group.running && !perf_counts_after(c, NULL, 0))
		group_stop(&c->group, c->pc.stats);
}

static int perf_interrupts_open(
	struct backend_cpu *c, const struct interrupt_conf *conf, struct err *e)
{
	if (!c->pc.interrupts && ring_new(c->group.leader, conf, &c->pc.interrupts, e) < 0)
		return -e->no;
	if (conf->events && c->group.tid &&
		ring_open_events(c->pc.interrupts, atomic_load(c->group.tid), conf->waits, e) < 0)
		return -e->no;
	c->pc.interrupts->conf = *conf;
	return c->pc.interrupts->fd;
}

static int perf_interrupt_after(struct backend_cpu *c, uint32_t addr, uint64_t sel, uint64_t left,
	uint64_t period, struct err *e)
{
	return slot_interrupt_after(&c->pc, &c->slots[addr - PERFCNT_ADDR], sel, left, period, e);
}

/* The slot whose event has the id @id; NULL: the event was closed. */
static struct perf_slot *perf_slot_of(struct backend_cpu *c, uint64_t id, unsigned *n)
{
	for (*n = 0; *n < NSLOTS; (*n)++)
		if (c->slots[*n].fd >= 0 && c->slots[*n].id == id)
			return &c->slots[*n];
	return NULL;
}

static void perf_interrupt_counters(
	struct backend_cpu *c, const struct perf_record *r, struct interrupt *in)
{
	unsigned n;

	for (uint64_t i = 0; i < r->ncounts && in->n < NSLOTS; i++) {
		const uint64_t *count = &r->counts[2 * i];
		const struct perf_slot *s = perf_slot_of(c, count[1], &n);

		if (!s)
			continue;
		in->counter[in->n].addr = PERFCNT_ADDR + n;
		in->counter[in->n++].value = slot_value_at(s, *count);
	}
}

/* Lists the counters that were throttled. Since Linux 6.16, the kernel stops the whole group, and
 * the record has the id of the leader, which has no slot. */
static void perf_interrupt_stopped(
	const struct backend_cpu *c, const struct perf_slot *s, struct interrupt *in)
{
	for (unsigned n = 0; n < NSLOTS; n++)
		if (s ? s == &c->slots[n] : c->slots[n].fd >= 0)
			in->counter[in->n++].addr = PERFCNT_ADDR + n;
}

/* Whether the event of @s was off the PMU for longer than its group had missed before plus the time
 * that the event itself has waited. */
static bool perf_is_evicted(
	const struct backend_cpu *c, const struct perf_slot *s, const struct perf_record *r)
{
	return r->enabled - r->running > c->group.missed + (s ? s->waited : 0);
}

/* Converts a record to an interrupt. False: the event has been closed since. */
static bool perf_interrupt_of(
	struct backend_cpu *c, const struct perf_record *r, struct interrupt *in)
{
	unsigned n;
	struct perf_slot *s = perf_slot_of(c, r->id, &n);

	if (r->kind == INTERRUPT_EVENT) {
		*in = (struct interrupt){.kind = r->kind, .time = r->time, .event = r->event};
		return true;
	}
	if (!s && r->kind != INTERRUPT_DROPPED && r->kind != INTERRUPT_THROTTLED)
		return false;
	if (s && r->kind == INTERRUPT_OVERFLOW)
		slot_interrupt(s, r->time);
	in->kind = perf_is_evicted(c, s, r) ? INTERRUPT_EVICTED : r->kind;
	in->addr = PERFCNT_ADDR + n;
	in->dropped = r->dropped;
	in->time = r->time;
	in->now = s && c->group.tid ? s->enabled + r->enabled + 1 : r->time;
	in->where = (pfm_smpl_where_t){
		.ip = r->ip,
		.pid = r->pid,
		.tid = r->tid,
		.cpu = (uint16_t)r->cpu,
		.known = r->pid != UINT32_MAX,
		.precise = PFM_SMPL_INTERRUPT,
		.nframes = (uint16_t)r->nframes,
		.frames = r->frames,
		.user = r->user,
	};
	in->n = 0;
	if (r->kind == INTERRUPT_THROTTLED)
		perf_interrupt_stopped(c, s, in);
	else
		perf_interrupt_counters(c, r, in);
	return true;
}

/* Records of the target that the kernel had lost at the last reading, and that were not taken in
 * before. */
static uint64_t perf_lost(struct backend_cpu *c)
{
	struct perf_interrupts *p = c->pc.interrupts;
	uint64_t n = 0;
	unsigned slot;

	for (unsigned i = 0; i < c->group.reading.n; i++) {
		struct group_count m = group_member_read(&c->group, i);
		struct perf_slot *s = m.lost ? perf_slot_of(c, m.id, &slot) : NULL;
		uint64_t *dropped = s                      ? &s->dropped
				    : m.id == p->events_id ? &p->events_dropped
							   : &m.lost;

		n += m.lost - *dropped;
		*dropped = m.lost;
	}
	return n;
}

static bool perf_interrupt_next(struct backend_cpu *c, struct interrupt *in)
{
	struct perf_record r;

	if (!c->pc.interrupts)
		return false;
	while (ring_next(c->pc.interrupts, &r))
		if (perf_interrupt_of(c, &r, in))
			return true;
	return ring_lost(c->pc.interrupts, perf_lost(c), &r) && perf_interrupt_of(c, &r, in);
}

/* @addr does not matter, as all selectors are alike. */
static int perf_try_selector(struct backend *be, uint32_t addr, uint64_t value, struct err *e)
{
	struct perf_backend *pb = (struct perf_backend *)be;

	(void)addr;
	return perf_try(&pb->trial, value, e);
}

static bool perf_events_fit(struct backend *be, const uint64_t *sels, unsigned n)
{
	struct perf_backend *pb = (struct perf_backend *)be;

	return !be->opens_threads || perf_fit(&pb->trial, sels, n);
}

static unsigned perf_cpu_limit(struct backend *be)
{
	struct perf_backend *pb = (struct perf_backend *)be;

	return pb->cpu_limit;
}

static bool perf_cpu_online(struct backend *be, unsigned cpu)
{
	(void)be;
	return sysfs_cpu_online(cpu);
}

static void perf_pmu_owner(
	struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out)
{
	(void)be, (void)cpu, (void)addr, (void)value;
	text_printf(out, "another program");
}

static uint64_t perf_now(struct backend *be)
{
	(void)be;
	return nsec_now(CLOCK_MONOTONIC);
}

static void perf_close(struct backend *be)
{
	free(be);
}

static int perf_open(const struct backend_conf *conf, struct backend **out, struct err *e)
{
	CLEANUP_FREE struct perf_backend *pb = calloc(1, sizeof(*pb));
	const struct perf_kind *first;
	int rc;

	if (!pb)
		return err_set(e, ENOMEM, "perf: ENOMEM: no memory for the backend");
	if (conf->pmu && strcmp(conf->pmu, "perf") != 0)
		return err_set(e, EINVAL,
			"perf: the PMU description '%.40s' is for hardware registers: leave it out",
			conf->pmu);
	perf_trial_init(&pb->trial);
	first = &pb->trial.kinds[0];
	rc = sysfs_cpu_limit(&pb->cpu_limit, e);
	if (rc == 0)
		rc = perf_event_probe(e);
	if (rc < 0)
		return err_prefix(e, "perf");
	perf_describe(&pb->pmu, &first->src);
	pb->be.ops = &perf_backend_ops;
	pb->be.pmu = &pb->pmu;
	pb->be.interrupts = true;
	/* An event counts on one kind of CPU only, but a thread may run on all. */
	pb->be.opens_threads = !conf->no_threads && pb->trial.nkinds == 1;
	pb->be.user_stacks = PERF_USER_STACKS && pb->be.opens_threads;
	*out = &take_ptr(&pb)->be;
	return 0;
}

const struct backend_ops perf_backend_ops = {
	.name = "perf",
	.open = perf_open,
	.check = perf_check,
	.cpu_open = perf_cpu_open,
	.thread_open = perf_thread_open,
	.thread_time = perf_thread_time,
	.thread_check = perf_thread_check,
	.thread_at_once = perf_thread_at_once,
	.thread_alarm = perf_thread_alarm,
	.thread_table = perf_thread_table,
	.thread_watch = perf_thread_watch,
	.run = perf_run,
	.try_selector = perf_try_selector,
	.events_fit = perf_events_fit,
	.takes_counter = perfsel_takes_counter,
	.interrupts_open = perf_interrupts_open,
	.interrupts_bytes = ring_bytes,
	.interrupt_after = perf_interrupt_after,
	.interrupt_next = perf_interrupt_next,
	.cpu_close = perf_cpu_close,
	.cpu_limit = perf_cpu_limit,
	.cpu_online = perf_cpu_online,
	.pmu_owner = perf_pmu_owner,
	.now = perf_now,
	.close = perf_close,
};
