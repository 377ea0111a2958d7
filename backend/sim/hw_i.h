/* SPDX-License-Identifier: MIT */
/*
 * Inside the hardware model. A CPU model is a row of data (hw_models.c) and a family of rules
 * (hw_intel.c, hw_amd.c); hw.c holds the CPUs, the clock and the lock; hw_events.c says how
 * often what happens. The rules see one CPU whose counters have just counted up to the present.
 */
#ifndef BACKEND_SIM_HW_I_H
#define BACKEND_SIM_HW_I_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "perfmonfs/sim.h"

enum {
	HW_MAX_GP = 8,
	HW_MAX_FIXED = 4,
	HW_MAX_COUNTERS = HW_MAX_GP + HW_MAX_FIXED,
	HW_MAX_CPUS = 4096,
	HW_MAX_RANGES = 64,
	HW_TSC_RATE = 2500, /* a microsecond */
};

/* Events a microsecond, at user and at kernel level. */
struct hw_rate {
	uint64_t code; /* the selector's event bits */
	uint32_t user, kernel;
};

struct hw_cpu {
	uint64_t seen; /* model time up to which its counters have counted */
	uint64_t sel[HW_MAX_GP];
	uint64_t count[HW_MAX_COUNTERS]; /* general counters, then fixed ones from HW_MAX_GP */
	uint64_t fixed_ctrl, global_ctrl;
	uint64_t status; /* overflows; kept also where no register shows them */
};

struct hw_model {
	const char *name;
	const struct hw_family *family;
	const struct hw_rate *rates; /* ends with code 0 */
	uint32_t signature;          /* CPUID.1:EAX */
	uint32_t max_leaf, max_ext;  /* of CPUID; max_ext 0: no extended leaves */
	uint8_t version; /* of Intel's architectural or AMD's monitoring; 0: before it */
	uint8_t ngp, nfixed, width;
	uint64_t sel_bits;      /* that exist in a selector */
	uint64_t global_reset;  /* global control after power-up */
	bool perf_capabilities; /* Intel: 0x345 exists */
	bool full_width;        /* Intel: the writable alias at 0x4C1 exists */
};

/* What models of one vendor have in common. Register accesses return 0 or -EIO for #GP. */
struct hw_family {
	char vendor[13];
	uint64_t event_bits;  /* of a selector: which event, without how and when */
	bool online_disables; /* Linux clears global control of a CPU that comes online */
	int (*rdmsr)(const struct hw_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v);
	int (*wrmsr)(const struct hw_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v);
	/* The event select counter @i counts by right now; 0: it stands still. */
	uint64_t (*selected)(const struct hw_model *m, const struct hw_cpu *c, unsigned i);
};

/* Sorted and disjoint. */
struct hw_ranges {
	unsigned n;
	struct hw_range {
		uint32_t lo, hi; /* both in it */
	} r[HW_MAX_RANGES];
};

struct hw {
	const struct hw_model *model;
	unsigned ncpus;
	pthread_mutex_t lock; /* guards everything below */
	uint64_t now;
	struct hw_ranges offline, fault;
	struct text *log;
	struct hw_cpu cpus[];
};

extern const struct hw_model hw_models[]; /* ends with name NULL */
extern const struct hw_family hw_intel, hw_amd;
extern const struct hw_rate hw_p6_rates[], hw_intel_rates[], hw_amd_rates[];

/* Happenings of @select in the first @ns of time. */
uint64_t hw_events(const struct hw_model *m, uint64_t select, uint64_t ns);

/* @rate a microsecond, over @ns, rounded down. */
uint64_t hw_ticks(uint64_t rate, uint64_t ns);

/* The value's bits that a counter implements. */
static inline uint64_t hw_counter_mask(const struct hw_model *m)
{
	return (1ULL << m->width) - 1;
}

/* The bit of counter @i (an index of hw_cpu.count) in global control and status. */
static inline uint64_t hw_counter_bit(unsigned i)
{
	return 1ULL << (i < HW_MAX_GP ? i : 32 + i - HW_MAX_GP);
}

/* All the model's counters, in global control and status. */
static inline uint64_t hw_all_counters(const struct hw_model *m)
{
	return ((1ULL << m->ngp) - 1) | ((1ULL << m->nfixed) - 1) << 32;
}

/* Whether @addr is one of the @n registers from @base; then *@i is which. */
static inline bool hw_in_row(uint32_t addr, uint32_t base, unsigned n, unsigned *i)
{
	*i = addr - base;
	return *i < n;
}

/* The callers of these hold the lock. */
int hw_write(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value);
void hw_set_offline(struct hw *hw, const struct hw_ranges *set);

#endif
