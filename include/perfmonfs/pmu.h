/* SPDX-License-Identifier: MIT */
/*
 * The description of a PMU: data, never code. It maps the logical registers of perfmon2
 * (specification 3.2: PMCs configure, PMDs hold data, both have 64 bits) to actual registers, and
 * says what may be written to them. Logical numbers are the same as in perfmon2 kernels, so that
 * old register assignments remain valid: Intel PMC/PMD n is counter n, PMC 16 is FIXED_CTR_CTRL and
 * PMD 16+n is fixed counter n.
 */
#ifndef PERFMONFS_PMU_H
#define PERFMONFS_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"

enum {
	/* Limits of rows, not of logical numbers: as many as pmu_rows has bits. NetBurst has 63
	 * PMCs. */
	PMU_MAX_PMCS = 64,
	PMU_MAX_PMDS = 64,
	PMU_MAX_NUM = 320, /* Limit of logical numbers; PFM_MAX_PMCS of perfmon2. */
	PMU_NAME = 32,
	PMU_MODEL = 64,
	PMU_MAX_EVENTS = 32,
	PMU_MAX_VIRTUALS = 24,
	PMU_MAX_FREES = 24,
	PMU_PATH = 128,
	PMU_MAX_REQUIRES = 4,
	PMU_REQUIRE_PMCS = 3,
	PMU_MAX_CONSTRAINTS = 32,
	PMU_ESCRS = 8,           /* Event selects that a CCCR of NetBurst chooses from. */
	PMU_NO_ROW = UINT16_MAX, /* No row, in an array of rows. */
};

/* A set of rows of pmu.pmcs, pmu.pmds or pmu.virtuals: a bit each. */
typedef uint64_t pmu_rows;
#define PMU_ALL_ROWS (~(pmu_rows)0)

/* Logical numbers of virtual PMDs: the built-in ones, readings of free-running registers, then the
 * ones that descriptions add. */
enum {
	PMU_CLOCK = 256,
	PMU_CPUTIME,
	PMU_FREE_MEMORY,
	PMU_LOAD,
	PMU_TEMPERATURE,
	PMU_PROCESS,
	PMU_ELAPSED,
	PMU_THREAD,
	PMU_TSC,
	PMU_MPERF,
	PMU_APERF,
	PMU_PPERF,
	PMU_IRPERF,
	PMU_FIRST_VIRTUAL = PMU_CLOCK, /* Numbers of actual PMDs are lower. */
	PMU_FIRST_READING = PMU_TSC,
	PMU_READINGS = PMU_IRPERF - PMU_TSC + 1, /* Numbers reserved for readings. */
	PMU_FIRST_FILE = 272,
};

/* The address space of actual registers (specification 3.1.13, PFM_REG_TYPE_*). */
enum pmu_space {
	PMU_SPACE_MSR,  /* Model-specific registers. */
	PMU_SPACE_PERF, /* Slots of the perf backend. */
	/* Registers of Itanium, PMU_IPF_*: only the simulator has them. */
	PMU_SPACE_IPF,
};

/* An address in PMU_SPACE_IPF: the kind of register, and in the low byte its index. */
enum {
	PMU_IPF_PMC = 0x100,
	PMU_IPF_PMD = 0x200,
	PMU_IPF_IBR = 0x300, /* Code and data breakpoint registers. */
	PMU_IPF_DBR = 0x400,
	PMU_IPF_INDEX = 0xff,
};

/* The CPUs that share a register. */
enum pmu_scope {
	PMU_SCOPE_THREAD, /* Each logical CPU has its own. */
	PMU_SCOPE_CORE,
	PMU_SCOPE_CCX, /* CPUs that share a last-level cache. */
	PMU_SCOPE_PACKAGE,
	PMU_SCOPES,
};

/* Bits with the same position in all x86 event selects, and in selectors of the perf backend. */
#define EVTSEL_USR (1ULL << 16)
#define EVTSEL_OS  (1ULL << 17)
#define EVTSEL_INT (1ULL << 20)
#define EVTSEL_EN  (1ULL << 22)

