/* SPDX-License-Identifier: MIT */
/*
 * What lies under the msr backend: the kernel's device files, or the hardware model in process.
 * Everything above (detection, claims, journal, masks) is the same code for both.
 */
#ifndef BACKEND_MSR_IO_H
#define BACKEND_MSR_IO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/backend.h"

struct msr_io;

struct msr_io_ops {
	/* Opens CPU @cpu's registers; a handle >= 0, or -errno with a sentence. */
	int (*open)(struct msr_io *io, unsigned cpu, struct err *e);
	void (*close)(struct msr_io *io, int handle);

	/* One 8-byte access: 0 or -errno, no sentence (the caller knows what it was for). */
	int (*read)(struct msr_io *io, int handle, uint32_t addr, uint64_t *value);
	int (*write)(struct msr_io *io, int handle, uint32_t addr, uint64_t value);

	/* CPUID executed on @cpu, without opening its registers. */
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
	bool kernel; /* a kernel shares these registers: its watchdog may be named as a holder */
	bool lasts;  /* the registers outlive this process, so that a journal makes sense */
};

/*
 * The msr backend over @io, which it owns from now on, also on failure. @name is ops->name
 * ("msr" or "sim"). conf->pmu overrides detection; without conf->run_dir, or if the registers
 * do not last, there is no journal.
 */
int msr_backend_new(const char *name, struct msr_io *io, const struct backend_conf *conf,
	struct backend **out, struct err *e);

#endif
