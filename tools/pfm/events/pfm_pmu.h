/* SPDX-License-Identifier: MIT */
/* The PMU of a tree, read from the files of its directory pmu/. */
#ifndef TOOLS_PFM_EVENTS_PFM_PMU_H
#define TOOLS_PFM_EVENTS_PFM_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arch_events.h"
#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/events/event_table.h"

enum {
	PFM_PMU_NAME = 64,
	PFM_PMU_REGS = 64,  /* registers of a kind */
	PFM_PMU_UMCS = 32,  /* memory controllers of a package */
	PFM_FIXED_BITS = 4, /* bits of a fixed counter in FIXED_CTR_CTRL */
	PFM_PMU_TYPES = 4,  /* of CPUs */
	PFM_PMU_ESCRS = 8,  /* ESCRs that a CCCR chooses from */
};

/* Bits of an event select that are no part of the event. */
#define PFM_SEL_USER   (1ULL << 16)
#define PFM_SEL_KERNEL (1ULL << 17)
#define PFM_SEL_INT    (1ULL << 20)
#define PFM_SEL_ENABLE (1ULL << 22)
#define PFM_SEL_STATE  (PFM_SEL_USER | PFM_SEL_KERNEL | PFM_SEL_INT | PFM_SEL_ENABLE)

/* The bit that enables a counter of a memory controller. */
#define PFM_UMC_ENABLE (1ULL << 31)

/* Bits of an ESCR, the event select of NetBurst. PFM_ESCR_STATE is no part of the event. */
#define PFM_ESCR_USER   (1ULL << 2)
#define PFM_ESCR_KERNEL (1ULL << 3)
#define PFM_ESCR_STATE  (PFM_ESCR_USER | PFM_ESCR_KERNEL)
#define PFM_ESCR_EVENT  (0x3fULL << 25)

/* Bits of a CCCR, which enables a counter of NetBurst and chooses its ESCR. */
#define PFM_CCCR_ENABLE     (1ULL << 12)
#define PFM_CCCR_ANY_THREAD (3ULL << 16) /* however many threads of the core are active */
#define PFM_CCCR_COMPARE    (1ULL << 18)
#define PFM_CCCR_COMPLEMENT (1ULL << 19)
#define PFM_CCCR_THRESHOLD  20 /* the lowest of four bits */
#define PFM_CCCR_LEAST_MAX  16 /* the greatest number of events that is more than a threshold */
#define PFM_CCCR_EDGE       (1ULL << 24)

/* The machine's CPU, as CPUID describes it; family -1: unknown, as for a simulated PMU. */
struct pfm_cpu {
	enum arch_encoding encoding;
	int family, model;
	bool kernel_pmu; /* the kernel counts hardware events; matters for the perf backend */
};

struct pfm_pmc {
	unsigned num; /* logical number */
	uint32_t addr;
	uint64_t rsvd; /* bits that keep their default */
	/* For a CCCR: the bits whose value i chooses PMC escr[i], or none if that is -1. 0: no
	 * CCCR. */
	uint64_t escr_select;
	int escr[PFM_PMU_ESCRS];
};

/* A counter that an event can use. A counter of memory controllers has a PMD in each of them: the
 * event is the same in all, and the count is their sum. */
struct pfm_counter {
	uint16_t nums[PFM_PMU_UMCS]; /* logical numbers of its @n PMDs */
	unsigned n;                  /* number of memory controllers; otherwise 1 */
	bool umc;                    /* of memory controllers: PMC N selects for PMD N */
	unsigned pmc; /* logical number of the PMC that selects for the first PMD, or the CCCR */
	int fixed;    /* number of the fixed counter, or -1: any event */
};