/* A configuration register. */
struct pmu_pmc {
	char name[PMU_NAME];
	uint16_t num;    /* Logical number. */
	uint32_t addr;   /* Actual register. */
	uint64_t def;    /* Default value, with which no counter counts. */
	uint64_t rsvd;   /* Reserved bits: they keep their default, which is 0 in MSRs. */
	uint64_t enable; /* Bits that start the counters of this selector; 0: see gate. */
	uint64_t kernel; /* Bits that make counters count at kernel level. */
	uint64_t user;   /* Bits that make counters count at user level; 0: not described. */
	/* A value with all of these bits selects an event of several CPUs together, which counts
	 * regardless of what this CPU does and at which level; 0: there are no such values. */
	uint64_t wide;
	bool node; /* Those events belong to a package, where one CPU has each counter. */
	/* Row of the PMC whose enable bits are required in addition. It is this PMC's own row,
	 * except on P6, where the first selector gates both counters. */
	uint16_t gate;
	/* It restricts what all counters count: it is in use whenever any of them is, and has its
	 * default unless it is written. */
	bool restricts;
	/* 1 + the row of the PMC that makes it restrict when that PMC has a value different from
	 * its default; it is in use together with that PMC. 0: there is none. */
	uint16_t with;
	/* Bits that show that other software uses the register for something else: the PMC is not
	 * taken while one of them is set. */
	uint64_t busy;
	/* Reserved bits that the PMU itself sets, for example at an overflow: they are restored
	 * with the others, but not compared. */
	uint64_t latched;
	bool shared; /* Has fields of several users: only updated, never written as a whole. */
	enum pmu_scope scope;
	/* In a CCCR of NetBurst, the bits whose value i chooses the PMC of row escr[i], which
	 * selects event and levels; PMU_NO_ROW: there is none. 0: this PMC is not a CCCR. */
	uint64_t escr_select;
	uint16_t escr[PMU_ESCRS];
	/* Bits that the CPU sets when the counter wraps. They are reserved: each write clears them,
	 * and their value says nothing about another user. */
	uint64_t ovf;
	/* Bits that are kernel and user, in this order, for the second thread of a core; they are
	 * reserved. On CPUs that are second threads, the msr backend exchanges them with the first
	 * thread's bits. 0: none. */
	uint64_t second;
};

/* A data register that counts, or a buffer. */
struct pmu_pmd {
	char name[PMU_NAME];
	uint16_t num; /* Logical number. */
	uint16_t pmc; /* Row of the selecting PMC. */
	/* Bits of this PMC that concern the counter, including reserved ones. If one of them
	 * differs from what was last written, another user has taken the counter. */
	uint64_t field;
	uint32_t addr;  /* Register to read. */
	uint32_t waddr; /* Register to write: Intel's full-width alias, or addr. */
	uint64_t wmask; /* Low bits that a write sets; the bits above must be written as 0. */
	uint8_t width;  /* Bits that count, 1 to 64. */
	int8_t global;  /* Bit in the global control; -1: none. */
	int64_t rdpmc;  /* Index for the RDPMC instruction; -1: none. */
	/* It does not count and never overflows: its value is the last one that the PMU wrote to
	 * it, such as an address. */
	bool buffer;
	enum pmu_scope scope;
	bool twice; /* The CPU may lose a write, so each write is done twice. */
	/* For a counter in a memory controller, 1 + the controller's number in the package; 0: not
	 * in a memory controller, or in an unknown one. */
	uint8_t umc;
};

/* At least one of these bits of the PMCs in @n rows must be set in an event set; otherwise the PMU
 * miscounts. */
struct pmu_require {
	unsigned n;
	uint16_t pmc[PMU_REQUIRE_PMCS];
	uint64_t bits[PMU_REQUIRE_PMCS];
};

