// SPDX-License-Identifier: MIT
#include "daemon/percpu/readings.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cond.h"
#include "base/nsec.h"
#include "base/num.h"
#include "daemon/percpu/thread.h"

/* The shortest and the longest time between two readings of energy. With the longest, power is
 * still an average over a short time. */
#define READINGS_FRESH_NS  1000000ULL
#define READINGS_ENERGY_NS (10 * NSEC_PER_SEC)
/* The shortest time over which power is averaged. */
#define READINGS_SPAN_NS (NSEC_PER_SEC / 10)

/* A register that wraps, for one unit. */
struct readings_cell {
	/* As read by the last poll, and by the one before. */
	struct reading reading, before;
	/* For energy: the value shown last, if any was, and when it was read. */
	bool has_shown;
	uint64_t shown, shown_at;
};

/* The units that a CPU is in. */
struct readings_place {
	bool known;
	uint32_t unit[PMU_SCOPES];
	/* The CPU of each unit that was seen first: the unit uses its cells. */
	unsigned leader[PMU_SCOPES];
};

/* A thread's own open CPUs; NULL: not open. */
struct readings_cpus {
	struct backend_cpu **cpu;
};

struct readings {
	struct backend *be;
	const struct pmu *pmu;
	unsigned limit;
	/* By row of pmu->frees: the row of its cells; -1: it does not wrap. */
	int wraps[PMU_MAX_FREES];
	unsigned nwraps;
	/* Time between two polls, ns of the backend. */
	uint64_t period;
	/* The CPUs that the thread has opened, and those that readings_scan() has. */
	struct readings_cpus poller, scanner;

	/* A leaf, not held while a register is read: guards the fields from here on. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* [nwraps][limit], by leader. */
	struct readings_cell *cells;
	struct readings_place *places;
	/* There was a poll; the time of the last one. */
	bool polled;
	uint64_t polled_at;
	pthread_t thread;
	bool begun, ending;
};

static void readings_find_wraps(struct readings *r)
{
	r->period = UINT64_MAX;
	for (unsigned i = 0; i < r->pmu->nfrees; i++) {
		uint64_t wrap = pmu_free_wrap_ns(&r->pmu->frees[i]);

		r->wraps[i] = wrap == UINT64_MAX ? -1 : (int)r->nwraps++;
		if (wrap / 2 < r->period)
			r->period = wrap / 2;
		if (pmu_unit_is_energy(r->pmu->frees[i].unit) && r->period > READINGS_ENERGY_NS)
			r->period = READINGS_ENERGY_NS;
	}
}

int readings_new(struct backend *be, struct readings **out, struct err *e)
{
	struct readings *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(e, ENOMEM, "no memory");
	r->be = be;
	r->pmu = be->pmu;
	r->limit = be->ops->cpu_limit(be);
	readings_find_wraps(r);
	pthread_mutex_init(&r->lock, NULL);
	cond_init_monotonic(&r->changed);
	r->cells = calloc((size_t)r->nwraps * r->limit + 1, sizeof(*r->cells));
	r->places = calloc(r->limit, sizeof(*r->places));
	r->poller.cpu = calloc(r->limit, sizeof(struct backend_cpu *));
	r->scanner.cpu = calloc(r->limit, sizeof(struct backend_cpu *));
	if (!r->cells || !r->places || !r->poller.cpu || !r->scanner.cpu) {
		readings_free(r);
		return err_set(
			e, ENOMEM, "no memory for readings of %u CPUs", be->ops->cpu_limit(be));
	}
	*out = r;
	return 0;
}

static void readings_close(const struct readings *r, struct readings_cpus *cpus)
{
	for (unsigned cpu = 0; cpus->cpu && cpu < r->limit; cpu++)
		if (cpus->cpu[cpu])
			r->be->ops->cpu_close(cpus->cpu[cpu]);
	free(cpus->cpu);
}

void readings_free(struct readings *r)
{
	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->ending = true;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	if (r->begun)
		pthread_join(r->thread, NULL);
	readings_close(r, &r->poller);
	readings_close(r, &r->scanner);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
	free(r->cells);
	free(r->places);
	free(r);
}

/* Returns the first CPU of the unit that was seen, or @cpu itself. Under the lock. */
static unsigned readings_find_leader(
	const struct readings *r, unsigned cpu, enum pmu_scope scope, uint32_t unit)
{
	for (unsigned i = 0; i < r->limit; i++)
		if (r->places[i].known && r->places[i].leader[scope] == i &&
			r->places[i].unit[scope] == unit)
			return i;
	return cpu;
}

static int readings_find_place(struct readings *r, unsigned cpu)
{
	struct readings_place p = {.known = true}, *to = &r->places[cpu];
	struct err e;
	bool known;

	pthread_mutex_lock(&r->lock);
	known = to->known;
	pthread_mutex_unlock(&r->lock);
	if (known)
		return 0;
	if (r->be->ops->cpu_units(r->be, cpu, p.unit, &e) < 0)
		return -e.no;
	pthread_mutex_lock(&r->lock);
	for (unsigned scope = 0; scope < PMU_SCOPES; scope++)
		p.leader[scope] =
			readings_find_leader(r, cpu, (enum pmu_scope)scope, p.unit[scope]);
	if (!to->known)
		*to = p;
	pthread_mutex_unlock(&r->lock);
	return 0;
}

