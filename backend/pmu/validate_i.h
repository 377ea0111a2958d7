/* SPDX-License-Identifier: MIT */
/* Inside the validation of descriptions: one function for each kind of row. */
#ifndef BACKEND_PMU_VALIDATE_I_H
#define BACKEND_PMU_VALIDATE_I_H

#include "backend/pmu/known.h"

/* Whether @s is one word of characters that need no quoting in shells and file formats. */
bool validate_is_word(const char *s);
bool validate_is_line(const char *s);
bool validate_terminated(const char *s, size_t room);
/* Checks the name and number of a register. @before is the number of the previous row, or -1. */
int validate_name_num(const char *name, unsigned num, int before, struct err *e);

/* The hint in sentences about a register that is in no table. */
#define KNOWN_HINT "write the address from the processor's manual, which perfmonfs has to know, too"

/* Checks that @addr, which @name has, is a register of the role @want, from ROLE_COUNTER on. */
int validate_role(
	const struct pmu *pmu, uint32_t addr, enum role want, const char *name, struct err *e);

int validate_pmc(const struct pmu *pmu, unsigned row, struct err *e);
int validate_pmd(const struct pmu *pmu, unsigned row, struct err *e);
int validate_virtual(const struct pmu *pmu, unsigned row, struct err *e);
int validate_free(const struct pmu *pmu, unsigned row, struct err *e);

#endif