/*
 * Only the selectors in @pmcs can count the events from @first to @last. These are values of bits
 * 7:0, or one event with its unit mask, bits 15:0, which is over 0xff. Applies to selectors of one
 * counter that each CPU has for itself. The first constraint that names an event decides.
 */
struct pmu_constraint {
	uint16_t first, last;
	uint64_t pmcs; /* A bit for each logical number. */
};

/* The source of a virtual PMD's value. */
enum pmu_virtual_kind {
	PMU_VIRTUAL_CLOCK,       /* Nanoseconds of backend_ops.now(). */
	PMU_VIRTUAL_CPUTIME,     /* CPU time of the running thread, ns. */
	PMU_VIRTUAL_FREE_MEMORY, /* Bytes. */
	PMU_VIRTUAL_LOAD,        /* One-minute average, times 1000. */
	PMU_VIRTUAL_TEMPERATURE, /* The number in @path, in millidegrees Celsius. */
	PMU_VIRTUAL_PROCESS,     /* Process id of the running thread. */
	/* Nanoseconds since monitoring was started or, once stopped, that it took. */
	PMU_VIRTUAL_ELAPSED,
	PMU_VIRTUAL_THREAD,  /* Thread id of the running thread. */
	PMU_VIRTUAL_READING, /* A free-running register of the CPU. */
	PMU_VIRTUAL_FILE,    /* The number in @path, from a description file. */
};

/*
 * A data register in software (specification 3.2.2): 64 bits that can be read and sampled, but not
 * written, and do not count.
 */
struct pmu_virtual {
	char name[PMU_NAME];
	uint16_t num; /* Logical number. */
	enum pmu_virtual_kind kind;
	char path[PMU_PATH]; /* "" if the kind has no file. */
	uint8_t free;        /* For PMU_VIRTUAL_READING, the row in pmu.frees. */
};

/* The unit of a count of a free-running register. For energy, detection finds out the number of
 * joules. */
enum pmu_unit {
	PMU_UNIT_TICKS,  /* Ticks of the time-stamp counter, or core cycles. */
	PMU_UNIT_EVENTS, /* Events that the register is named for. */
	/* Not a count: the current number of degrees Celsius below the limit. */
	PMU_UNIT_DEGREES,
	PMU_UNIT_RAPL,      /* 2^-n joules, n in bits 12:8 of MSR 0x606. */
	PMU_UNIT_RAPL_ATOM, /* 2^n microjoules, n in bits 12:8 of MSR 0x606. */
	PMU_UNIT_RAPL_16,   /* 2^-16 joules, regardless of 0x606. */
	PMU_UNIT_RAPL_0,    /* 1 joule. */
	PMU_UNIT_RAPL_AMD,  /* 2^-n joules, n in bits 12:8 of MSR 0xc0010299. */
	PMU_UNITS,
};

static inline bool pmu_unit_is_energy(enum pmu_unit unit)
{
	return unit >= PMU_UNIT_RAPL;
}

/* Assumed upper limits of a package's power and of event rates, from which the time until a
 * register may wrap follows. */
enum { PMU_FREE_WATTS = 2000, PMU_FREE_EVENTS_PER_S = 1000000 };

/* A free-running register: it counts, or shows a value, without being programmed. It is read and
 * never written. */
struct pmu_free {
	char name[PMU_NAME];
	uint32_t addr;
	uint8_t shift, width; /* The value is the @width bits from bit @shift on. */
	uint64_t valid;       /* All of these bits must be set; otherwise there is no value. */
	enum pmu_unit unit;
	enum pmu_scope scope;
	/* Energy only: a count is @uj / 2^@uj_shift microjoules. */
	uint64_t uj;
	uint8_t uj_shift;
};

/* An event that has a name in pmc/N: the backend's own, or an architectural one. For the others of
 * the hardware, use libpfm4. */
