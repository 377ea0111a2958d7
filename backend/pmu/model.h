/* SPDX-License-Identifier: MIT */
/*
 * Models of PMUs. A model is one row of pmu_intel_models or pmu_amd_models: its name, the CPUID
 * version that selects it, the parameters of its description, and the processor that the simulator
 * offers for it. Detection, --pmu=NAME, sim:MODEL, msrsim and the tests walk these rows.
 */
#ifndef BACKEND_PMU_MODEL_H
#define BACKEND_PMU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/pmu/detect.h"
#include "perfmonfs/pmu.h"

enum pmu_vendor { PMU_INTEL, PMU_AMD };

/* Parameters of a description: what CPUID reports, or a row's values for --pmu=NAME. */
struct pmu_features {
	/* Intel: of architectural performance monitoring; 0: the P6 family before it. AMD: 0: the
	 * counters of K7; 1: PerfCtrExtCore; 2: PerfMonV2. A CPU has the model of its vendor with
	 * the highest version up to its own. */
	unsigned version;
	unsigned gp;          /* Number of general-purpose counters; excess ones are ignored. */
	unsigned gp_width;    /* Bits. */
	uint32_t fixed;       /* One bit per fixed counter. Intel only, as all below. */
	unsigned fixed_width; /* Bits. */
	bool full_width;      /* Counters can be written completely, through an alias. */
};

/* A processor with this PMU, as the simulator models it, with hyperthreading on. */
struct pmu_processor {
	const char *name;           /* For sim:NAME and msrsim --model=NAME. */
	const char *counters;       /* For msrsim --help. */
	uint32_t signature;         /* CPUID.1:EAX */
	uint32_t max_leaf, max_ext; /* Of CPUID; max_ext 0: there are no extended leaves. */
	uint64_t selector_bits;     /* Bits that exist in an event select. */
};

struct pmu_model {
	const char *name;  /* pmu.name */
	const char *title; /* pmu.model */
	enum pmu_vendor vendor;
	struct pmu_features features;
	struct pmu_processor sim;
};

/* The rows of one vendor; a NULL name ends them. */
extern const struct pmu_model pmu_intel_models[], pmu_amd_models[];

/* Row @i of all vendors' rows; NULL after the last. */
const struct pmu_model *pmu_model_at(unsigned i);

/* Builds the description of @m, with the parameters @f of the actual CPU. */
void pmu_build(const struct pmu_model *m, const struct pmu_features *f, struct pmu *out);

/* CPUID leaves 0 and 1. */
struct pmu_identity {
	uint32_t leaf0[4], leaf1[4];
	unsigned family, model;
	char vendor[13];
};

/* CPUID registers in the order of the output of pmu_cpu.cpuid(). */
enum { EAX, EBX, ECX, EDX };

/*
 * The vendor's CPUID rules and the PMU's registers. intel_features() and amd_features() fail with
 * ENODEV and a sentence if the CPU has no PMU, or with the error of reading CPUID.
 */
int intel_features(const struct pmu_cpu *cpu, const struct pmu_identity *id,
	struct pmu_features *out, struct err *e);
int amd_features(const struct pmu_cpu *cpu, const struct pmu_identity *id, struct pmu_features *out,
	struct err *e);
void intel_build(const struct pmu_features *f, struct pmu *pmu);
void amd_build(const struct pmu_features *f, struct pmu *pmu);

#endif
