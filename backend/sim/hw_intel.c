// SPDX-License-Identifier: MIT
/*
 * P6 and Intel's architectural performance monitoring, versions 1 to 5. Addresses and rules follow
 * Intel's manual, volumes 3B and 4. Where processors differ, the model is the strictest one:
 * reserved bits fault, and a write of a fixed counter takes the low 32 bits, sign-extended,
 * although some processors take all bits.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>

#include "perfmonfs/pmu.h"

enum {
	PMC0 = 0xc1,
	EVNTSEL0 = 0x186,
	FIXED_CTR0 = 0x309,
	PERF_CAPABILITIES = 0x345,
	FIXED_CTR_CTRL = 0x38d,
	GLOBAL_STATUS = 0x38e,
	GLOBAL_CTRL = 0x38f,
	GLOBAL_OVF_CTRL = 0x390, /* GLOBAL_STATUS_RESET from version 4 on. */
	GLOBAL_STATUS_SET = 0x391,
	GLOBAL_INUSE = 0x392,
	FULL_WIDTH_PMC0 = 0x4c1,

	FIXED_OS = 1,
	FIXED_USR = 2,
	FIXED_ANY = 4,
	FIXED_PMI = 8,
};

#define CAP_FULL_WIDTH (1ULL << 13)
#define SEL_ANY        (1ULL << 21)
#define SEL_EVENT      0xffULL
#define INUSE_PMI      (1ULL << 63)

/* Bits of the status registers that do not belong to a counter. */
#define STATUS_OVF_BUF  (1ULL << 62)
#define STATUS_COND_CHG (1ULL << 63)
#define STATUS_V4       (0xfULL << 58) /* LBR and counter freeze, ASCI, uncore. */

static unsigned intel_fixed_field(const struct hw_cpu *c, unsigned i)
{
	return c->fixed_ctrl >> 4 * i & 0xf;
}

static uint64_t intel_fixed_ctrl_bits(const struct pmu_model *m)
{
	uint64_t field = FIXED_OS | FIXED_USR | FIXED_PMI;
	uint64_t bits = 0;

	if (m->sim.selector_bits & SEL_ANY)
		field |= FIXED_ANY;
	for (unsigned i = 0; i < hw_nfixed(m); i++)
		bits |= field << 4 * i;
	return bits;
}

static uint64_t intel_status_bits(const struct pmu_model *m)
{
	return hw_all_counters(m) | STATUS_OVF_BUF | (m->features.version >= 4 ? STATUS_V4 : 0);
}

static uint64_t intel_inuse(const struct pmu_model *m, const struct hw_cpu *c)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < m->features.gp; i++) {
		if (c->sel[i] & SEL_EVENT)
			bits |= hw_counter_bit(i);
		if (c->sel[i] & EVTSEL_INT)
			bits |= INUSE_PMI;
	}
	for (unsigned i = 0; i < hw_nfixed(m); i++) {
		if (intel_fixed_field(c, i) & (FIXED_OS | FIXED_USR))
			bits |= hw_counter_bit(HW_MAX_GP + i);
		if (intel_fixed_field(c, i) & FIXED_PMI)
			bits |= INUSE_PMI;
	}
	return bits;
}

static int intel_read_global(
	const struct pmu_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	if (m->features.version < 2 || (m->features.version < 4 && addr > GLOBAL_OVF_CTRL))
		return -EIO;
	switch (addr) {
	case FIXED_CTR_CTRL:
		*v = c->fixed_ctrl;
		return 0;
	case GLOBAL_STATUS:
		*v = c->status;
		return 0;
	case GLOBAL_CTRL:
		*v = c->global_ctrl;
		return 0;
	case GLOBAL_OVF_CTRL:
	case GLOBAL_STATUS_SET:
		*v = 0;
		return 0;
	case GLOBAL_INUSE:
		*v = intel_inuse(m, c);
		return 0;
	}
	return -EIO;
}

