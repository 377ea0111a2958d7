/* SPDX-License-Identifier: MIT */
/*
 * A minimal struct msr_io: registers that keep written values, a log of writes, and injected
 * failures. It is in shared memory, so that it survives a killed child process like hardware
 * survives a killed daemon.
 */
#ifndef TESTS_UNIT_FAKE_MSR_H
#define TESTS_UNIT_FAKE_MSR_H

#include <sys/mman.h>

#include "backend/msr/msr_io.h"
#include "tests/unit/unit.h"

enum { FAKE_CPUS = 4, FAKE_REGS = 64, FAKE_LOG = 256 };

struct fake_write {
	unsigned cpu;
	uint32_t addr;
	uint64_t value;
};

struct fake {
	struct msr_io io; /* First. */
	bool offline[FAKE_CPUS];
	uint32_t addr[FAKE_REGS]; /* Existing registers; 0 ends the list. */
	uint64_t value[FAKE_CPUS][FAKE_REGS];
	uint32_t perfmon[FAKE_CPUS][4]; /* CPUID leaf 0xA of an Intel CPU. */
	bool full_width;                /* Register 0x345 and the alias exist. */
	bool forgets;                   /* Writes succeed without effect. */
	uint32_t fault_addr;            /* Accesses to this register fail with fault_rc. */
	int fault_rc;
	int write_rc; /* All writes fail with this error; 0: none. */
	struct fake_write log[FAKE_LOG];
	unsigned nlog, nreads, nopen, nfreed;
};

static inline struct fake *fake_of(struct msr_io *io)
{
	return (struct fake *)io;
}

static inline uint64_t *fake_reg(struct fake *f, unsigned cpu, uint32_t addr)
{
	if (f->full_width && addr >= 0x4c1 && addr <= 0x4c8)
		addr -= 0x400;
	for (unsigned i = 0; i < FAKE_REGS && f->addr[i]; i++)
		if (f->addr[i] == addr)
			return &f->value[cpu][i];
	return NULL;
}

static inline int fake_open(struct msr_io *io, unsigned cpu, struct err *e)
{
	if (cpu >= FAKE_CPUS || fake_of(io)->offline[cpu])
		return err_set(e, ENXIO, "CPU %u is offline", cpu);
	fake_of(io)->nopen++;
	return (int)cpu;
}

static inline void fake_close(struct msr_io *io, int handle)
{
	(void)handle;
	fake_of(io)->nopen--;
}

static inline int fake_access(struct fake *f, int handle, uint32_t addr, uint64_t **reg)
{
	if (f->offline[handle])
		return -ENXIO;
	if (f->fault_addr == addr && f->fault_rc)
		return f->fault_rc;
	*reg = fake_reg(f, (unsigned)handle, addr);
	return *reg ? 0 : -EIO;
}

static inline int fake_read(struct msr_io *io, int handle, uint32_t addr, uint64_t *value)
{
	struct fake *f = fake_of(io);
	uint64_t *reg;
	int rc = fake_access(f, handle, addr, &reg);

	f->nreads++;
	if (rc == 0)
		*value = *reg;
	return rc;
}

static inline int fake_write(struct msr_io *io, int handle, uint32_t addr, uint64_t value)
{
	struct fake *f = fake_of(io);
	uint64_t *reg = NULL;
	int rc = f->write_rc ? f->write_rc : fake_access(f, handle, addr, &reg);

	if (f->nlog < FAKE_LOG)
		f->log[f->nlog++] = (struct fake_write){(unsigned)handle, addr, value};
	if (rc == 0 && addr == 0x390)
		*fake_reg(f, (unsigned)handle, 0x38e) &= ~value;
	else if (rc == 0 && !f->forgets)
		*reg = value;
	return rc;
}

static inline int fake_cpuid(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
	uint32_t out[4], struct err *e)
{
	struct fake *f = fake_of(io);

	(void)subleaf;
	if (f->offline[cpu])
		return err_set(e, ENXIO, "CPU %u is offline", cpu);
	memset(out, 0, 4 * sizeof(out[0]));
	if (leaf == 0) {
		out[0] = 0xa;
		memcpy(&out[1], "Genu", 4);
		memcpy(&out[3], "ineI", 4);
		memcpy(&out[2], "ntel", 4);
	} else if (leaf == 1) {
		out[0] = 0x506e3;
		out[2] = 1u << 15 | 1u << 31;
	} else if (leaf == 0xa) {
		memcpy(out, f->perfmon[cpu], sizeof(f->perfmon[cpu]));
	}
	return 0;
}

static inline unsigned fake_cpu_limit(struct msr_io *io)
{
	(void)io;
	return FAKE_CPUS;
}

static inline bool fake_cpu_online(struct msr_io *io, unsigned cpu)
{
	return cpu < FAKE_CPUS && !fake_of(io)->offline[cpu];
}

static inline uint64_t fake_now(struct msr_io *io)
{
	(void)io;
	return 42;
}

static inline void fake_free(struct msr_io *io)
{
	fake_of(io)->nfreed++;
}

static const struct msr_io_ops fake_ops = {
	.open = fake_open,
	.close = fake_close,
	.read = fake_read,
	.write = fake_write,
	.cpuid = fake_cpuid,
	.cpu_limit = fake_cpu_limit,
	.cpu_online = fake_cpu_online,
	.now = fake_now,
	.free = fake_free,
};

/* Four CPUs of intel_arch_v4: four counters of 48 bits, three fixed ones. */
static inline struct fake *fake_new(void)
{
	static const uint32_t regs[] = {0x186, 0x187, 0x188, 0x189, 0xc1, 0xc2, 0xc3, 0xc4, 0x309,
		0x30a, 0x30b, 0x38d, 0x38e, 0x38f, 0x390, 0x392, 0x345};
	struct fake *f =
		mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(f, MAP_FAILED);
	f->io.ops = &fake_ops;
	f->io.persistent = true;
	f->full_width = true;
	memcpy(f->addr, regs, sizeof(regs));
	for (unsigned cpu = 0; cpu < FAKE_CPUS; cpu++) {
		static const uint32_t perfmon[4] = {0x07300404, 0, 0, 0x603};

		memcpy(f->perfmon[cpu], perfmon, sizeof(perfmon));
		*fake_reg(f, cpu, 0x345) = 1u << 13;
	}
	return f;
}

static inline void fake_destroy(struct fake *f)
{
	munmap(f, sizeof(*f));
}

#endif