struct pfm_pmu {
	char name[PFM_PMU_NAME];
	char model[PFM_PMU_NAME];
	char backend[PFM_PMU_NAME];
	struct pfm_cpu cpu;
	bool users;         /* its daemon has the rights of a non-root user: the kernel decides */
	bool software_only; /* the perf backend on a machine whose kernel has no PMU */
	struct pfm_pmc pmcs[PFM_PMU_REGS];
	struct pfm_counter counters[PFM_PMU_REGS]; /* in rising order of their first PMDs */
	unsigned npmcs, ncounters;
	/* Sets of counters: bit i is counters[i]. */
	uint64_t general;          /* counters that count any event of a CPU */
	uint64_t umc;              /* counters of memory controllers */
	uint64_t all;              /* all counters, including fixed ones */
	uint64_t escrs;            /* ESCRs that CCCRs choose, as bits by PMC; 0: not NetBurst */
	struct event_table events; /* of the tree, the architecture, and event files */
	/* The types of CPUs if their PMUs differ. This PMU is that of @type, or for "" has what all
	 * types have. */
	char types[PFM_PMU_TYPES][PFM_PMU_NAME];
	unsigned ntypes;
	char type[PFM_PMU_NAME];
};

/* The contents of the files of pmu/, the types of CPUs, one word each, and the type of this PMU. */
struct pfm_pmu_text {
	struct slice name, model, backend, pmcs, pmds, events;
	struct slice types, type;
};

/* Fills @pmu, with the tree's own events and the architectural ones. @cpu is the machine's; a
 * simulated PMU does not have its family and model. -EINVAL with the file's line; -ENOMEM. */
int pfm_pmu_parse(const struct pfm_pmu_text *text, const struct pfm_cpu *cpu, struct pfm_pmu *pmu,
	struct err *e);
void pfm_pmu_free(struct pfm_pmu *pmu);

/* The PMC with that logical number or address; NULL: none. */
const struct pfm_pmc *pfm_pmu_pmc(const struct pfm_pmu *pmu, unsigned num);
const struct pfm_pmc *pfm_pmu_pmc_at(const struct pfm_pmu *pmu, uint32_t addr);

/* The counter that has PMD @num; NULL: none. */
const struct pfm_counter *pfm_pmu_counter(const struct pfm_pmu *pmu, unsigned num);

/* The number of the PMC that selects for PMD d->nums[i]. */
unsigned pfm_counter_pmc(const struct pfm_counter *d, unsigned i);

/* The value of @cccr's bits that chooses PMC @escr; -1: none. */
int pfm_pmu_choice(const struct pfm_pmc *cccr, unsigned escr);
/* The counters whose CCCR can choose PMC @escr, as bits. */
uint64_t pfm_pmu_escr_counters(const struct pfm_pmu *pmu, unsigned escr);
/* The PMC that selects the event of @d while the counter's own PMC has @value; NULL: none. */
const struct pfm_pmc *pfm_pmu_selector(
	const struct pfm_pmu *pmu, const struct pfm_counter *d, uint64_t value);

/* Linux's name of the PMU of CPUs of @type, which prefixes events: cpu_core. Returns @room. */
enum { PFM_PREFIX_ROOM = PFM_PMU_NAME + 4 };
const char *pfm_pmu_prefix(char room[PFM_PREFIX_ROOM], const char *type);

/* The set of fixed counter @n alone; 0: the PMU has no such counter. */
uint64_t pfm_pmu_fixed(const struct pfm_pmu *pmu, unsigned n);

/* The setting that must grant a user the kernel level. */
static inline const char *pfm_pmu_level_rule(const struct pfm_pmu *pmu)
{
	return pmu->users ? "kernel.perf_event_paranoid" : "config/allow_kernel";
}

/*
 * The PMD numbers of a set of counters as text, as in Linux's lists: "0-3,16", and "64-109:2/4" for
 * the first two of every four numbers. pfm_pmu_counter_list() does not use the latter form. Both
 * return @room.
 */
enum { PFM_COUNTERS_ROOM = 512 };
const char *pfm_pmu_counters(
	const struct pfm_pmu *pmu, char room[PFM_COUNTERS_ROOM], uint64_t counters);
const char *pfm_pmu_counter_list(
	const struct pfm_pmu *pmu, char room[PFM_COUNTERS_ROOM], uint64_t counters);
/* Lists the PMC numbers of ESCRs. Returns @room. */
const char *pfm_pmu_escrs(char room[PFM_COUNTERS_ROOM], uint64_t escrs);

#endif