static int intel_rdmsr(
	const struct pmu_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	unsigned i;

	if (hw_in_row(addr, EVNTSEL0, m->features.gp, &i))
		*v = c->sel[i];
	else if (hw_in_row(addr, PMC0, m->features.gp, &i))
		*v = c->count[i];
	else if (m->features.full_width && hw_in_row(addr, FULL_WIDTH_PMC0, m->features.gp, &i))
		*v = c->count[i];
	else if (hw_in_row(addr, FIXED_CTR0, hw_nfixed(m), &i))
		*v = c->count[HW_MAX_GP + i];
	else if (addr == PERF_CAPABILITIES && hw_has_capabilities(m))
		*v = m->features.full_width ? CAP_FULL_WIDTH : 0;
	else
		return intel_read_global(m, c, addr, v);
	return 0;
}

/* Stores @v in *@reg; faults if @v has bits outside @bits. */
static int intel_store(uint64_t *reg, uint64_t v, uint64_t bits)
{
	if (v & ~bits)
		return -EIO;
	*reg = v;
	return 0;
}

static int intel_write_global(
	const struct pmu_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	uint64_t change = 0;
	int rc = -EIO;

	if (m->features.version < 2 || (m->features.version < 4 && addr > GLOBAL_OVF_CTRL))
		return -EIO;
	switch (addr) {
	case FIXED_CTR_CTRL:
		return intel_store(&c->fixed_ctrl, v, intel_fixed_ctrl_bits(m));
	case GLOBAL_CTRL:
		return intel_store(&c->global_ctrl, v, hw_all_counters(m));
	case GLOBAL_OVF_CTRL:
		rc = intel_store(&change, v, intel_status_bits(m) | STATUS_COND_CHG);
		c->status &= ~change;
		break;
	case GLOBAL_STATUS_SET:
		rc = intel_store(&change, v, intel_status_bits(m));
		c->status |= change;
		break;
	}
	return rc;
}

static uint64_t intel_sign_extended(const struct pmu_model *m, uint64_t v)
{
	return (uint64_t)(int64_t)(int32_t)v & hw_counter_mask(m);
}

static int intel_wrmsr(const struct pmu_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	unsigned i;

	if (hw_in_row(addr, EVNTSEL0, m->features.gp, &i))
		return intel_store(&c->sel[i], v, m->sim.selector_bits);
	if (m->features.full_width && hw_in_row(addr, FULL_WIDTH_PMC0, m->features.gp, &i))
		return intel_store(&c->count[i], v, hw_counter_mask(m));
	if (hw_in_row(addr, PMC0, m->features.gp, &i))
		c->count[i] = intel_sign_extended(m, v);
	else if (hw_in_row(addr, FIXED_CTR0, hw_nfixed(m), &i))
		c->count[HW_MAX_GP + i] = intel_sign_extended(m, v);
	else
		return intel_write_global(m, c, addr, v);
	return 0;
}

/* The event select that is equivalent to fixed counter @i. */
static uint64_t intel_fixed_selected(const struct hw_cpu *c, unsigned i)
{
	static const uint64_t event[HW_MAX_FIXED] = {0x00c0, 0x003c, 0x013c, 0x01a4};
	unsigned field = intel_fixed_field(c, i);

	return event[i] | (field & FIXED_OS ? EVTSEL_OS : 0) | (field & FIXED_USR ? EVTSEL_USR : 0);
}

static uint64_t intel_selected(const struct hw *hw, const struct hw_cpu *c, unsigned i)
{
	unsigned gate = hw->one_enable ? 0 : i;

	if (hw->model->features.version >= 2 && !(c->global_ctrl & hw_counter_bit(i)))
		return 0;
	if (i >= HW_MAX_GP)
		return intel_fixed_selected(c, i - HW_MAX_GP);
	return c->sel[gate] & EVTSEL_EN ? c->sel[i] : 0;
}

const struct hw_rules hw_intel = {
	.vendor = "GenuineIntel",
	.max_gp = HW_MAX_GP,
	.event_bits = 0xffff,
	.on_at_reset = true,
	.rdmsr = intel_rdmsr,
	.wrmsr = intel_wrmsr,
	.selected = intel_selected,
};
