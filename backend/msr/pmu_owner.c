// SPDX-License-Identifier: MIT
/*
 * Names the user of a selector: another daemon is found in its journal, and a context of this
 * daemon among pending reservations. Otherwise the value is a hint: the kernel's NMI watchdog
 * counts cycles.
 */
#include "backend/msr/msr_i.h"

#include <inttypes.h>

#include "backend/msr/kernel.h"
#include "backend/pmu/regs.h"

#define FIXED1_FIELD 0x30ULL /* OS and USR of fixed counter 1, which counts core cycles. */

enum { CYCLES_INTEL = 0x003c, CYCLES_AMD = 0x0076 }; /* Event and unit mask. */

static bool owner_counts_cycles(uint32_t addr, uint64_t value)
{
	if (addr == MSR_FIXED_CTR_CTRL)
		return value & FIXED1_FIELD;
	/* A CCCR never matches, because its low bits are reserved. */
	return value & EVTSEL_INT &&
	       ((value & 0xffff) == CYCLES_INTEL || (value & 0xffff) == CYCLES_AMD);
}

void msr_pmu_owner(
	struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out)
{
	pid_t daemon = journal_owner(msr_of(be)->journal, cpu, addr);
	const struct msr_type *type = msr_type_of(&msr_of(be)->types, cpu);
	const struct msr_reg *reg = type ? msr_regs_find(&type->regs, addr) : NULL;
	unsigned other;

	if (reg && unit_owner(be, cpu, reg, &other))
		text_printf(out, "the context on CPU %u, which shares %s", other, reg->name);
	else if (daemon)
		text_printf(out, "another perfmonfs, pid %d: see its cpus", (int)daemon);
	else if (msr_of(be)->io->kernel && owner_counts_cycles(addr, value) &&
		 kernel_nmi_watchdog())
		text_printf(out,
			"the kernel's NMI watchdog (echo 0 > " KERNEL_NMI_WATCHDOG " frees it)");
	else if (msr_interrupts(type ? &type->pmu : be->pmu, addr, value))
		text_printf(out,
			"the kernel's perf (selector %#" PRIx64
			"; stop programs that use perf or perf_event_open(2): ps may show them)",
			value);
	else if (pending_restore_has(msr_of(be), cpu, addr))
		text_printf(out,
			"a context that has ended: perfmonfs restores the register soon, and "
			"before the next load on this CPU");
	else
		text_printf(out,
			"another program (selector %#" PRIx64 "): for example likwid, pcm "
			"or wrmsr",
			value);
}
