// SPDX-License-Identifier: MIT
/*
 * Registers of a description that its vendor's rules do not have: PMCs that select only together
 * with others, and counters of a core, CCX or package, whose CPUs all access the same registers. A
 * counter counts while its selector and the selector's gate are enabled, at the rates of
 * hw_events.c for both levels, regardless of which CPUs are offline. With a CCCR of NetBurst, the
 * ESCR that it chooses selects threads and levels, and a wrap sets the CCCR's overflow bit.
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

/* Bits of a PMC that do not fault. On NetBurst, other programs may set bits that a description
 * reserves. */
static uint64_t extra_pmc_bits(const struct hw *hw, const struct pmu_pmc *pmc)
{
	if (pmc->escr_select)
		return HW_CCCR_BITS;
	return hw->rules == &hw_netburst ? hw->model->sim.selector_bits : ~pmc->rsvd;
}

static void extra_add_pmc(struct hw *hw, const struct pmu_pmc *pmc)
{
	if (!extra_ruled(hw, pmc->addr))
		hw->extras[hw->nextras++] = (struct hw_extra){.addr = pmc->addr,
			.bits = extra_pmc_bits(hw, pmc),
			.scope = pmc->scope,
			.pmc = pmc};
}

/* Adds a counter. pmu_validate() ensures that its selectors were added before and have the same
 * scope. */
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
		.umc = pmd->umc != 0,
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

/* The event select that a counter counts now; 0: it does not count. A selector without events (a
 * fixed counter of a package) counts cycles, and so does event 0 of a memory controller. */
static uint64_t extra_selected(
	const struct hw *hw, const struct hw_cpu *first, const struct hw_extra *extra)
{
	const struct pmu_pmc *pmc = hw->extras[extra->select].pmc;
	const struct pmu_pmc *gate = hw->extras[extra->gate].pmc;
	uint64_t select = first->extra[extra->select];

	if (!(select & pmc->enable) || !(first->extra[extra->gate] & gate->enable))
		return 0;
	if (!(~pmc->rsvd & ~pmc->enable) || (extra->umc && !(select & ~pmc->enable)))
		return HW_UNIT_CYCLES | EVTSEL_USR | EVTSEL_OS;
	return (select & ~pmc->enable & hw->rules->event_bits) | EVTSEL_USR | EVTSEL_OS;
}

/* Events that counter @extra of NetBurst has counted since @seen. */
static uint64_t extra_happened_netburst(const struct hw *hw, const struct hw_cpu *first,
	const struct hw_extra *extra, uint64_t seen)
{
	const struct pmu_pmc *cccr = hw->extras[extra->select].pmc;
	uint64_t value = first->extra[extra->select], n = 0;
	int row = pmu_escr_of(&hw->pmu, (unsigned)(cccr - hw->pmu.pmcs), value);

	if (!(value & cccr->enable) || row < 0)
		return 0;
	for (unsigned i = 0; i < hw->nextras; i++)
		for (unsigned t = 0; hw->extras[i].pmc == &hw->pmu.pmcs[row] && t < 2; t++)
			n += hw_events(hw, hw_netburst_select(first->extra[i], t), hw->now) -
			     hw_events(hw, hw_netburst_select(first->extra[i], t), seen);
	return n;
}

static uint64_t extra_happened(const struct hw *hw, const struct hw_cpu *first,
	const struct hw_extra *extra, uint64_t seen)
{
	uint64_t select;

	if (hw->extras[extra->select].pmc->escr_select)
		return extra_happened_netburst(hw, first, extra, seen);
	select = extra_selected(hw, first, extra);
	return select ? hw_events(hw, select, hw->now) - hw_events(hw, select, seen) : 0;
}

/* Updates the counters of scope @scope whose first CPU is @first. */
static void extra_catch_up(const struct hw *hw, struct hw_cpu *first, enum pmu_scope scope)
{
	uint64_t *seen = &first->extras_seen[scope];

	if (*seen == hw->now)
		return;
	for (unsigned i = 0; i < hw->nextras; i++) {
		const struct hw_extra *extra = &hw->extras[i];
		uint64_t n;

		if (!extra->counts || extra->scope != scope)
			continue;
		n = extra_happened(hw, first, extra, *seen);
		if (n > extra->bits - first->extra[i])
			first->extra[extra->select] |= hw->extras[extra->select].pmc->ovf;
		first->extra[i] = (first->extra[i] + n) & extra->bits;
	}
	*seen = hw->now;
}

/* The value of register @extra of @cpu, brought up to date. */
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
