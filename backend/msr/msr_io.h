/* SPDX-License-Identifier: MIT */
/*
 * The registers under the msr backend: the kernel's device files, or the hardware model in this
 * process. Detection, reservations, journal and masks are the same code for both.
 */
#ifndef BACKEND_MSR_IO_H
#define BACKEND_MSR_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/backend.h"

struct msr_io;

struct msr_io_ops {
	/* Opens the registers of CPU @cpu: a handle >= 0, or -errno with a sentence. */
	int (*open)(struct msr_io *io, unsigned cpu, struct err *e);
	void (*close)(struct msr_io *io, int handle);

	/* One 8-byte access: 0, or -errno without a sentence, which the caller adds. */
	int (*read)(struct msr_io *io, int handle, uint32_t addr, uint64_t *value);
	int (*write)(struct msr_io *io, int handle, uint32_t addr, uint64_t value);

	/* Executes CPUID on @cpu, which need not be open. */
	int (*cpuid)(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
		uint32_t out[4], struct err *e);

	unsigned (*cpu_limit)(struct msr_io *io);
	bool (*cpu_online)(struct msr_io *io, unsigned cpu);
	uint64_t (*now)(struct msr_io *io);
	void (*free)(struct msr_io *io);
};

/* The first member of each implementation. */
struct msr_io {
	const struct msr_io_ops *ops;
	enum pmu_space space; /* Its kind of registers; descriptions of another kind are refused. */
	bool kernel;          /* The running kernel uses the same registers. */
	bool persistent; /* The registers outlive this process, so that a journal makes sense. */
};

/*
 * Opens the msr backend over @io as @ops, which has MSR_BACKEND_OPS. The backend owns @io, also on
 * failure. conf->pmu overrides detection. There is no journal without conf->run_dir, or if the
 * registers are not persistent.
 */
int msr_backend_new(const struct backend_ops *ops, struct msr_io *io,
	const struct backend_conf *conf, struct backend **out, struct err *e);

/* The operations of a backend that msr_backend_new() opens. */
int msr_cpu_open(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e);
unsigned msr_run(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);
void msr_cpu_close(struct backend_cpu *c);
unsigned msr_cpu_limit(struct backend *be);
bool msr_cpu_online(struct backend *be, unsigned cpu);
const struct pmu *msr_cpu_pmu(struct backend *be, unsigned cpu);
int msr_cpu_units(struct backend *be, unsigned cpu, uint32_t unit[PMU_SCOPES], struct err *e);
void msr_pmu_owner(
	struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out);
void msr_unrestored(struct backend *be, unsigned cpu, struct text *out);
uint64_t msr_now(struct backend *be);
void msr_begin(struct backend *be);
void msr_close(struct backend *be);

#define MSR_BACKEND_OPS                                                                            \
	.cpu_open = msr_cpu_open, .run = msr_run, .cpu_close = msr_cpu_close,                      \
	.cpu_limit = msr_cpu_limit, .cpu_online = msr_cpu_online, .cpu_pmu = msr_cpu_pmu,          \
	.cpu_units = msr_cpu_units, .pmu_owner = msr_pmu_owner, .unrestored = msr_unrestored,      \
	.now = msr_now, .begin = msr_begin, .close = msr_close

#endif
