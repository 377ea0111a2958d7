/* SPDX-License-Identifier: MIT */
/*
 * Inside the hardware model. Processors are rows of data (backend/pmu/model.h), and each vendor has
 * rules for its registers (hw_intel.c, hw_amd.c). hw.c has the CPUs, the clock and the lock;
 * hw_events.c has the event rates. The rules see one CPU whose counters are up to date.
 */
#ifndef BACKEND_SIM_HW_I_H
#define BACKEND_SIM_HW_I_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "backend/pmu/model.h"
#include "perfmonfs/sim.h"

enum {
	HW_MAX_GP = 8,
	HW_MAX_FIXED = 4,
	HW_MAX_COUNTERS = HW_MAX_GP + HW_MAX_FIXED,
	HW_MAX_EXTRAS = PMU_MAX_PMCS + PMU_MAX_PMDS,
	/* Bits of a CPU's number, which is its APIC id, below the number of its core, CCX and
	 * package. */
	HW_CORE_BITS = 1,
	HW_CCX_BITS = 1,
	HW_PACKAGE_BITS = 2,
	HW_MAX_CPUS = 4096,
	HW_MAX_RANGES = 64,
	HW_TSC_RATE = 2500,    /* Ticks per microsecond. */
	HW_UNIT_CYCLES = 0xc0, /* The cycles of a package, as an event. */
};

/* Registers of an Itanium 2; PMDs that count have 47 bits. */
enum { HW_IPF_PMCS = 16, HW_IPF_PMDS = 18, HW_IPF_BREAKPOINTS = 8 };
struct hw_ipf {
	uint64_t pmc[HW_IPF_PMCS], pmd[HW_IPF_PMDS];
	uint64_t ibr[HW_IPF_BREAKPOINTS], dbr[HW_IPF_BREAKPOINTS];
};

struct hw_cpu {
	uint64_t seen; /* Model time up to which the counters have counted. */
	uint64_t sel[HW_MAX_GP];
	uint64_t count[HW_MAX_COUNTERS]; /* General counters; fixed ones from HW_MAX_GP on. */
	uint64_t fixed_ctrl, global_ctrl;
	uint64_t status; /* Overflows, even if the model has no status register. */
	/* Values of hw.extras, which the first CPU of each scope holds, and the model time up to
	 * which the registers of each scope have counted. */
	uint64_t extra[HW_MAX_EXTRAS], extras_seen[PMU_SCOPES];
	struct hw_ipf ipf; /* All registers of an Itanium. */
};

/* Rules that processors of one vendor or family have in common. Register accesses return 0, or -EIO
 * for #GP. */
struct hw_rules {
	char vendor[13];
	unsigned max_gp;     /* General-purpose counters that a description may have. */
	uint64_t event_bits; /* Bits of a selector that identify the event. */
	bool on_at_reset;    /* The global control enables all general counters at power-up. */
	bool off_at_online;  /* Linux clears the global control of a CPU that comes online. */
	void (*reset)(struct hw_cpu *c); /* NULL: all registers power up as 0. */
	int (*rdmsr)(const struct pmu_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v);
	int (*wrmsr)(const struct pmu_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v);
	/* The event select that counter @i counts now; 0 if it does not count. */
	uint64_t (*selected)(const struct hw *hw, const struct hw_cpu *c, unsigned i);
	/* For processors with their own counters and events, these replace selected() and
	 * hw_events(): the first brings the CPU up to date. NULL: use the default. */
	void (*catch_up)(struct hw_cpu *c, uint64_t now);
	uint64_t (*events)(uint64_t select, uint64_t ns);
};

/* Sorted and disjoint. */
struct hw_ranges {
	unsigned n;
	struct hw_range {
		uint32_t lo, hi; /* Inclusive. */
	} r[HW_MAX_RANGES];
};