struct pmu_event {
	const char *name;
	/* The value of a PMC that counts it, enabled at user and kernel level, without the bits
	 * that are reserved there. */
	uint64_t value;
	const char *desc;
	bool both_levels; /* It cannot be counted at one level only. */
	/* It can be sampled at user level only: then each sample counts as one period. */
	bool user_samples;
};

/* Intel: kinds of cores, bits 31:24 of CPUID.1AH:EAX. */
enum { PMU_CORE_ATOM = 0x20, PMU_CORE_CORE = 0x40 };

/* For descriptions in struct pmu_types; otherwise empty. */
struct pmu_by_type {
	char name[PMU_NAME]; /* The type's name; for a set of types, their names with + between. */
	unsigned types;      /* The types whose CPUs it applies to, one bit each. */
	/* Rows of registers that CPUs of these types lack. They have no address, and keep their
	 * defaults. */
	pmu_rows lacks_pmcs, lacks_pmds;
	pmu_rows lacks_frees; /* Rows of free-running registers that CPUs of these types lack. */
};

struct pmu {
	char name[PMU_NAME];   /* One word, e.g. "intel_arch_v4". */
	char model[PMU_MODEL]; /* Title, e.g. perfmon2's "Intel architectural". */
	enum pmu_space space;
	uint8_t counter_width; /* Bits of the narrowest counter. */
	uint16_t npmcs, npmds, nevents, nvirtuals, nfrees;
	struct pmu_pmc pmcs[PMU_MAX_PMCS]; /* In rising order of num. */
	struct pmu_pmd pmds[PMU_MAX_PMDS];
	struct pmu_event events[PMU_MAX_EVENTS];
	struct pmu_virtual virtuals[PMU_MAX_VIRTUALS]; /* In rising order of num. */
	/* Free-running registers of the CPU that was examined. In a description not yet applied to
	 * a CPU, they come from its own lines. */
	struct pmu_free frees[PMU_MAX_FREES];
	unsigned nrequires;
	struct pmu_require requires[PMU_MAX_REQUIRES];
	unsigned nconstraints;
	struct pmu_constraint constraints[PMU_MAX_CONSTRAINTS];
	uint32_t global_ctrl; /* One bit per counter; 0: none. */
	/* Read-only, bits as in global_ctrl: the selector is not 0 (Intel v4). 0: none. */
	uint32_t inuse;
	/* Read-only, bits as in global_ctrl: the counter has wrapped. 0: none. */
	uint32_t status;
	uint32_t clear;    /* Write-only: clears the bits in status that are written as 1. */
	uint64_t max_rate; /* Upper limit of events per second of any counter. */
	/* Intel: CPUID.1AH:EAX, which differs for each kind of core of a processor; 0: not known.
	 * Other CPUs: 0. */
	uint32_t core;
	struct pmu_by_type by_type;
};

/* The PMUs of a machine whose CPUs differ, all with the same rows. */
enum { PMU_MAX_TYPES = 4 };
struct pmu_types {
	unsigned n;
	/*
	 * Indexed by the set of types. One type: what its CPUs have. Several: what they have in
	 * common, with the same meaning, narrower where they differ. 0: the union of all types'
	 * registers by logical number, as a context has them before it is loaded, with everything
	 * that any type allows.
	 */
	struct pmu of[];
};

/*
 * Describes @n types of CPUs, 2 to PMU_MAX_TYPES; freed by free(). ENODEV and a sentence if they
 * have too many registers together, or different defaults for one.
 */
int pmu_types_new(const struct pmu *const raw[], unsigned n, struct pmu_types **out, struct err *e);

/* Whether two CPUs with these PMUs are of one type. */
bool pmu_same(const struct pmu *a, const struct pmu *b);

/* Whether CPUs with the PMU @cpu can be programmed with @desc. Both are of one machine. */
static inline bool pmu_applies(const struct pmu *desc, const struct pmu *cpu)
{
	return (desc->by_type.types & cpu->by_type.types) == cpu->by_type.types;
}

