// SPDX-License-Identifier: MIT
/*
 * The CPUs of the model, their clock, and the msr driver in front of them. Time is lazy:
 * hw_advance() only moves the clock, and a CPU's counters are updated at the next access to the
 * CPU. Events are a function of time (hw_events.c), so the result is the same.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct hw_rules *hw_rules_of(const struct pmu_model *m, const struct pmu *pmu)
{
	if (m->space == PMU_SPACE_IPF)
		return &hw_ipf;
	if (m->vendor == PMU_AMD)
		return &hw_amd;
	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->pmcs[i].escr_select)
			return &hw_netburst;
	return &hw_intel;
}

/* The model of simulated processor @i. Not every model has a processor. */
static const struct pmu_model *hw_model_at(unsigned i)
{
	const struct pmu_model *m;

	for (unsigned k = 0; (m = pmu_model_at(k)); k++)
		if (m->sim.name[0] && i-- == 0)
			return m;
	return NULL;
}

static const struct pmu_model *hw_find_model(const char *name, struct err *e)
{
	const struct pmu_model *m;

	for (unsigned i = 0; (m = hw_model_at(i)); i++)
		if (!strcmp(m->sim.name, name))
			return m;
	err_set(e, ENOENT,
		"there is no CPU model '%.40s' (ENOENT): choose one that perfmonfs --help lists",
		name);
	return NULL;
}

const char *hw_model_name(unsigned i)
{
	const struct pmu_model *m = hw_model_at(i);

	return m ? m->sim.name : NULL;
}

const char *hw_model_counters(unsigned i)
{
	return hw_model_at(i)->sim.counters;
}

/* Whether @f fits the rules' arrays, which have a fixed size. A description in /etc/perfmonfs/pmu.d
 * may exceed them. */
static bool hw_fits(const struct hw_rules *rules, const struct pmu_features *f)
{
	if (rules == &hw_ipf)
		return true;
	return f->gp && f->gp <= rules->max_gp && f->fixed < 1u << HW_MAX_FIXED && f->gp_width &&
	       f->gp_width < 64 && !(f->fixed & (f->fixed + 1));
}

int hw_new(const char *model, unsigned ncpus, struct hw **out, struct err *e)
{
	const struct pmu_model *m = hw_find_model(model, e);
	const struct hw_rules *rules;
	struct pmu pmu;
	struct hw *hw;

	if (!m || pmu_build(m, &m->features, &pmu, e) < 0)
		return -e->no;
	rules = hw_rules_of(m, &pmu);
	if (!hw_fits(rules, &m->features) || (m->atom.gp && !hw_fits(rules, &m->atom)))
		return err_set(e, ERANGE,
			"the model %s (ERANGE): its lines features and atom must have gp=1 to %u, "
			"and fixed= "
			"of "
			"consecutive bits, %d at most",
			m->name, rules->max_gp, HW_MAX_FIXED);
	if (!ncpus || ncpus > HW_MAX_CPUS)
		return err_set(e, ERANGE, "a model of %u CPUs (ERANGE): choose 1 to %d", ncpus,
			HW_MAX_CPUS);
	hw = calloc(1, sizeof(*hw) + ncpus * sizeof(hw->cpus[0]));
	if (!hw)
		return err_set(e, ENOMEM, "no memory for a model of %u CPUs (ENOMEM)", ncpus);
	hw->model = m;
	hw->rules = rules;
	hw->ncpus = ncpus;
	hw->atom = *m;
	hw->atom.features = m->atom;
	hw->first_atom = m->atom.gp ? (ncpus + 1) / 2 : ncpus;
	hw->pmu = pmu;
	hw->one_enable = pmu.npmcs > 1 && pmu.pmcs[1].gate == 0;
	hw_extra_init(hw);
	pthread_mutex_init(&hw->lock, NULL);
	if (hw_has_msrs(hw))
		hw_free_init(hw);
	for (unsigned i = 0; i < ncpus && hw->rules->on_at_reset && m->features.version >= 2; i++)
		hw->cpus[i].global_ctrl = (1ULL << hw_model_of(hw, &hw->cpus[i])->features.gp) - 1;
	for (unsigned i = 0; i < ncpus && hw->rules->reset; i++)
		hw->rules->reset(&hw->cpus[i]);
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

bool hw_has_msrs(const struct hw *hw)
{
	return hw->model->space == PMU_SPACE_MSR;
}

const char *hw_description(const struct hw *hw)
{
	return hw->model->name;
}

bool hw_model_has_msrs(unsigned i)
{
	return hw_model_at(i)->space == PMU_SPACE_MSR;
}

unsigned hw_cpus(const struct hw *hw)
{
	return hw->ncpus;
}

static bool hw_in_ranges(const struct hw_ranges *set, uint32_t v)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (v >= set->r[i].lo && v <= set->r[i].hi)
			return true;
	}
	return false;
}

static bool hw_present(const struct hw *hw, unsigned cpu)
{
	return cpu < hw->ncpus && !hw_in_ranges(&hw->offline, cpu);
}

bool hw_online(struct hw *hw, unsigned cpu)
{
	bool online;

	hw_lock(hw);
	online = hw_present(hw, cpu);
	pthread_mutex_unlock(&hw->lock);
	return online;
}