struct hw {
	const struct pmu_model *model;
	/* Model of the CPUs from first_atom on: @model with the features of its smaller cores. */
	struct pmu_model atom;
	unsigned first_atom; /* The first smaller core; ncpus: there are none. */
	const struct hw_rules *rules;
	bool one_enable; /* The first selector's enable bit enables all counters, as on P6. */
	struct pmu pmu;  /* The description. */
	/* Registers of the description that the rules do not have: hw_extra.c. */
	struct hw_extra {
		uint32_t addr;
		uint64_t bits; /* Bits that may be written; others fault. */
		enum pmu_scope scope;
		bool counts;
		bool umc;              /* It belongs to a memory controller. */
		unsigned select, gate; /* For a counter, the indices of its selectors. */
		const struct pmu_pmc *pmc;
	} extras[HW_MAX_EXTRAS];
	unsigned nextras;
	unsigned ncpus;
	pthread_mutex_t lock; /* Guards all fields below. */
	uint64_t now;         /* Model time, ns. */
	/* The clock that model time follows; NULL: only hw_advance() moves it. */
	uint64_t (*clock)(void);
	struct hw_ranges offline, fault;
	struct text *log;
	struct hw_cpu cpus[];
};

extern const struct hw_rules hw_intel, hw_netburst, hw_amd, hw_ipf;

/* hw_netburst.c. The event select that is equivalent to @escr for thread @thread of a core: the
 * event of @escr, with the low bits of its event mask as unit mask. */
uint64_t hw_netburst_select(uint64_t escr, unsigned thread);
/* Bits of a CCCR; other ones fault. */
#define HW_CCCR_BITS 0xfffff000ULL

/* Number of events @select in the first @ns of time, as counters see them. */
uint64_t hw_events(const struct hw *hw, uint64_t select, uint64_t ns);

/* hw_extra.c. Accesses return false for registers that it does not have. */
void hw_extra_init(struct hw *hw);
bool hw_extra_read(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value);
/* Sets *@rc to 0, or to -EIO for a bit that the register lacks. */
bool hw_extra_write(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value, int *rc);

/* hw_cpuid.c: the output of CPUID on @cpu, which must exist. */
void hw_cpuid_leaf(
	const struct hw *hw, unsigned cpu, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);

/* hw_free.c. The first finds out which free-running registers the model has, and must be called
 * before time passes. The second returns false for registers that the model does not have. */
void hw_free_init(struct hw *hw);
bool hw_free_read(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t *value);
/* Bits of a CPU's number below the number of its core, CCX or package. */
unsigned hw_scope_bits(enum pmu_scope scope);

/* @ns times @rate per microsecond, rounded down. */
uint64_t hw_ticks(uint64_t rate, uint64_t ns);

/* The bits that a counter implements. */
static inline uint64_t hw_counter_mask(const struct pmu_model *m)
{
	return (1ULL << m->features.gp_width) - 1;
}

/* The bit of counter @i (an index of hw_cpu.count) in global control and status. */
static inline uint64_t hw_counter_bit(unsigned i)
{
	return 1ULL << (i < HW_MAX_GP ? i : 32 + i - HW_MAX_GP);
}

/* Number of fixed counters, which are consecutive. */
static inline unsigned hw_nfixed(const struct pmu_model *m)
{
	return (unsigned)__builtin_popcount(m->features.fixed);
}

/* Whether IA32_PERF_CAPABILITIES exists. */
static inline bool hw_has_capabilities(const struct pmu_model *m)
{
	return m->vendor == PMU_INTEL && m->features.version >= 2;
}

/* Bits of all counters in global control and status. */
static inline uint64_t hw_all_counters(const struct pmu_model *m)
{
	return ((1ULL << m->features.gp) - 1) | (uint64_t)m->features.fixed << 32;
}

/* Whether @addr is one of @n registers from @base on; sets *@i to its index. */
static inline bool hw_in_row(uint32_t addr, uint32_t base, unsigned n, unsigned *i)
{
	*i = addr - base;
	return *i < n;
}

/* The model of CPU @c, which differs between the cores of a hybrid processor. */
static inline const struct pmu_model *hw_model_of(const struct hw *hw, const struct hw_cpu *c)
{
	return c >= hw->cpus + hw->first_atom ? &hw->atom : hw->model;
}

/* Takes the lock, and brings the time up to date. */
void hw_lock(struct hw *hw);

/* The caller holds the lock. */
int hw_write(struct hw *hw, unsigned cpu, uint32_t addr, uint64_t value);
void hw_set_offline(struct hw *hw, const struct hw_ranges *set);

#endif
