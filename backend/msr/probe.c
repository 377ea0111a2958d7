// SPDX-License-Identifier: MIT
/*
 * Hypervisors without a virtual PMU often accept writes to its registers and drop the value. The
 * probe writes an unused counter and reads it back; Linux does the same (check_hw_exists() in
 * arch/x86/events/core.c).
 */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/pmu/low_bits.h"
#include "base/cleanup.h"

static int probe_no_pmu(const struct pmu_pmd *pmd, const char *how, struct err *e)
{
	return err_set(e, ENODEV,
		"%s (MSR %#x) %s, as in a virtual machine without a PMU: use perfmonfs "
		"--backend=perf, or give the VM a PMU",
		pmd->name, pmd->addr, how);
}

/* Runs operations; returns ENODEV for EIO, which accesses fail with if there is no PMU. Other
 * errors keep their sentence. */
static int probe_run(
	struct backend_cpu *c, struct reg_op *op, const struct pmu_pmd *pmd, struct err *e)
{
	if (msr_run(c, op, 1, e) == 1)
		return 0;
	return e->no == EIO ? probe_no_pmu(pmd, "faults when it is used", e) : -e->no;
}

/*
 * State of a counter's selector: 0; programmed but stopped, by another daemon's context or as left
 * behind by perf; or enabled.
 */
enum probe_use { UNUSED, STOPPED, COUNTING };

static int probe_selector(
	struct backend_cpu *c, const struct pmu_pmd *pmd, enum probe_use *use, struct err *e)
{
	const struct pmu *pmu = &c->type->pmu;
	const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];
	const struct pmu_pmc *gate = &pmu->pmcs[pmc->gate];
	uint64_t bits = gate->shared ? pmd->field : UINT64_MAX;
	struct reg_op op = {.addr = gate->addr, .verb = REG_READ};
	int rc = probe_run(c, &op, pmd, e);

	*use = op.value & gate->enable & bits ? COUNTING : op.value & bits ? STOPPED : UNUSED;
	return rc;
}

static int probe_counter(struct backend_cpu *c, const struct pmu_pmd *pmd, struct err *e)
{
	struct reg_op reserve = {.addr = pmd->addr, .verb = REG_RESERVE, .mask = UINT64_MAX};
	struct reg_op write = {.addr = pmd->addr, .verb = REG_WRITE};
	struct reg_op read = {.addr = pmd->addr, .verb = REG_READ};
	int rc = probe_run(c, &reserve, pmd, e);

	if (rc < 0)
		return rc;
	write.value = (reserve.value ^ 0xffff) & pmd->wmask;
	rc = probe_run(c, &write, pmd, e);
	if (rc < 0) {
		reserve_forget(c, msr_regs_find(c->regs, pmd->addr), UINT64_MAX);
		return rc;
	}
	rc = probe_run(c, &read, pmd, e);
	if (rc == 0 && (read.value & pmu_low_bits(pmd->width)) != write.value)
		rc = probe_no_pmu(pmd, "does not keep the values written to it", e);
	return rc;
}

static int probe_cpu(struct backend_cpu *c, struct err *e)
{
	const struct pmu *pmu = &c->type->pmu;
	const struct pmu_pmd *stopped = NULL;

	for (unsigned i = 0; i < pmu->npmds; i++) {
		enum probe_use use;
		int rc = probe_selector(c, &pmu->pmds[i], &use, e);

		if (rc < 0)
			return rc;
		if (use == UNUSED)
			return probe_counter(c, &pmu->pmds[i], e);
		if (use == STOPPED && !stopped)
			stopped = &pmu->pmds[i];
	}
	/* Counters that all count prove that the PMU is real. */
	return stopped ? probe_counter(c, stopped, e) : 0;
}

int msr_probe(struct msr_backend *mb, struct err *e)
{
	struct msr_io *io = mb->io;
	unsigned cpu = msr_first_online(io);
	CLEANUP_FREE struct backend_cpu *c = calloc(1, sizeof(*c));
	const struct msr_type *type;
	struct err failed;
	int handle, rc;

	if (!c)
		return err_set(e, ENOMEM, "no memory to probe the PMU");
	handle = io->ops->open(io, cpu, e);
	if (handle < 0)
		return handle;
	rc = msr_types_find(&mb->types, io, cpu, handle, &type, e);
	if (rc == 0) {
		msr_cpu_init(c, mb, type, cpu, handle);
		rc = msr_cpu_find_thread(c, e);
	}
	if (rc == 0) {
		rc = probe_cpu(c, e);
		if (reserve_release_all(c, &failed) < 0)
			reserve_report(&failed);
		pending_restore_keep(c);
	}
	io->ops->close(io, handle);
	return rc;
}
