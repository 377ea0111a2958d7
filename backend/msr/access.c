// SPDX-License-Identifier: MIT
/* Access to a CPU's registers, below reservations and plans. */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "backend/msr/kernel.h"
#include "backend/msr/topology.h"
#include "backend/pmu/regs.h"

#define IPF_OI    (1ULL << 5) /* Interrupt bit of Itanium's selectors. */
#define FIXED_PMI 0x8888888888888888ULL

unsigned msr_first_online(struct msr_io *io)
{
	unsigned limit = io->ops->cpu_limit(io), cpu = 0;

	while (cpu < limit && !io->ops->cpu_online(io, cpu))
		cpu++;
	return cpu;
}

int msr_cpu_find_thread(struct backend_cpu *c, struct err *e)
{
	unsigned thread = 0;

	if (c->regs->by_thread && topology_thread(c->io, c->cpu, &thread, e) < 0)
		return -e->no;
	c->is_second = thread > 0;
	return 0;
}

bool msr_interrupts(const struct pmu *pmu, uint32_t addr, uint64_t value)
{
	if (pmu->space == PMU_SPACE_IPF)
		return value & IPF_OI;
	if (addr >= MSR_P4_CCCR0 && addr <= MSR_P4_CCCR17)
		return value & CCCR_OVF_PMI;
	return value & (addr == MSR_FIXED_CTR_CTRL ? FIXED_PMI : EVTSEL_INT);
}

__attribute__((cold, noinline)) int msr_access_failed(
	const struct backend_cpu *c, const struct msr_reg *reg, int rc, struct err *e)
{
	char what[96];

	snprintf(what, sizeof(what), "CPU %u: %s (MSR %#" PRIx32 ")", c->cpu, reg->name, reg->addr);
	switch (-rc) {
	case EIO:
		return err_set(e, EIO,
			"%s: EIO: the access faulted: the CPU or its hypervisor lacks the register "
			"or refuses the value",
			what);
	case ENXIO:
		return err_set(e, ENXIO, "%s: ENXIO: the CPU went offline", what);
	case EPERM:
		return kernel_refusal(what, e);
	default:
		return err_set(e, -rc, "%s: %s", what, err_name(-rc));
	}
}
