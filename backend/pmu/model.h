/* SPDX-License-Identifier: MIT */
/*
 * Models of PMUs. A model is a file in models/ or in /etc/perfmonfs/pmu.d: the registers, the CPUs
 * that have them, parameters, and the processor that the simulator offers for it. parse.c has the
 * grammar. Detection, --pmu=NAME, sim:MODEL, msrsim and the tests search the models.
 */
#ifndef BACKEND_PMU_MODEL_H
#define BACKEND_PMU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/pmu/detect.h"
#include "base/arch_events.h"
#include "base/embedded.h"
#include "perfmonfs/pmu.h"

enum pmu_vendor { PMU_INTEL, PMU_AMD };

enum {
	PMU_MAX_MODELS = 96,
	PMU_FAMILY_WORDS = 5, /* Words of 64 bits with a bit for each CPU family, up to 270. */
	PMU_CPU_MODEL_WORDS = 4,
};

/* Parameters of a description: what CPUID reports, or the line "features" for --pmu=NAME. */
struct pmu_features {
	/* Intel: version of architectural performance monitoring; 0: CPUs before it. AMD: 0: the
	 * counters of K7; 1: PerfCtrExtCore; 2: PerfMonV2. */
	unsigned version;
	unsigned gp;          /* Number of general-purpose counters; excess ones are ignored. */
	uint32_t gp_map;      /* One bit per general-purpose counter; 0: the first ones. */
	unsigned gp_width;    /* Bits. */
	uint32_t fixed;       /* One bit per fixed counter. This and the next two are Intel's. */
	unsigned fixed_width; /* Bits. */
	bool full_width;      /* Counters can be written completely, through an alias. */
	uint32_t no_events;   /* Intel: one bit per architectural event that the CPU lacks. */
	uint32_t core;        /* CPUID.1AH:EAX of an actual CPU, see struct pmu. */
	/* AMD: counters of the last-level cache, data fabric and memory controllers. */
	unsigned l3, df, umc;
	unsigned umcs; /* Memory controllers, among which @umc is divided evenly; 0: not known. */
};

/* The CPUs of pmu_model.vendor that have this PMU: the line "detect". */
struct pmu_match {
	bool given;     /* There is such a line; otherwise, the model is only for --pmu=NAME. */
	bool by_family; /* Only CPUs of @families. */
	bool bare;      /* Only CPUs that are not under a hypervisor. */
	bool by_model;  /* Only CPUs of @models, too. */
	unsigned version, max_version; /* Range of the version. */
	uint64_t families[PMU_FAMILY_WORDS], models[PMU_CPU_MODEL_WORDS]; /* One bit each. */
};

/* A processor with this PMU, as the simulator models it, with hyperthreading on. */
struct pmu_processor {
	char name[PMU_NAME];      /* For sim:NAME and msrsim --model=NAME; "": none. */
	char counters[PMU_MODEL]; /* For msrsim --help. */
	uint32_t signature;       /* CPUID.1:EAX */
	/* Highest CPUID leaves; max_ext 0: there are no extended leaves. */
	uint32_t max_leaf, max_ext;
	uint64_t selector_bits; /* Bits that exist in an event select. */
};

struct pmu_model {
	char name[PMU_NAME];   /* pmu.name */
	char title[PMU_MODEL]; /* pmu.model */
	enum pmu_space space;  /* pmu.space */
	enum pmu_vendor vendor;
	struct pmu_match detect;
	struct pmu_features features;
	/* Parameters of a hybrid processor's smaller cores, for the simulator: the line "atom". gp
	 * is 0 if there is none. */
	struct pmu_features atom;
	struct pmu_processor sim;
	struct slice text; /* The whole description; it stays in memory. */
};

/* The files of models/. */
extern const struct embedded pmu_builtins[];
/* The file free.pmu, as the only element. */
extern const struct embedded pmu_free_text[];

/* Model @i; NULL after the last. The models of models/ come first, in the order of its
 * meson.build. */
const struct pmu_model *pmu_model_at(unsigned i);

/* The model of an actual CPU, and the parameters of its description. */
struct pmu_detected {
	const struct pmu_model *model;
	struct pmu_features features;
};