int hw_cpuid(struct hw *hw, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	if (!hw_online(hw, cpu))
		return -ENXIO;
	hw_cpuid_leaf(hw, cpu, leaf, subleaf, out);
	return 0;
}

static void hw_count(const struct pmu_model *m, struct hw_cpu *c, unsigned i, uint64_t n)
{
	uint64_t mask = hw_counter_mask(m);

	if (n > mask - c->count[i])
		c->status |= hw_counter_bit(i);
	c->count[i] = (c->count[i] + n) & mask;
}

/* Whether counter @i can count event @select. Fixed counters have no constraints. */
static bool hw_can_count(const struct hw *hw, unsigned i, uint64_t select)
{
	int row = i < HW_MAX_GP ? pmu_find_pmc(&hw->pmu, i) : -1;

	return row < 0 || pmu_event_pmcs(&hw->pmu, (unsigned)row, select) >> i & 1;
}

/* Updates the counters of an online CPU. */
static void hw_catch_up(const struct hw *hw, struct hw_cpu *c)
{
	const struct pmu_model *m = hw_model_of(hw, c);

	if (c->seen == hw->now)
		return;
	if (hw->rules->catch_up) {
		hw->rules->catch_up(c, hw->now);
		return;
	}
	for (unsigned i = 0; i < HW_MAX_COUNTERS; i++) {
		bool exists = hw_all_counters(m) & hw_counter_bit(i);
		uint64_t select = exists ? hw->rules->selected(hw, c, i) : 0;

		if (select && hw_can_count(hw, i, select))
			hw_count(m, c, i,
				hw_events(hw, select, hw->now) - hw_events(hw, select, c->seen));
	}
	c->seen = hw->now;
}

void hw_set_offline(struct hw *hw, const struct hw_ranges *set)
{
	for (unsigned i = 0; i < hw->ncpus; i++) {
		struct hw_cpu *c = &hw->cpus[i];
		bool was = hw_present(hw, i);
		bool will = !hw_in_ranges(set, i);

		if (was) {
			hw_catch_up(hw, c);
		} else if (will) {
			c->seen = hw->now;
			if (hw->rules->off_at_online)
				c->global_ctrl = 0;
		}
	}
	hw->offline = *set;
}

void hw_lock(struct hw *hw)
{
	uint64_t now;

	pthread_mutex_lock(&hw->lock);
	now = hw->clock ? hw->clock() : 0;
	if (now > hw->now)
		hw->now = now;
}

static int hw_read(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value)
{
	if (!hw_present(hw, cpu))
		return -ENXIO;
	if (hw_in_ranges(&hw->fault, addr))
		return -EIO;
	hw_catch_up(hw, &hw->cpus[cpu]);
	if (hw_has_msrs(hw) && hw_free_read(hw, cpu, addr, value))
		return 0;
	if (hw_extra_read(hw, cpu, addr, value))
		return 0;
	return hw->rules->rdmsr(hw_model_of(hw, &hw->cpus[cpu]), &hw->cpus[cpu], addr, value);
}

int hw_write(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value)
{
	int rc;

	if (!hw_present(hw, cpu))
		return -ENXIO;
	if (hw_in_ranges(&hw->fault, addr))
		return -EIO;
	hw_catch_up(hw, &hw->cpus[cpu]);
	if (hw_extra_write(hw, cpu, addr, value, &rc))
		return rc;
	return hw->rules->wrmsr(hw_model_of(hw, &hw->cpus[cpu]), &hw->cpus[cpu], addr, value);
}

static const char *hw_outcome(int rc)
{
	if (!rc)
		return "";
	return rc == -ENXIO ? " offline" : " #GP";
}

int hw_rdmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value)
{
	int rc;

	hw_lock(hw);
	rc = hw_read(hw, cpu, addr, value);
	if (hw->log) {
		text_printf(hw->log, "cpu%u rdmsr 0x%" PRIx32, cpu, addr);
		if (!rc)
			text_printf(hw->log, " 0x%016" PRIx64, *value);
		text_printf(hw->log, "%s\n", hw_outcome(rc));
	}
	pthread_mutex_unlock(&hw->lock);
	return rc;
}

int hw_wrmsr(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value)
{
	int rc;

	hw_lock(hw);
	rc = hw_write(hw, cpu, addr, value);
	if (hw->log)
		text_printf(hw->log, "cpu%u wrmsr 0x%" PRIx32 " 0x%016" PRIx64 "%s\n", cpu, addr,
			value, hw_outcome(rc));
	pthread_mutex_unlock(&hw->lock);
	return rc;
}

void hw_set_clock(struct hw *hw, uint64_t (*clock)(void))
{
	pthread_mutex_lock(&hw->lock);
	hw->clock = clock;
	pthread_mutex_unlock(&hw->lock);
}

void hw_advance(struct hw *hw, uint64_t ns)
{
	hw_lock(hw);
	hw->now += ns < HW_TIME_MAX - hw->now ? ns : HW_TIME_MAX - hw->now;
	pthread_mutex_unlock(&hw->lock);
}

uint64_t hw_now(struct hw *hw)
{
	uint64_t now;

	hw_lock(hw);
	now = hw->now;
	pthread_mutex_unlock(&hw->lock);
	return now;
}

void hw_log(struct hw *hw, struct text *log)
{
	hw_lock(hw);
	hw->log = log;
	pthread_mutex_unlock(&hw->lock);
}
