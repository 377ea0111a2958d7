/* SPDX-License-Identifier: MIT */
/*
 * The contract between the daemon and whatever holds the counters: msr, perf or sim.
 *
 * A backend knows registers, not contexts. The daemon hands it plans, arrays of struct reg_op,
 * one CPU at a time; the backend runs them in order and stops at the first that fails. It
 * checks each write against the PMU description once more before it reaches a device, and it
 * keeps the originals of claimed registers so that they are put back whatever happens.
 *
 * Threads: a struct backend_cpu is used by one thread at a time. Different ones may be used at
 * once, as may everything that takes a struct backend.
 */
#ifndef PERFMONFS_BACKEND_H
#define PERFMONFS_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "perfmonfs/pmu.h"

enum reg_verb {
	REG_READ,    /* value = the register */
	REG_WRITE,   /* the register = value */
	REG_UPDATE,  /* the register's bits under mask = value's; then value = what it was before.
			Nothing is written when nothing would change */
	REG_REPLACE, /* as REG_UPDATE, but only if the bits under mask are expect's; then value =
			what they were, also if they were not: that is no failure */
	REG_CLAIM,   /* value = the register, whose bits under mask are remembered (and written
			to the journal) as the original ones, unless they already are */
	REG_RELEASE, /* claimed bits under mask are put back as they were and forgotten */
	REG_FORGET,  /* claimed bits under mask are forgotten, the register is left alone */
};

struct reg_op {
	uint32_t addr; /* a counter goes by its pmd's addr; the backend knows its waddr */
	enum reg_verb verb;
	uint64_t value;
	uint64_t mask;
	uint64_t expect; /* REG_REPLACE */
};

struct backend_stats {
	atomic_ullong reads, writes; /* register accesses that reached the device */
};

struct backend;
struct backend_cpu;

struct backend_ops {
	const char *name;

	/*
	 * Opens CPU @cpu. ENXIO: offline or no such CPU; ENODEV: its PMU is not the one described;
	 * EACCES, EPERM: the device refuses.
	 */
	int (*cpu_open)(struct backend *be, unsigned cpu, struct backend_cpu **out, struct err *e);

	/*
	 * Runs @n operations in order; returns how many succeeded. If fewer than @n, @e says why
	 * the next one failed: EIO (the register faults), ENXIO (the CPU went offline), EPERM
	 * (writing is refused by the kernel or by the description); and for perf, whose registers
	 * are events, what perf_event_open answers: EINVAL, ENODEV, EACCES, EBUSY, EMFILE.
	 */
	unsigned (*run)(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);

	/* Puts back what is still claimed and closes. */
	void (*cpu_close)(struct backend_cpu *c);

	/* CPU numbers are below this; holes and offline CPUs are allowed. */
	unsigned (*cpu_limit)(struct backend *be);
	bool (*cpu_online)(struct backend *be, unsigned cpu);

	/*
	 * Prints who else may hold the enabled selector @addr, found with @value, as the end of a
	 * sentence that begins "held by ".
	 */
	void (*holder)(
		struct backend *be, unsigned cpu, uint32_t addr, uint64_t value, struct text *out);

	/* Monotonic nanoseconds by which counts are timed. */
	uint64_t (*now)(struct backend *be);

	void (*close)(struct backend *be);
};

struct sim_control;

struct backend {
	const struct backend_ops *ops;
	const struct pmu *pmu;
	struct sim_control *sim; /* knobs of the model (perfmonfs/sim.h); NULL unless simulated */
	struct backend_stats stats;
};

struct backend_conf {
	const char *dev;     /* msr: the directory with N/msr and N/cpuid */
	const char *model;   /* sim: which CPU */
	const char *pmu;     /* name or file of a PMU description; NULL: detect */
	const char *run_dir; /* msr: where the journal is kept, e.g. /run/perfmonfs */
};

/*
 * Each fails with a sentence of thing, file, errno and remedy. ENODEV: no PMU it knows; ENOENT:
 * no driver; EACCES, EPERM: lockdown, allow_writes or capability.
 */
int msr_backend_open(const struct backend_conf *conf, struct backend **out, struct err *e);
int perf_backend_open(const struct backend_conf *conf, struct backend **out, struct err *e);
int sim_backend_open(const struct backend_conf *conf, struct backend **out, struct err *e);

/* The outcome of one thing --check looked at. */
enum check_result { CHECK_OK, CHECK_NOTE, CHECK_FAIL };
typedef void check_report(void *arg, enum check_result r, const char *thing, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Looks at the machine, reports each thing found or missing, and leaves all as it was. */
void msr_backend_check(const struct backend_conf *conf, check_report *report, void *arg);
void perf_backend_check(const struct backend_conf *conf, check_report *report, void *arg);

#endif
