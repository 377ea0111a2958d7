// SPDX-License-Identifier: MIT
/* Detects the PMU of each CPU; on hybrid machines they differ. */
#include "backend/msr/describe.h"

#include <errno.h>

#include "backend/pmu/catalog.h"
#include "backend/pmu/detect.h"

/* The CPU that detection examines. */
struct describe_target {
	struct msr_io *io;
	unsigned cpu;
	int handle;
};

static int describe_cpuid(
	void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e)
{
	struct describe_target *t = arg;

	return t->io->ops->cpuid(t->io, t->cpu, leaf, subleaf, out, e);
}

static int describe_rdmsr(void *arg, uint32_t addr, uint64_t *value)
{
	struct describe_target *t = arg;

	return t->io->ops->read(t->io, t->handle, addr, value);
}

int msr_describe_cpu(struct msr_io *io, unsigned cpu, int handle, struct pmu *out, struct err *e)
{
	struct describe_target t = {.io = io, .cpu = cpu, .handle = handle};
	struct pmu_cpu query = {.cpuid = describe_cpuid, .rdmsr = describe_rdmsr, .arg = &t};

	return pmu_detect(&query, out, e);
}

static int describe_one(struct msr_io *io, unsigned cpu, struct pmu *out, struct err *e)
{
	int handle = io->ops->open(io, cpu, e);
	int rc;

	if (handle < 0)
		return handle;
	rc = msr_describe_cpu(io, cpu, handle, out, e);
	io->ops->close(io, handle);
	return rc;
}

static int describe_all(struct msr_io *io, struct pmu *out, struct err *e)
{
	unsigned limit = io->ops->cpu_limit(io);
	bool found = false;
	struct pmu pmu;

	for (unsigned cpu = 0; cpu < limit; cpu++) {
		int rc;

		if (!io->ops->cpu_online(io, cpu))
			continue;
		rc = describe_one(io, cpu, &pmu, e);
		if (rc == -ENXIO) /* It went offline. */
			continue;
		if (rc == 0 && found)
			rc = pmu_common(out, &pmu, e);
		if (rc < 0)
			return rc;
		if (!found)
			*out = pmu;
		found = true;
	}
	if (!found)
		return err_set(e, ENXIO, "none of the %u CPUs with an msr device is online", limit);
	return 0;
}

int msr_describe(struct msr_io *io, const char *pmu, struct pmu *out, struct err *e)
{
	return pmu ? pmu_load(pmu, out, e) : describe_all(io, out, e);
}
