/* SPDX-License-Identifier: MIT */
/*
 * The description of a PMU: data, never code. It maps the logical registers of perfmon2
 * (specification 3.2: PMCs configure, PMDs hold data, both 64 bits wide) onto actual ones and
 * says what may be written to them. Logical numbers follow the perfmon2 kernels, so that old
 * register assignments stay valid: Intel PMC/PMD n is counter n, PMC 16 is FIXED_CTR_CTRL and
 * PMD 16+n fixed counter n.
 */
#ifndef PERFMONFS_PMU_H
#define PERFMONFS_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "base/text.h"

enum {
	PMU_MAX_PMCS = 32, /* rows, not logical numbers */
	PMU_MAX_PMDS = 32,
	PMU_MAX_NUM = 320, /* logical numbers are below this (PFM_MAX_PMCS of perfmon2) */
	PMU_NAME = 32,
	PMU_MODEL = 64,
	PMU_MAX_EVENTS = 32,
	PMU_MAX_VIRTUALS = 16,
	PMU_PATH = 128,
};

/* Logical numbers of virtual PMDs: the same on every PMU, and those that descriptions may add. */
enum {
	PMU_CLOCK = 256,
	PMU_CPUTIME,
	PMU_FREE_MEMORY,
	PMU_LOAD,
	PMU_TEMPERATURE,
	PMU_FIRST_VIRTUAL = PMU_CLOCK, /* actual PMDs are below */
	PMU_FIRST_FILE = 272,
};

/* Where an actual register lives (specification 3.1.13, PFM_REG_TYPE_*). */
enum pmu_space {
	PMU_SPACE_MSR,  /* model specific register @addr */
	PMU_SPACE_PERF, /* a slot of the perf backend */
};

/* Bits that every x86 event select has in the same place; the perf backend keeps them too. */
#define EVTSEL_USR (1ULL << 16)
#define EVTSEL_OS  (1ULL << 17)
#define EVTSEL_INT (1ULL << 20)
#define EVTSEL_EN  (1ULL << 22)

/* A configuration register. */
struct pmu_pmc {
	char name[PMU_NAME];
	uint16_t num;    /* logical number */
	uint32_t addr;   /* actual register */
	uint64_t def;    /* default value; at it, the register measures nothing */
	uint64_t rsvd;   /* 1 = reserved: keeps its default, whatever is written */
	uint64_t enable; /* bits without which the counters it selects stand still; 0: see gate */
	uint64_t kernel; /* bits that let it count at kernel level */
	uint16_t gate;   /* row of the PMC whose enable bits this one needs as well as its own; its
			    own row but on P6, where the first selector gates both counters */
	bool shared;     /* fields belong to several users: only read-modify-write of our own */
};

/* A data register that counts. */
struct pmu_pmd {
	char name[PMU_NAME];
	uint16_t num;
	uint16_t pmc;   /* row of its selecting PMC */
	uint64_t field; /* the bits of that PMC that concern this counter: it is not ours any more
			   if one of them is not as we set it, reserved ones included */
	uint32_t addr;  /* where it is read */
	uint32_t waddr; /* where it is written; differs for Intel's full-width alias */
	uint64_t wmask; /* the bits a write sets as given; those above must be written as 0 */
	uint8_t width;  /* bits that count, 1..64 */
	int8_t global;  /* its bit in the global control, -1 if there is none */
	int64_t rdpmc;  /* its index for the RDPMC instruction, -1 if there is none */
};

/* Where a virtual PMD has its number from. */
enum pmu_virtual_kind {
	PMU_VIRTUAL_CLOCK,       /* nanoseconds by which counts are timed */
	PMU_VIRTUAL_CPUTIME,     /* nanoseconds that the interrupted thread has run */
	PMU_VIRTUAL_FREE_MEMORY, /* bytes */
	PMU_VIRTUAL_LOAD,        /* of one minute, times 1000 */
	PMU_VIRTUAL_TEMPERATURE, /* the number in @path, millidegrees Celsius */
	PMU_VIRTUAL_FILE,        /* the number in @path, as a description says */
};

/*
 * A data register of software (specification 3.2.2): 64 bits that can be read and sampled, never
 * written, and that do not count.
 */
struct pmu_virtual {
	char name[PMU_NAME];
	uint16_t num; /* logical number */
	enum pmu_virtual_kind kind;
	char path[PMU_PATH]; /* "" unless it is a file's */
};

/* An event that the backend itself defines; hardware event names are libpfm4's business. */
struct pmu_event {
	const char *name;
	uint64_t value; /* for a PMC */
	const char *desc;
};

struct pmu {
	char name[PMU_NAME];   /* one word, e.g. "intel_arch_v4" */
	char model[PMU_MODEL]; /* for people, e.g. perfmon2's "Intel architectural" */
	enum pmu_space space;
	uint8_t counter_width; /* the narrowest counter */
	uint16_t npmcs, npmds, nevents, nvirtuals;
	struct pmu_pmc pmcs[PMU_MAX_PMCS]; /* in rising order of num */
	struct pmu_pmd pmds[PMU_MAX_PMDS];
	struct pmu_event events[PMU_MAX_EVENTS];
	struct pmu_virtual virtuals[PMU_MAX_VIRTUALS]; /* in rising order of num */
	uint32_t global_ctrl; /* one bit per counter; 0: the PMU has none */
	uint32_t inuse;    /* read-only, bits as in global_ctrl: the selector is not 0 (Intel v4) */
	uint32_t status;   /* read-only, bits as in global_ctrl: the counter has wrapped; 0: none */
	uint32_t clear;    /* write-only: bits written as 1 are cleared in status */
	uint64_t max_rate; /* no counter counts more events a second than this */
};

/* The row of logical register @num, or -1. */
int pmu_find_pmc(const struct pmu *pmu, unsigned num);
int pmu_find_pmd(const struct pmu *pmu, unsigned num);
int pmu_find_virtual(const struct pmu *pmu, unsigned num);

/* Gives a description that has no virtual PMDs yet those that every PMU has on this machine. */
void pmu_add_virtuals(struct pmu *pmu);

/*
 * Opens the file of a virtual PMD. What is read from it becomes everybody's, and is believed: so
 * EPERM unless it is a regular file of root's (or the daemon's user's) that everybody may read
 * and nobody else may write. ELOOP: it is a symbolic link.
 */
int pmu_virtual_open(const struct pmu_virtual *v, struct err *e);

/* The bits that may ever be written to the actual register @addr; 0 if it is none of the PMU's. */
uint64_t pmu_writable(const struct pmu *pmu, uint32_t addr);

/* The enable bits of selector @addr (0 for a counter): a register put back may not have them. */
uint64_t pmu_enable_bits(const struct pmu *pmu, uint32_t addr);

/*
 * Whether the description is sound: numbers rising, addresses distinct and inside the registers
 * known to be a PMU's, defaults that enable nothing, the interrupt, pin and any-thread bits
 * reserved, rows and bits in range. -EINVAL and a sentence otherwise.
 */
int pmu_validate(const struct pmu *pmu, struct err *e);

/*
 * The text form of a description: what --pmu=FILE reads. Printing gives what parsing takes.
 * Errors: EINVAL, ERANGE with the line's number.
 */
int pmu_parse(struct slice text, struct pmu *pmu, struct err *e);
void pmu_print(const struct pmu *pmu, struct text *out);

#endif
