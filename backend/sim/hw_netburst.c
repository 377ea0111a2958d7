// SPDX-License-Identifier: MIT
/*
 * NetBurst (SDM volume 3, "Performance Monitoring (Processors Based on NetBurst
 * Microarchitecture)"): all its registers are in the description and shared by the threads of a
 * core, and hw_extra.c implements them. An ESCR counts events of the first thread, the second, or
 * both. Compare, threshold, edge, tags, cascading and the number of active threads have no effect.
 */
#include "backend/sim/hw_i.h"

#include <errno.h>

#include "backend/pmu/regs.h"

static int netburst_rdmsr(
	const struct pmu_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	(void)m;
	(void)c;
	(void)addr;
	(void)v;
	return -EIO;
}

static int netburst_wrmsr(const struct pmu_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	(void)m;
	(void)c;
	(void)addr;
	(void)v;
	return -EIO;
}

static uint64_t netburst_selected(const struct hw *hw, const struct hw_cpu *c, unsigned i)
{
	(void)hw;
	(void)c;
	(void)i;
	return 0;
}

uint64_t hw_netburst_select(uint64_t escr, unsigned thread)
{
	uint64_t levels = thread ? escr << 2 : escr;

	return (escr >> 25 & 0x3f) | (escr >> 9 & 0xff) << 8 |
	       (levels & ESCR_T0_OS ? EVTSEL_OS : 0) | (levels & ESCR_T0_USR ? EVTSEL_USR : 0);
}

const struct hw_rules hw_netburst = {
	.vendor = "GenuineIntel",
	.max_gp = 32,
	.event_bits = 0xffff,
	.rdmsr = netburst_rdmsr,
	.wrmsr = netburst_wrmsr,
	.selected = netburst_selected,
};