/* Asks a CPU, which is quick. ENODEV, and a sentence with a remedy: it has no known PMU. */
int pmu_detect(const struct pmu_cpu *cpu, struct pmu_detected *out, struct err *e);
/* Whether both have the same description. False may also mean that they differ in other respects.
 */
bool pmu_detected_same(const struct pmu_detected *a, const struct pmu_detected *b);
/* Makes the description of a detected CPU, and validates it. ENODEV. */
int pmu_describe(const struct pmu_detected *d, struct pmu *out, struct err *e);

/* Adds a valid description, before other threads use the models. @text stays in memory. EEXIST: a
 * model or simulated processor has that name already; ENOSPC: there are too many models. */
int pmu_models_add(struct slice text, struct err *e);

/* Builds the description of @m with the parameters @f of the actual CPU; pmu_validate() decides
 * whether it is usable. EINVAL: there is no room for a register. */
int pmu_build(
	const struct pmu_model *m, const struct pmu_features *f, struct pmu *out, struct err *e);

/*
 * Parses a description for the parameters @f; NULL: the ones of its line "features". @model may be
 * NULL. EINVAL, ERANGE with the line's number. The result is not validated.
 */
int pmu_parse_model(struct slice text, const struct pmu_features *f, struct pmu *pmu,
	struct pmu_model *model, struct err *e);

/* Adds the architectural events of the processors in the line "detect" to @pmu, which has none.
 * Bits of @lacks are those of pmu_features.no_events. */
void pmu_add_arch_events(const struct pmu_model *m, uint32_t lacks, struct pmu *pmu);

/* Reports each mistake of a description to @tell, but only the first one in an array of registers,
 * and returns the number of mistakes. Mistakes that follow from a mistake in another line are not
 * reported. */
unsigned pmu_parse_check(struct slice text, pmu_tell *tell, void *arg);

/* The subject of a validation rule: the whole, the global registers, or a row. */
enum pmu_part {
	PMU_PART_WHOLE,
	PMU_PART_GLOBAL,
	PMU_PART_PMC,
	PMU_PART_PMD,
	PMU_PART_VIRTUAL,
	PMU_PART_FREE
};
/* Receives a broken rule. Returns false to end the validation. */
typedef bool pmu_mistake(void *arg, enum pmu_part part, unsigned row, const struct err *e);
/* Applies the rules of pmu_validate() to @pmu and calls @mistake for each broken rule, but only for
 * the first one of each row. */
void pmu_validate_all(const struct pmu *pmu, pmu_mistake *mistake, void *arg);

/* CPUID leaves 0 and 1. */
struct pmu_identity {
	uint32_t leaf0[4], leaf1[4];
	unsigned family, model;
	char vendor[13];
};

/* Reads CPUID leaves 0 and 1. */
int detect_identity(const struct pmu_cpu *cpu, struct pmu_identity *id, struct err *e);
/* Sets the vendor. False: it is unknown. */
bool detect_vendor_of(const struct pmu_identity *id, enum pmu_vendor *vendor);
/* Whether @version and the CPU's family and model match @m, and the CPU is not under a hypervisor
 * if @m requires that. */
bool detect_matches(const struct pmu_match *m, const struct pmu_identity *id, unsigned version);

#define ECX1_HYPERVISOR (1u << 31) /* ECX of CPUID leaf 1. */

/* CPUID registers in the order of the output of pmu_cpu.cpuid(). */
enum { EAX, EBX, ECX, EDX };

/*
 * The vendors' CPUID rules. They fail with ENODEV and a sentence if the CPU has no PMU, or with the
 * error of reading CPUID. Version 0: CPUID says nothing, and the model's parameters apply.
 */
int intel_features(const struct pmu_cpu *cpu, const struct pmu_identity *id,
	struct pmu_features *out, struct err *e);
int amd_features(const struct pmu_cpu *cpu, const struct pmu_identity *id, struct pmu_features *out,
	struct err *e);

/* Sets ENODEV, with the reason why a CPU of this vendor that matches no model has no PMU. */
int intel_no_model(const struct pmu_identity *id, struct err *e);
int amd_no_model(const struct pmu_identity *id, struct err *e);

#endif
