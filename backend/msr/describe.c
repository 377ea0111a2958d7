// SPDX-License-Identifier: MIT
/* Detects the PMU of each CPU; on hybrid machines they differ. */
#include "backend/msr/describe.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/msr/msr_i.h"
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

static struct pmu_cpu describe_query(struct describe_target *t)
{
	return (struct pmu_cpu){.cpuid = describe_cpuid, .rdmsr = describe_rdmsr, .arg = t};
}

/* Sets the type of the target CPU, which is t->n if no type has its PMU; then, sets @found and
 * @pmu. A description is made only of a CPU that differs from the first ones of all types. */
static int describe_find(struct msr_types *t, struct describe_target *target, unsigned *type,
	struct pmu_detected *found, struct pmu *pmu, struct err *e)
{
	struct pmu_cpu query = describe_query(target);
	int rc = pmu_detect(&query, found, e);

	if (rc < 0)
		return rc;
	for (*type = 0; *type < t->n; ++*type)
		if (pmu_detected_same(&t->of[*type].detected, found))
			return 0;
	rc = pmu_describe(found, pmu, e);
	for (*type = 0; rc == 0 && *type < t->n; ++*type)
		if (pmu_same(&t->of[*type].pmu, pmu))
			return 0;
	return rc;
}

static int describe_add(struct msr_types *t, struct describe_target *target, struct err *e)
{
	struct pmu_cpu query = describe_query(target);
	struct pmu_detected found;
	unsigned type;
	struct pmu pmu;
	int rc = describe_find(t, target, &type, &found, &pmu, e);

	if (rc < 0)
		return rc;
	if (type == PMU_MAX_TYPES)
		return err_set(e, ENODEV,
			"the CPUs up to %u have more than %d types of PMU: describe one for all "
			"with --pmu=FILE, or use perfmonfs --backend=perf",
			target->cpu, PMU_MAX_TYPES);
	if (type == t->n) {
		t->of[t->n].pmu = pmu;
		t->of[t->n].detected = found;
		pmu_free_detect(&query, &t->of[t->n++].pmu);
	}
	atomic_store(&t->cpu[target->cpu], (signed char)type);
	return 0;
}

static int describe_one(struct msr_types *t, struct msr_io *io, unsigned cpu, struct err *e)
{
	struct describe_target target = {io, cpu, io->ops->open(io, cpu, e)};
	int rc;

	if (target.handle < 0)
		return target.handle;
	rc = describe_add(t, &target, e);
	io->ops->close(io, target.handle);
	return rc;
}

/* Detects the free-running registers for a description that was given, on the first online CPU.
 * Without an online CPU, there are none. */
static void describe_free(struct msr_types *t, struct msr_io *io)
{
	struct describe_target target = {.io = io, .cpu = msr_first_online(io)};
	struct pmu_cpu query = describe_query(&target);
	struct err e;

	target.handle = target.cpu < t->limit ? io->ops->open(io, target.cpu, &e) : -1;
	if (target.handle < 0) {
		t->of[0].pmu.nfrees = 0;
		return;
	}
	pmu_free_detect(&query, &t->of[0].pmu);
	io->ops->close(io, target.handle);
}

static int describe_all(struct msr_types *t, struct msr_io *io, struct err *e)
{
	for (unsigned cpu = 0; cpu < t->limit; cpu++) {
		int rc = io->ops->cpu_online(io, cpu) ? describe_one(t, io, cpu, e) : 0;

		if (rc < 0 && rc != -ENXIO) /* -ENXIO: it went offline. */
			return rc;
	}
	if (!t->n)
		return err_set(e, ENXIO,
			"none of the %u CPUs with an msr device is online: set one online",
			t->limit);
	return 0;
}

static int describe_shown(struct msr_types *t, struct err *e)
{
	const struct pmu *raw[PMU_MAX_TYPES];

	for (unsigned i = 0; i < t->n; i++)
		raw[i] = &t->of[i].pmu;
	return t->n == 1 ? 0 : pmu_types_new(raw, t->n, &t->shown, e);
}

/* Loads the description @pmu. A description of another space is refused, because its addresses mean
 * other registers. */
static int describe_by_name(
	struct msr_types *t, const struct msr_io *io, const char *pmu, struct err *e)
{
	int rc = pmu_load(pmu, &t->of[0].pmu, e);

	if (rc == 0 && t->of[0].pmu.space != io->space)
		return err_set(e, EINVAL,
			"%s: EINVAL: these CPUs lack its registers: choose another description, or "
			"the simulator that has them (perfmonfs --help)",
			pmu);
	t->n = 1;
	return rc;
}

int msr_types_init(struct msr_types *t, struct msr_io *io, const char *pmu, struct err *e)
{
	int rc;

	t->limit = io->ops->cpu_limit(io);
	t->cpu = malloc(t->limit * sizeof(*t->cpu));
	if (!t->cpu)
		return err_set(e, ENOMEM, "no memory for %u CPUs", t->limit);
	for (unsigned cpu = 0; cpu < t->limit; cpu++)
		atomic_init(&t->cpu[cpu], -1);
	t->detected = !pmu;
	if (pmu) {
		rc = describe_by_name(t, io, pmu, e);
		if (rc == 0 && io->space == PMU_SPACE_MSR)
			describe_free(t, io);
	} else {
		rc = describe_all(t, io, e);
	}
	if (rc == 0)
		rc = describe_shown(t, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < t->n; i++) {
		msr_regs_init(&t->of[i].regs, &t->of[i].pmu);
		if (t->of[i].regs.n > t->rows)
			t->rows = t->of[i].regs.n;
	}
	return 0;
}

void msr_types_free(struct msr_types *t)
{
	free(t->shown);
	free(t->cpu);
}

int msr_types_find(struct msr_types *t, struct msr_io *io, unsigned cpu, int handle,
	const struct msr_type **out, struct err *e)
{
	struct describe_target target = {.io = io, .cpu = cpu, .handle = handle};
	struct pmu_detected found;
	unsigned type = 0;
	struct pmu pmu;

	if (t->detected && describe_find(t, &target, &type, &found, &pmu, e) < 0)
		return err_prefix(e, "CPU %u", cpu);
	if (type == t->n)
		return err_set(e, ENODEV,
			"CPU %u has a PMU, %s with %u PMCs and %u PMDs, that no CPU had that was "
			"online at start: restart perfmonfs to describe it",
			cpu, pmu.name, pmu.npmcs, pmu.npmds);
	atomic_store(&t->cpu[cpu], (signed char)type);
	*out = &t->of[type];
	return 0;
}

const struct msr_type *msr_type_of(const struct msr_types *t, unsigned cpu)
{
	int type = cpu < t->limit ? atomic_load(&t->cpu[cpu]) : -1;

	/* With a single type, a CPU that comes online is verified when it is opened. */
	if (type < 0 && t->n > 1)
		return NULL;
	return &t->of[type < 0 ? 0 : type];
}