/* Opens the CPUs that are online and not open. */
static void readings_open(struct readings *r, struct readings_cpus *cpus)
{
	struct err ignored;

	for (unsigned cpu = 0; cpu < r->limit; cpu++)
		if (!cpus->cpu[cpu] && r->be->ops->cpu_online(r->be, cpu) &&
			readings_find_place(r, cpu) == 0)
			r->be->ops->cpu_open(r->be, cpu, &cpus->cpu[cpu], &ignored);
}

/* Reads a register. A CPU that has gone offline is closed, to be opened again when it is back. */
static int readings_read(struct readings *r, struct readings_cpus *cpus, unsigned cpu,
	const struct pmu_free *reg, uint64_t *field)
{
	struct reg_op op = {.addr = reg->addr, .verb = REG_READ};
	struct err e;

	if (!cpus->cpu[cpu])
		return ENXIO;
	if (r->be->ops->run(cpus->cpu[cpu], &op, 1, &e) != 1) {
		if (e.no != ENXIO)
			return EIO;
		r->be->ops->cpu_close(cpus->cpu[cpu]);
		cpus->cpu[cpu] = NULL;
		return ENXIO;
	}
	return reading_field(reg, op.value, field) ? 0 : ENODATA;
}

/* True if @cpu may have the register. CPUs of one machine may be of several types; a CPU of unknown
 * type may have it. */
static bool readings_has(const struct readings *r, unsigned cpu, unsigned row)
{
	const struct pmu *pmu = backend_cpu_pmu(r->be, cpu);

	return !pmu || !(pmu->by_type.lacks_frees >> row & 1);
}

/* True if @cpu is in the unit of @leader. Under the lock. */
static bool readings_is_of(
	const struct readings *r, unsigned cpu, unsigned leader, enum pmu_scope scope)
{
	return r->places[cpu].known && r->places[cpu].leader[scope] == leader;
}

/* True if a CPU of the unit of @leader has the register. */
static bool readings_unit_has(struct readings *r, unsigned row, unsigned leader)
{
	enum pmu_scope scope = r->pmu->frees[row].scope;
	bool has = readings_has(r, leader, row);

	pthread_mutex_lock(&r->lock);
	for (unsigned cpu = leader + 1; !has && scope && cpu < r->limit; cpu++)
		has = readings_is_of(r, cpu, leader, scope) && readings_has(r, cpu, row);
	pthread_mutex_unlock(&r->lock);
	return has;
}

/* A CPU of the unit of @leader, or @leader, where register @row can be read. */
static unsigned readings_find_cpu(
	struct readings *r, const struct readings_cpus *cpus, unsigned leader, unsigned row)
{
	enum pmu_scope scope = r->pmu->frees[row].scope;
	unsigned cpu = leader;

	pthread_mutex_lock(&r->lock);
	while (cpu < r->limit && (!cpus->cpu[cpu] || !readings_is_of(r, cpu, leader, scope) ||
					 !readings_has(r, cpu, row)))
		cpu++;
	pthread_mutex_unlock(&r->lock);
	return cpu < r->limit ? cpu : leader;
}

static struct readings_cell *readings_cell(const struct readings *r, unsigned row, unsigned leader)
{
	return r->wraps[row] < 0 ? NULL : &r->cells[(size_t)r->wraps[row] * r->limit + leader];
}

/* True if @cpu is the leader of its unit, whose number is *@unit. */
static bool readings_leads(struct readings *r, unsigned cpu, enum pmu_scope scope, uint32_t *unit)
{
	struct readings_place place;

	pthread_mutex_lock(&r->lock);
	place = r->places[cpu];
	pthread_mutex_unlock(&r->lock);
	*unit = place.unit[scope];
	return place.known && place.leader[scope] == cpu;
}

static void readings_poll_one(
	struct readings *r, struct readings_cpus *cpus, unsigned row, unsigned leader)
{
	const struct pmu_free *reg = &r->pmu->frees[row];
	struct readings_cell *cell = readings_cell(r, row, leader);
	unsigned cpu = readings_find_cpu(r, cpus, leader, row);
	uint64_t field, now;

	if (readings_read(r, cpus, cpu, reg, &field))
		return;
	now = r->be->ops->now(r->be);
	pthread_mutex_lock(&r->lock);
	cell->before = cell->reading;
	reading_take(&cell->reading, reg, field, now);
	pthread_mutex_unlock(&r->lock);
}

