// SPDX-License-Identifier: MIT
/* Detection over the CPUs of a machine; they differ on hybrid ones. */
#include "backend/msr/describe.h"

#include <errno.h>

#include "backend/pmu/catalog.h"
#include "backend/pmu/detect.h"

struct one_cpu {
	struct msr_io *io;
	unsigned cpu;
	int handle;
};

static int one_cpuid(void *arg, uint32_t leaf, uint32_t subleaf, uint32_t out[4], struct err *e)
{
	struct one_cpu *one = arg;

	return one->io->ops->cpuid(one->io, one->cpu, leaf, subleaf, out, e);
}

static int one_rdmsr(void *arg, uint32_t addr, uint64_t *value)
{
	struct one_cpu *one = arg;

	return one->io->ops->read(one->io, one->handle, addr, value);
}

int msr_describe_cpu(struct msr_io *io, unsigned cpu, int handle, struct pmu *out, struct err *e)
{
	struct one_cpu one = {.io = io, .cpu = cpu, .handle = handle};
	struct pmu_cpu ask = {.cpuid = one_cpuid, .rdmsr = one_rdmsr, .arg = &one};

	return pmu_detect(&ask, out, e);
}

static int detect_one(struct msr_io *io, unsigned cpu, struct pmu *out, struct err *e)
{
	int handle = io->ops->open(io, cpu, e);
	int rc;

	if (handle < 0)
		return handle;
	rc = msr_describe_cpu(io, cpu, handle, out, e);
	io->ops->close(io, handle);
	return rc;
}

static int detect_all(struct msr_io *io, struct pmu *out, struct err *e)
{
	unsigned limit = io->ops->cpu_limit(io);
	bool found = false;
	struct pmu pmu;

	for (unsigned cpu = 0; cpu < limit; cpu++) {
		int rc;

		if (!io->ops->cpu_online(io, cpu))
			continue;
		rc = detect_one(io, cpu, &pmu, e);
		if (rc == -ENXIO) /* gone meanwhile */
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
	return pmu ? pmu_load(pmu, out, e) : detect_all(io, out, e);
}
