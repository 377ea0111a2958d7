// SPDX-License-Identifier: MIT
/*
 * AMD's core counters. Version 0: four, since K7. Version 1: six, since family 15h; the first four
 * are also at the old addresses. Version 2: with global registers, since Zen 4. Addresses and rules
 * follow the Programmer's Manual, volume 2, section 13.2. Reserved bits of selectors and counters
 * are ignored; reserved bits of the global control fault.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>

#include "perfmonfs/pmu.h"

#define PERF_LEGACY_CTL0  0xc0010000
#define PERF_LEGACY_CTR0  0xc0010004
#define PERF_CTL0         0xc0010200 /* Selectors and counters alternate. */
#define GLOBAL_STATUS     0xc0000300
#define GLOBAL_CTL        0xc0000301
#define GLOBAL_STATUS_CLR 0xc0000302

enum { LEGACY_COUNTERS = 4 };

/* Whether @addr is a selector or counter; sets its number *@i. */
static bool amd_decode(const struct pmu_model *m, uint32_t addr, unsigned *i, bool *counter)
{
	*counter = hw_in_row(addr, PERF_LEGACY_CTR0, LEGACY_COUNTERS, i);
	if (*counter || hw_in_row(addr, PERF_LEGACY_CTL0, LEGACY_COUNTERS, i))
		return true;
	if (m->features.version < 1 || !hw_in_row(addr, PERF_CTL0, 2 * m->features.gp, i))
		return false;
	*counter = *i & 1;
	*i /= 2;
	return true;
}

static int amd_rdmsr(const struct pmu_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	bool counter;
	unsigned i;

	if (amd_decode(m, addr, &i, &counter)) {
		*v = counter ? c->count[i] : c->sel[i];
		return 0;
	}
	if (m->features.version < 2)
		return -EIO;
	switch (addr) {
	case GLOBAL_STATUS:
		*v = c->status;
		return 0;
	case GLOBAL_CTL:
		*v = c->global_ctrl;
		return 0;
	case GLOBAL_STATUS_CLR:
		*v = 0;
		return 0;
	}
	return -EIO;
}

static int amd_wrmsr(const struct pmu_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	bool counter;
	unsigned i;

	if (amd_decode(m, addr, &i, &counter)) {
		if (counter)
			c->count[i] = v & hw_counter_mask(m);
		else
			c->sel[i] = v & m->sim.selector_bits;
		return 0;
	}
	if (m->features.version < 2)
		return -EIO;
	switch (addr) {
	case GLOBAL_CTL:
		if (v & ~hw_all_counters(m))
			return -EIO;
		c->global_ctrl = v;
		return 0;
	case GLOBAL_STATUS_CLR:
		c->status &= ~v;
		return 0;
	}
	return -EIO;
}

static uint64_t amd_selected(const struct hw *hw, const struct hw_cpu *c, unsigned i)
{
	if (hw->model->features.version >= 2 && !(c->global_ctrl & hw_counter_bit(i)))
		return 0;
	return c->sel[i] & EVTSEL_EN ? c->sel[i] : 0;
}

const struct hw_rules hw_amd = {
	.vendor = "AuthenticAMD",
	.max_gp = HW_MAX_GP,
	.event_bits = 0xf0000ffff,
	.off_at_online = true,
	.rdmsr = amd_rdmsr,
	.wrmsr = amd_wrmsr,
	.selected = amd_selected,
};