/* Name @i of the built-in descriptions, for --pmu; NULL after the last. */
const char *pmu_model_name(unsigned i);

/* The row of logical register @num, or -1. */
int pmu_find_pmc(const struct pmu *pmu, unsigned num);
int pmu_find_pmd(const struct pmu *pmu, unsigned num);
int pmu_find_virtual(const struct pmu *pmu, unsigned num);

/* The PMCs that can count the event that @value selects in the PMC of row @p: one bit per logical
 * number. All bits are set if there is no constraint. */
uint64_t pmu_event_pmcs(const struct pmu *pmu, unsigned p, uint64_t value);

/* The type and index of actual register @addr, as PFM_REG_TYPE_* and reg_index (specification
 * 3.1.13): "msr", "perf", "pmc", "pmd", "ibr" or "dbr". */
const char *pmu_reg_type(const struct pmu *pmu, uint32_t addr);

/* The name of a scope in the tree: cpu, core, ccx or package. */
const char *pmu_scope_word(enum pmu_scope scope);
uint32_t pmu_reg_index(const struct pmu *pmu, uint32_t addr);

/* The value is about the running thread: without one, there is no value. */
bool pmu_virtual_needs_thread(const struct pmu_virtual *v);
/* The value is a number in a file; reading it may take as long as a device takes. */
bool pmu_virtual_is_file(const struct pmu_virtual *v);
/* The value is about the CPU that a context is loaded on. */
bool pmu_virtual_needs_cpu(const struct pmu_virtual *v);
/* It counts what the CPU does at all levels, so it requires the right to count at kernel level. */
bool pmu_virtual_counts_kernel(const struct pmu_virtual *v);

/* The row of the event select that CCCR row @p with @value chooses; -1: none. */
int pmu_escr_of(const struct pmu *pmu, unsigned p, uint64_t value);

/* The event with that name, or NULL. */
const struct pmu_event *pmu_event_named(const struct pmu *pmu, struct slice name);
/* Whether the PMC of row @p is an event select of the CPU, in which events have names. */
bool pmu_names_events(const struct pmu *pmu, unsigned p);
/* The event that @value of PMC row @p selects at any level; NULL: it has no name. */
const struct pmu_event *pmu_event_of(const struct pmu *pmu, unsigned p, uint64_t value);

/* Nanoseconds during which @reg is certain not to wrap; UINT64_MAX: it never wraps. */
uint64_t pmu_free_wrap_ns(const struct pmu_free *reg);

/* Adds the built-in virtual PMDs of this machine to a description without virtual PMDs. */
void pmu_add_virtuals(struct pmu *pmu);

/*
 * Opens the file of a virtual PMD. All users see its contents and trust them, so it must be a
 * regular file of root or the daemon's user that all may read and others may not write: otherwise
 * EPERM. ELOOP: it is a symbolic link.
 */
int pmu_virtual_open(const struct pmu_virtual *v, struct err *e);

/* Bits of the actual register @addr that may be written as 1; 0 if the PMU does not have it. */
uint64_t pmu_writable(const struct pmu *pmu, uint32_t addr);

/* Enable bits of selector @addr, which are never restored; 0 for other registers. */
uint64_t pmu_enable_bits(const struct pmu *pmu, uint32_t addr);

/*
 * Checks a description: rising numbers, distinct addresses of known PMU registers, defaults that
 * enable nothing, reserved interrupt, pin and any-thread bits, rows and bits in range. -EINVAL and
 * a sentence if it is invalid.
 */
int pmu_validate(const struct pmu *pmu, struct err *e);

/* Receives a mistake in line @line of a description, counted from 1. Something missing from the
 * whole description is reported for the line "pmu". */
typedef void pmu_tell(void *arg, unsigned line, const char *text);

/* Parses the text form of a description, for --pmu=FILE. EINVAL, ERANGE with the line's number. */
int pmu_parse(struct slice text, struct pmu *pmu, struct err *e);

#endif
