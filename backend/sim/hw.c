// SPDX-License-Identifier: MIT
/*
 * The CPUs of the model, their common clock, and the msr driver in front of them. Time is lazy:
 * hw_advance() only moves the clock, and a CPU's counters catch up when somebody looks at it, by
 * what was enabled since they last did. As events are a function of time (hw_events.c), nobody
 * can tell.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TSC = 0x10 };

static const struct hw_model *model_find(const char *name, struct err *e)
{
	TEXT_CLEANUP struct text names = {0};

	for (const struct hw_model *m = hw_models; m->name; m++) {
		if (!strcmp(m->name, name))
			return m;
		text_printf(&names, " %s", m->name);
	}
	err_set(e, ENOENT, "there is no CPU model '%.40s' (ENOENT); choose one of%s", name,
		text_ok(&names) ? names.p : " those in msrsim(1)");
	return NULL;
}

int hw_new(const char *model, unsigned ncpus, struct hw **out, struct err *e)
{
	const struct hw_model *m = model_find(model, e);
	struct hw *hw;

	if (!m)
		return -e->no;
	if (!ncpus || ncpus > HW_MAX_CPUS)
		return err_set(e, ERANGE, "a model of %u CPUs (ERANGE): choose 1 to %d", ncpus,
			HW_MAX_CPUS);
	hw = calloc(1, sizeof(*hw) + ncpus * sizeof(hw->cpus[0]));
	if (!hw)
		return err_set(e, ENOMEM, "no memory for a model of %u CPUs (ENOMEM)", ncpus);
	hw->model = m;
	hw->ncpus = ncpus;
	pthread_mutex_init(&hw->lock, NULL);
	for (unsigned i = 0; i < ncpus; i++)
		hw->cpus[i].global_ctrl = m->global_reset;
	*out = hw;
	return 0;
}

void hw_free(struct hw *hw)
{
	if (!hw)
		return;
	pthread_mutex_destroy(&hw->lock);
	free(hw);
}

unsigned hw_cpus(const struct hw *hw)
{
	return hw->ncpus;
}

static bool in_ranges(const struct hw_ranges *set, uint32_t v)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (v >= set->r[i].lo && v <= set->r[i].hi)
			return true;
	}
	return false;
}

static bool present(const struct hw *hw, unsigned cpu)
{
	return cpu < hw->ncpus && !in_ranges(&hw->offline, cpu);
}

bool hw_online(struct hw *hw, unsigned cpu)
{
	bool online;

	pthread_mutex_lock(&hw->lock);
	online = present(hw, cpu);
	pthread_mutex_unlock(&hw->lock);
	return online;
}

static void count(const struct hw_model *m, struct hw_cpu *c, unsigned i, uint64_t n)
{
	uint64_t mask = hw_counter_mask(m);

	if (n > mask - c->count[i])
		c->status |= hw_counter_bit(i);
	c->count[i] = (c->count[i] + n) & mask;
}

/* Lets the counters of an online CPU count up to the present. */
static void catch_up(const struct hw *hw, struct hw_cpu *c)
{
	const struct hw_model *m = hw->model;

	for (unsigned i = 0; i < HW_MAX_COUNTERS; i++) {
		bool exists = hw_all_counters(m) & hw_counter_bit(i);
		uint64_t select = exists ? m->family->selected(m, c, i) : 0;

		if (select)
			count(m, c, i,
				hw_events(m, select, hw->now) - hw_events(m, select, c->seen));
	}
	c->seen = hw->now;
}

void hw_set_offline(struct hw *hw, const struct hw_ranges *set)
{
	for (unsigned i = 0; i < hw->ncpus; i++) {
		struct hw_cpu *c = &hw->cpus[i];
		bool was = present(hw, i);
		bool will = !in_ranges(set, i);

		if (was) {
			catch_up(hw, c);
		} else if (will) {
			c->seen = hw->now;
			if (hw->model->family->online_disables)
				c->global_ctrl = 0;
		}
	}
	hw->offline = *set;
}

static int read_register(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value)
{
	if (!present(hw, cpu))
		return -ENXIO;
	if (in_ranges(&hw->fault, addr))
		return -EIO;
	catch_up(hw, &hw->cpus[cpu]);
	if (addr == TSC) {
		*value = hw_ticks(HW_TSC_RATE, hw->now);
		return 0;
	}
	return hw->model->family->rdmsr(hw->model, &hw->cpus[cpu], addr, value);
}

int hw_write(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value)
{
	if (!present(hw, cpu))
		return -ENXIO;
	if (in_ranges(&hw->fault, addr))
		return -EIO;
	catch_up(hw, &hw->cpus[cpu]);
	return hw->model->family->wrmsr(hw->model, &hw->cpus[cpu], addr, value);
}

static const char *outcome(int rc)
{
	if (!rc)
		return "";
	return rc == -ENXIO ? " offline" : " #GP";
}

int hw_rdmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value)
{
	int rc;

	pthread_mutex_lock(&hw->lock);
	rc = read_register(hw, cpu, addr, value);
	if (hw->log) {
		text_printf(hw->log, "cpu%u rdmsr 0x%" PRIx32, cpu, addr);
		if (!rc)
			text_printf(hw->log, " 0x%016" PRIx64, *value);
		text_printf(hw->log, "%s\n", outcome(rc));
	}
	pthread_mutex_unlock(&hw->lock);
	return rc;
}

int hw_wrmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value)
{
	int rc;

	pthread_mutex_lock(&hw->lock);
	rc = hw_write(hw, cpu, addr, value);
	if (hw->log)
		text_printf(hw->log, "cpu%u wrmsr 0x%" PRIx32 " 0x%016" PRIx64 "%s\n", cpu, addr,
			value, outcome(rc));
	pthread_mutex_unlock(&hw->lock);
	return rc;
}

void hw_advance(struct hw *hw, uint64_t ns)
{
	pthread_mutex_lock(&hw->lock);
	hw->now += ns < HW_TIME_MAX - hw->now ? ns : HW_TIME_MAX - hw->now;
	pthread_mutex_unlock(&hw->lock);
}

uint64_t hw_now(struct hw *hw)
{
	uint64_t now;

	pthread_mutex_lock(&hw->lock);
	now = hw->now;
	pthread_mutex_unlock(&hw->lock);
	return now;
}

uint64_t hw_truth(const struct hw *hw, uint64_t select, uint64_t ns)
{
	return hw_events(hw->model, select, ns);
}

void hw_log(struct hw *hw, struct text *log)
{
	pthread_mutex_lock(&hw->lock);
	hw->log = log;
	pthread_mutex_unlock(&hw->lock);
}
