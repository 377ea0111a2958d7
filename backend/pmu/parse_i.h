/* SPDX-License-Identifier: MIT */
/* Inside the parser of descriptions: what is known after the lines above, and one function a line.
 */
#ifndef BACKEND_PMU_PARSE_I_H
#define BACKEND_PMU_PARSE_I_H

#include "backend/pmu/model.h"

/* The first words of lines. */
enum {
	LINE_PMU,
	LINE_SPACE,
	LINE_DETECT,
	LINE_FEATURES,
	LINE_ATOM,
	LINE_RATE,
	LINE_GLOBAL,
	LINE_PMC,
	LINE_PMD,
	LINE_REQUIRE,
	LINE_CONSTRAINT,
	LINE_VIRTUAL,
	LINE_FREE,
	LINE_SIM,
	LINE_CPUID,
	LINE_KINDS
};

struct parse {
	struct pmu pmu;
	struct pmu_model model;
	/* Parameters for of=: those of the actual CPU, or of the line "features". */
	const struct pmu_features *features;
	/* PMCs by row that keep the bits of their PMDs only: of= and shared. */
	bool trims[PMU_MAX_PMCS];
	unsigned line; /* Its number. */
	/* Logical numbers of PMCs whose line has a mistake: what refers to them has none. */
	bool lost[PMU_MAX_NUM];
	unsigned first_line[LINE_KINDS]; /* Numbers of the first lines of each kind; 0: none. */
	/* Numbers of the lines of each row. */
	unsigned pmc_line[PMU_MAX_PMCS], pmd_line[PMU_MAX_PMDS], virtual_line[PMU_MAX_VIRTUALS];
	unsigned free_line[PMU_MAX_FREES];
};

/* Values of scope= and vendor=, by enum pmu_scope and enum pmu_vendor; NULL ends them. */
extern const char *const parse_scope_words[], *const parse_vendor_words[];

/* -ECANCELED: the line refers to one that has a mistake. */
int parse_pmu(struct parse *p, struct slice line, struct err *e);
int parse_space(struct parse *p, struct slice line, struct err *e);
int parse_rate(struct parse *p, struct slice line, struct err *e);
int parse_detect(struct parse *p, struct slice line, struct err *e);
int parse_features(struct parse *p, struct slice line, struct err *e);
int parse_atom(struct parse *p, struct slice line, struct err *e);
int parse_sim(struct parse *p, struct slice line, struct err *e);
int parse_cpuid(struct parse *p, struct slice line, struct err *e);

int parse_global(struct parse *p, struct slice line, struct err *e);
int parse_pmc(struct parse *p, struct slice line, struct err *e);
int parse_pmd(struct parse *p, struct slice line, struct err *e);
int parse_virtual(struct parse *p, struct slice line, struct err *e);
int parse_require(struct parse *p, struct slice line, struct err *e);
int parse_constraint(struct parse *p, struct slice line, struct err *e);
int parse_free(struct parse *p, struct slice line, struct err *e);

enum free_feature {
	FEATURE_NONE,
	FEATURE_TSC,
	FEATURE_APERFMPERF,
	FEATURE_THERMAL,
	FEATURE_PACKAGE_THERMAL,
	FEATURE_IRPERF,
	FEATURE_RAPL,
	FEATURES,
};

/* A line of free.pmu. */
struct free_line {
	struct pmu_free reg;
	enum pmu_vendor vendor;
	bool by_vendor;
	struct pmu_match match;
	enum free_feature feature;
};

/* With @conditions, they may follow: of free.pmu. */
int parse_free_line(struct slice line, bool conditions, struct free_line *f, struct err *e);
/* EINVAL: there are too many. */
int parse_free_add(struct pmu *pmu, const struct pmu_free *reg, struct err *e);

/* After the last line: the bits of of= PMCs that are shared are those of their PMDs. */
void parse_trim(struct parse *p);

#endif
