// SPDX-License-Identifier: MIT
/*
 * P6 and Intel's architectural performance monitoring, versions 1 to 5. Addresses and rules are
 * those of Intel's manual, volumes 3B and 4. Where processors differ, the strictest is modelled:
 * reserved bits fault, and fixed counters take writes as the legacy addresses of general ones do
 * (the low 32 bits, sign-extended), although some processors take them in full.
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
	GLOBAL_OVF_CTRL = 0x390, /* from version 4: GLOBAL_STATUS_RESET */
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

/* Bits of the status registers that belong to no counter. */
#define STATUS_OVF_BUF  (1ULL << 62)
#define STATUS_COND_CHG (1ULL << 63)
#define STATUS_V4       (0xfULL << 58) /* LBR and counter freeze, ASCI, uncore */

static unsigned fixed_field(const struct hw_cpu *c, unsigned i)
{
	return c->fixed_ctrl >> 4 * i & 0xf;
}

static uint64_t fixed_ctrl_bits(const struct hw_model *m)
{
	uint64_t field = FIXED_OS | FIXED_USR | FIXED_PMI;
	uint64_t bits = 0;

	if (m->sel_bits & SEL_ANY)
		field |= FIXED_ANY;
	for (unsigned i = 0; i < m->nfixed; i++)
		bits |= field << 4 * i;
	return bits;
}

static uint64_t status_set_bits(const struct hw_model *m)
{
	return hw_all_counters(m) | STATUS_OVF_BUF | (m->version >= 4 ? STATUS_V4 : 0);
}

static uint64_t inuse(const struct hw_model *m, const struct hw_cpu *c)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < m->ngp; i++) {
		if (c->sel[i] & SEL_EVENT)
			bits |= hw_counter_bit(i);
		if (c->sel[i] & EVTSEL_INT)
			bits |= INUSE_PMI;
	}
	for (unsigned i = 0; i < m->nfixed; i++) {
		if (fixed_field(c, i) & (FIXED_OS | FIXED_USR))
			bits |= hw_counter_bit(HW_MAX_GP + i);
		if (fixed_field(c, i) & FIXED_PMI)
			bits |= INUSE_PMI;
	}
	return bits;
}

static int read_global(const struct hw_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	if (m->version < 2 || (m->version < 4 && addr > GLOBAL_OVF_CTRL))
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
		*v = inuse(m, c);
		return 0;
	}
	return -EIO;
}

static int intel_rdmsr(const struct hw_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	unsigned i;

	if (hw_in_row(addr, EVNTSEL0, m->ngp, &i))
		*v = c->sel[i];
	else if (hw_in_row(addr, PMC0, m->ngp, &i))
		*v = c->count[i];
	else if (m->full_width && hw_in_row(addr, FULL_WIDTH_PMC0, m->ngp, &i))
		*v = c->count[i];
	else if (hw_in_row(addr, FIXED_CTR0, m->nfixed, &i))
		*v = c->count[HW_MAX_GP + i];
	else if (addr == PERF_CAPABILITIES && m->perf_capabilities)
		*v = m->full_width ? CAP_FULL_WIDTH : 0;
	else
		return read_global(m, c, addr, v);
	return 0;
}

/* Takes @v if it has no bit outside @bits. */
static int store_bits(uint64_t *reg, uint64_t v, uint64_t bits)
{
	if (v & ~bits)
		return -EIO;
	*reg = v;
	return 0;
}

static int write_global(const struct hw_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	uint64_t change = 0;
	int rc = -EIO;

	if (m->version < 2 || (m->version < 4 && addr > GLOBAL_OVF_CTRL))
		return -EIO;
	switch (addr) {
	case FIXED_CTR_CTRL:
		return store_bits(&c->fixed_ctrl, v, fixed_ctrl_bits(m));
	case GLOBAL_CTRL:
		return store_bits(&c->global_ctrl, v, hw_all_counters(m));
	case GLOBAL_OVF_CTRL:
		rc = store_bits(&change, v, status_set_bits(m) | STATUS_COND_CHG);
		c->status &= ~change;
		break;
	case GLOBAL_STATUS_SET:
		rc = store_bits(&change, v, status_set_bits(m));
		c->status |= change;
		break;
	}
	return rc;
}

static uint64_t sign_extended(const struct hw_model *m, uint64_t v)
{
	return (uint64_t)(int64_t)(int32_t)v & hw_counter_mask(m);
}

static int intel_wrmsr(const struct hw_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	unsigned i;

	if (hw_in_row(addr, EVNTSEL0, m->ngp, &i))
		return store_bits(&c->sel[i], v, m->sel_bits);
	if (m->full_width && hw_in_row(addr, FULL_WIDTH_PMC0, m->ngp, &i))
		return store_bits(&c->count[i], v, hw_counter_mask(m));
	if (hw_in_row(addr, PMC0, m->ngp, &i))
		c->count[i] = sign_extended(m, v);
	else if (hw_in_row(addr, FIXED_CTR0, m->nfixed, &i))
		c->count[HW_MAX_GP + i] = sign_extended(m, v);
	else
		return write_global(m, c, addr, v);
	return 0;
}

/* Fixed counters count what these selectors would. */
static uint64_t fixed_selected(const struct hw_cpu *c, unsigned i)
{
	static const uint64_t event[HW_MAX_FIXED] = {0x00c0, 0x003c, 0x013c, 0x01a4};
	unsigned field = fixed_field(c, i);

	return event[i] | (field & FIXED_OS ? EVTSEL_OS : 0) | (field & FIXED_USR ? EVTSEL_USR : 0);
}

static uint64_t intel_selected(const struct hw_model *m, const struct hw_cpu *c, unsigned i)
{
	/* On P6 the first selector's bit enables both counters; the second's does nothing. */
	unsigned gate = m->version ? i : 0;

	if (m->version >= 2 && !(c->global_ctrl & hw_counter_bit(i)))
		return 0;
	if (i >= HW_MAX_GP)
		return fixed_selected(c, i - HW_MAX_GP);
	return c->sel[gate] & EVTSEL_EN ? c->sel[i] : 0;
}

const struct hw_family hw_intel = {
	.vendor = "GenuineIntel",
	.event_bits = 0xffff,
	.rdmsr = intel_rdmsr,
	.wrmsr = intel_wrmsr,
	.selected = intel_selected,
};
