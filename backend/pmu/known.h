/* SPDX-License-Identifier: MIT */
/* The registers that a description may use, and the role of each. */
#ifndef BACKEND_PMU_KNOWN_H
#define BACKEND_PMU_KNOWN_H

#include "perfmonfs/pmu.h"

enum role {
	ROLE_SELECT,
	ROLE_FIXED_CTRL,
	ROLE_UNCORE_SELECT,
	ROLE_UNCORE_FIXED,
	ROLE_UNCORE_GLOBAL,
	ROLE_AMD_SHARED,
	ROLE_UMC_SELECT,
	ROLE_EXTRA,
	ROLE_ESCR,
	ROLE_CCCR,
	ROLE_IPF_FREEZE,
	ROLE_IPF_SELECT,
	ROLE_IPF_CAPTURE,
	ROLE_IPF_IBR_MASK,
	ROLE_IPF_DBR_MASK,
	ROLE_COUNTER,
	ROLE_GLOBAL,
	ROLE_INUSE,
	ROLE_STATUS,
	ROLE_CLEAR,
};

/* Bits of a configuration register with a special meaning, by its role. */
struct meaning {
	uint64_t forbidden; /* Must be reserved. */
	uint64_t enable;    /* Enable bits, unless reserved. */
	uint64_t kernel;    /* Bits for privileged users only, unless reserved. */
};

/* Sets the role of the register at @addr. False: a description like @pmu may not have it. */
bool known_role(const struct pmu *pmu, uint32_t addr, enum role *role);

/* The special bits of a role before ROLE_COUNTER. */
const struct meaning *known_meaning(enum role role);

/* The address that stands for all addresses of a register. */
uint32_t known_unalias(const struct pmu *pmu, uint32_t addr);

/* Values of unit=, by enum pmu_unit; NULL ends them. */
extern const char *const known_units[];

/* A register that may be read as a free-running one, and is never written. */
struct known_free {
	uint32_t addr;
	unsigned units; /* One bit for each enum pmu_unit that its values may have. */
	uint64_t bits;  /* Bits that a value may include. */
};

/* The free-running register at @addr; NULL: it is not one. */
const struct known_free *known_find_free(uint32_t addr);

#endif
