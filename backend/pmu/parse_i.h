/* SPDX-License-Identifier: MIT */
/* Inside the parser of descriptions: the state after the lines parsed so far, and one function for
 * each kind of line. */
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
	/* Parameters for of=: of the actual CPU, or from the line "features". */
	const struct pmu_features *features;
	/* By row, the PMCs that keep only the bits of their PMDs: with of= and shared. */
	bool trims[PMU_MAX_PMCS];
	unsigned line; /* Number of the current line. */
	/* By logical number, the PMCs whose line has a mistake: lines that refer to them are not
	 * reported. */
	bool lost[PMU_MAX_NUM];
	unsigned first_line[LINE_KINDS]; /* Numbers of the first lines of each kind; 0: none. */
	/* By row, the numbers of the lines. */
	unsigned pmc_line[PMU_MAX_PMCS], pmd_line[PMU_MAX_PMDS], virtual_line[PMU_MAX_VIRTUALS];
	unsigned free_line[PMU_MAX_FREES];
};

/* Values of scope= and vendor=, by enum pmu_scope and enum pmu_vendor; NULL ends them. */
extern const char *const parse_scope_words[], *const parse_vendor_words[];

/* Parse one line. -ECANCELED: it refers to a line that has a mistake. */
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

/* Parses a line "free". @conditions: conditions may follow, as in free.pmu. */
int parse_free_line(struct slice line, bool conditions, struct free_line *f, struct err *e);
/* Adds a free-running register. EINVAL: there are too many. */
int parse_free_add(struct pmu *pmu, const struct pmu_free *reg, struct err *e);

/* Called after the last line: limits shared PMCs with of= to the bits of their PMDs. */
void parse_trim(struct parse *p);

#endif
