// SPDX-License-Identifier: MIT
/*
 * Registers of a description beside those of its vendor's rules: PMCs that only select together
 * with others, and counters of a core, CCX or package, whose CPUs all reach the same registers. A
 * counter counts while its selector and the selector's gate are enabled, with the rates of
 * hw_events.c for both levels, whatever CPUs are offline.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>

#include "backend/pmu/low_bits.h"

unsigned hw_scope_bits(enum pmu_scope scope)
{
	static const unsigned bits[PMU_SCOPES] = {
		[PMU_SCOPE_CORE] = HW_CORE_BITS,
		[PMU_SCOPE_CCX] = HW_CCX_BITS,
		[PMU_SCOPE_PACKAGE] = HW_PACKAGE_BITS,
	};

	return bits[scope];
}

static struct hw_cpu *extra_first(struct hw *hw, unsigned cpu, enum pmu_scope scope)
{
	return &hw->cpus[cpu >> hw_scope_bits(scope) << hw_scope_bits(scope)];
}

static struct hw_extra *extra_at(struct hw *hw, uint32_t addr)
{
	for (unsigned i = 0; i < hw->nextras; i++)
		if (hw->extras[i].addr == addr)
			return &hw->extras[i];
	return NULL;
}

static bool extra_ruled(const struct hw *hw, uint32_t addr)
{
	const struct hw_cpu none = {0};
	uint64_t v;

	return hw->rules->rdmsr(hw->model, &none, addr, &v) == 0;
}

static void extra_add_pmc(struct hw *hw, const struct pmu_pmc *pmc)
{
	if (!extra_ruled(hw, pmc->addr))
		hw->extras[hw->nextras++] = (struct hw_extra){
			.addr = pmc->addr, .bits = ~pmc->rsvd, .scope = pmc->scope, .pmc = pmc};
}

/* Its selectors are above, and of the same scope: pmu_validate(). */
static void extra_add_pmd(struct hw *hw, const struct pmu_pmd *pmd)
{
	const struct pmu_pmc *pmc = &hw->pmu.pmcs[pmd->pmc];
	struct hw_extra *extra = &hw->extras[hw->nextras];

	if (extra_ruled(hw, pmd->addr))
		return;
	*extra = (struct hw_extra){
		.addr = pmd->addr,
		.bits = pmu_low_bits(pmd->width),
		.scope = pmd->scope,
		.counts = true,
		.select = (unsigned)(extra_at(hw, pmc->addr) - hw->extras),
		.gate = (unsigned)(extra_at(hw, hw->pmu.pmcs[pmc->gate].addr) - hw->extras),
	};
	hw->nextras++;
}

void hw_extra_init(struct hw *hw)
{
	for (unsigned i = 0; i < hw->pmu.npmcs; i++)
		extra_add_pmc(hw, &hw->pmu.pmcs[i]);
	for (unsigned i = 0; i < hw->pmu.npmds; i++)
		extra_add_pmd(hw, &hw->pmu.pmds[i]);
}

/* The event select by which a counter counts; 0: it does not. A selector without events (a fixed
 * counter of a package) counts cycles. */
static uint64_t extra_selected(
	const struct hw *hw, const struct hw_cpu *first, const struct hw_extra *extra)
{
	const struct pmu_pmc *pmc = hw->extras[extra->select].pmc;
	const struct pmu_pmc *gate = hw->extras[extra->gate].pmc;
	uint64_t select = first->extra[extra->select];

	if (!(select & pmc->enable) || !(first->extra[extra->gate] & gate->enable))
		return 0;
	if (!(~pmc->rsvd & ~pmc->enable))
		return HW_UNIT_CYCLES | EVTSEL_USR | EVTSEL_OS;
	return (select & ~pmc->enable & hw->rules->event_bits) | EVTSEL_USR | EVTSEL_OS;
}

/* Updates the counters of scope @scope whose first CPU is @first. */
static void extra_catch_up(const struct hw *hw, struct hw_cpu *first, enum pmu_scope scope)
{
	uint64_t *seen = &first->extras_seen[scope];

	if (*seen == hw->now)
		return;
	for (unsigned i = 0; i < hw->nextras; i++) {
		const struct hw_extra *extra = &hw->extras[i];
		uint64_t select;

		if (!extra->counts || extra->scope != scope)
			continue;
		select = extra_selected(hw, first, extra);
		if (select)
			first->extra[i] = (first->extra[i] + hw_events(hw, select, hw->now) -
						  hw_events(hw, select, *seen)) &
					  extra->bits;
	}
	*seen = hw->now;
}

/* Where @extra of @cpu is, up to date. */
static uint64_t *extra_register(struct hw *hw, unsigned cpu, const struct hw_extra *extra)
{
	struct hw_cpu *first = extra_first(hw, cpu, extra->scope);

	extra_catch_up(hw, first, extra->scope);
	return &first->extra[extra - hw->extras];
}

bool hw_extra_read(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value)
{
	const struct hw_extra *extra = extra_at(hw, addr);

	if (extra)
		*value = *extra_register(hw, cpu, extra);
	return extra;
}

bool hw_extra_write(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value, int *rc)
{
	const struct hw_extra *extra = extra_at(hw, addr);

	if (!extra)
		return false;
	*rc = value & ~extra->bits ? -EIO : 0;
	if (!*rc)
		*extra_register(hw, cpu, extra) = value;
	return true;
}
