// SPDX-License-Identifier: MIT
/*
 * Hypervisors without a virtual PMU often let its registers be written and forget the value. A
 * counter that nobody uses is made to show whether it is a real one; Linux does the same
 * (arch/x86/events/core.c, check_hw_exists).
 */
#include "backend/msr/msr_i.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/pmu/row.h"
#include "base/cleanup.h"

static int no_pmu(const struct pmu_pmd *pmd, const char *how, struct err *e)
{
	return err_set(e, ENODEV,
		"%s (MSR %#x) %s, as in a virtual machine without a PMU: use --backend=perf, or "
		"give the VM a PMU",
		pmd->name, pmd->addr, how);
}

/* What no PMU answers with EIO is ENODEV here; other errors keep their own sentence. */
static int run_or_no_pmu(struct backend_cpu *c, struct reg_op *ops, unsigned n,
	const struct pmu_pmd *pmd, struct err *e)
{
	if (msr_run(c, ops, n, e) == n)
		return 0;
	return e->no == EIO ? no_pmu(pmd, "faults when it is used", e) : -e->no;
}

/*
 * How far a counter is from being anybody's: its selector may be 0, or programmed and stopped (a
 * context of another daemon, or what perf leaves behind), or count.
 */
enum use { UNUSED, STOPPED, COUNTING };

static int look_at(struct backend_cpu *c, const struct pmu_pmd *pmd, enum use *use, struct err *e)
{
	const struct pmu *pmu = &c->mb->pmu;
	const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];
	const struct pmu_pmc *gate = &pmu->pmcs[pmc->gate];
	uint64_t bits = gate->shared ? pmd->field : UINT64_MAX;
	struct reg_op op = {.addr = gate->addr, .verb = REG_READ};
	int rc = run_or_no_pmu(c, &op, 1, pmd, e);

	*use = op.value & gate->enable & bits ? COUNTING : op.value & bits ? STOPPED : UNUSED;
	return rc;
}

static int probe_counter(struct backend_cpu *c, const struct pmu_pmd *pmd, struct err *e)
{
	struct reg_op claim = {.addr = pmd->addr, .verb = REG_CLAIM, .mask = UINT64_MAX};
	struct reg_op write = {.addr = pmd->addr, .verb = REG_WRITE};
	struct reg_op read = {.addr = pmd->addr, .verb = REG_READ};
	int rc = run_or_no_pmu(c, &claim, 1, pmd, e);

	if (rc < 0)
		return rc;
	write.value = (claim.value ^ 0xffff) & pmd->wmask;
	rc = run_or_no_pmu(c, &write, 1, pmd, e);
	if (rc < 0) {
		claim_forget(c, msr_regs_find(&c->mb->regs, pmd->addr), UINT64_MAX);
		return rc;
	}
	rc = run_or_no_pmu(c, &read, 1, pmd, e);
	if (rc == 0 && (read.value & pmu_low_bits(pmd->width)) != write.value)
		rc = no_pmu(pmd, "does not keep what is written to it", e);
	return rc;
}

static int probe_cpu(struct backend_cpu *c, struct err *e)
{
	const struct pmu *pmu = &c->mb->pmu;
	const struct pmu_pmd *stopped = NULL;

	for (unsigned i = 0; i < pmu->npmds; i++) {
		enum use use;
		int rc = look_at(c, &pmu->pmds[i], &use, e);

		if (rc < 0)
			return rc;
		if (use == UNUSED)
			return probe_counter(c, &pmu->pmds[i], e);
		if (use == STOPPED && !stopped)
			stopped = &pmu->pmds[i];
	}
	/* If all are counting for somebody, that is real enough. */
	return stopped ? probe_counter(c, stopped, e) : 0;
}

int msr_probe(struct msr_backend *mb, struct err *e)
{
	struct msr_io *io = mb->io;
	unsigned limit = io->ops->cpu_limit(io), cpu = 0;
	CLEANUP_FREE struct backend_cpu *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(e, ENOMEM, "no memory to probe the PMU");
	while (cpu < limit && !io->ops->cpu_online(io, cpu))
		cpu++;
	msr_cpu_init(c, mb, cpu, io->ops->open(io, cpu, e));
	if (c->handle < 0)
		return c->handle;
	rc = probe_cpu(c, e);
	claim_release_all(c);
	io->ops->close(io, c->handle);
	return rc;
}