/* Reads each register that wraps. Only one thread calls this. */
static void readings_poll(struct readings *r, struct readings_cpus *cpus)
{
	uint32_t unit;

	readings_open(r, cpus);
	for (unsigned row = 0; row < r->pmu->nfrees; row++)
		for (unsigned cpu = 0; r->wraps[row] >= 0 && cpu < r->limit; cpu++)
			if (readings_leads(r, cpu, r->pmu->frees[row].scope, &unit))
				readings_poll_one(r, cpus, row, cpu);
	pthread_mutex_lock(&r->lock);
	r->polled = true;
	r->polled_at = r->be->ops->now(r->be);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static void *readings_main(void *arg)
{
	struct readings *r = arg;
	struct timespec until;

	thread_set_name("pfm-readings");
	pthread_mutex_lock(&r->lock);
	while (!r->ending) {
		pthread_mutex_unlock(&r->lock);
		until = nsec_timespec(nsec_now(CLOCK_MONOTONIC) + r->period);
		readings_poll(r, &r->poller);
		pthread_mutex_lock(&r->lock);
		while (!r->ending &&
			pthread_cond_timedwait(&r->changed, &r->lock, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

void readings_begin(struct readings *r)
{
	if (r->nwraps && !r->be->scripted)
		r->begun = thread_start(&r->thread, readings_main, r) == 0;
}

/* Scripted time has no timer, so a scan polls. Otherwise, a scan waits for the first poll. */
static void readings_await_poll(struct readings *r)
{
	uint64_t now = r->be->ops->now(r->be);

	if (r->nwraps && !r->begun && (!r->polled || now - r->polled_at >= r->period))
		readings_poll(r, &r->scanner);
	pthread_mutex_lock(&r->lock);
	while (r->begun && !r->polled && !r->ending)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
}

/* Copies @cell. True if it is energy and was shown less than a millisecond ago. */
static bool readings_is_fresh(struct readings *r, const struct readings_cell *cell, bool energy,
	struct readings_cell *copy)
{
	uint64_t now = r->be->ops->now(r->be);

	pthread_mutex_lock(&r->lock);
	*copy = *cell;
	pthread_mutex_unlock(&r->lock);
	return energy && copy->has_shown && now >= copy->shown_at &&
	       now - copy->shown_at < READINGS_FRESH_NS;
}

/* Finds the power since the last poll, or since the one before. */
static void readings_find_power(
	const struct readings_cell *cell, uint64_t at, struct reading_value *v)
{
	const struct reading *from = &cell->reading;
	uint64_t uj;

	if (at < from->at + READINGS_SPAN_NS)
		from = &cell->before;
	if (!from->known || from->restarts != cell->reading.restarts ||
		at < from->at + READINGS_SPAN_NS)
		return;
	uj = v->value - reading_shown(v->reg, from->total);
	v->span_ns = at - from->at;
	v->uw = (uint64_t)((num_u128)uj * NSEC_PER_SEC / v->span_ns);
}

static int readings_value_of(
	struct readings *r, unsigned row, unsigned leader, struct reading_value *v)
{
	struct readings_cell *cell = readings_cell(r, row, leader), copy = {0};
	bool energy = pmu_unit_is_energy(v->reg->unit);
	unsigned cpu = readings_find_cpu(r, &r->scanner, leader, row);
	uint64_t field, total, now;
	int error;

	if (cell && readings_is_fresh(r, cell, energy, &copy)) {
		v->value = copy.shown;
		readings_find_power(&copy, copy.shown_at, v);
		return 0;
	}
	error = readings_read(r, &r->scanner, cpu, v->reg, &field);
	now = r->be->ops->now(r->be);
	if (error)
		return error;
	if (!reading_total(&copy.reading, v->reg, field, now, &total))
		return EAGAIN;
	v->value = reading_shown(v->reg, total);
	if (energy)
		readings_find_power(&copy, now, v);
	if (cell) {
		pthread_mutex_lock(&r->lock);
		cell->has_shown = true;
		cell->shown = v->value;
		cell->shown_at = now;
		pthread_mutex_unlock(&r->lock);
	}
	return 0;
}

static void readings_scan_row(struct readings *r, unsigned row, readings_each *each, void *arg)
{
	enum pmu_scope scope = r->pmu->frees[row].scope;

	for (unsigned cpu = 0; cpu < r->limit; cpu++) {
		struct reading_value v = {.reg = &r->pmu->frees[row], .number = cpu};
		uint32_t unit;

		if (!readings_leads(r, cpu, scope, &unit) || !readings_unit_has(r, row, cpu))
			continue;
		if (scope == PMU_SCOPE_PACKAGE)
			v.number = unit;
		v.error = readings_value_of(r, row, cpu, &v);
		each(arg, &v);
	}
}

static bool readings_chooses(const struct pmu_free *reg, unsigned which)
{
	if ((which & READINGS_PACKAGES) && reg->scope != PMU_SCOPE_PACKAGE)
		return false;
	return pmu_unit_is_energy(reg->unit) == ((which & READINGS_ENERGY) != 0);
}

void readings_scan(struct readings *r, unsigned which, readings_each *each, void *arg)
{
	if (!r->pmu->nfrees)
		return;
	readings_await_poll(r);
	readings_open(r, &r->scanner);
	for (unsigned row = 0; row < r->pmu->nfrees; row++)
		if (readings_chooses(&r->pmu->frees[row], which))
			readings_scan_row(r, row, each, arg);
}
