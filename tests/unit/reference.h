/* SPDX-License-Identifier: MIT */
/*
 * What a context is to read, told the slow and obvious way, without a look at the core: while it
 * runs, a PMD grows by the events of its PMC's value that happen on its CPU. Nothing else.
 */
#ifndef TESTS_UNIT_REFERENCE_H
#define TESTS_UNIT_REFERENCE_H

#include "tests/unit/world.h"

struct reference {
	struct world *w;
	enum ctx_state state;
	bool offline;
	bool excused; /* somebody has interfered: commands may fail, counts may be lost */
	uint64_t pmc[PMU_MAX_PMCS], pmd[PMU_MAX_PMDS]; /* by row */
	char seen[160];                                /* what test, for messages */
};

void reference_init(struct reference *r, struct world *w);

/* Lets time pass, for the world and for the reference. */
void reference_advance(struct reference *r, uint64_t ns);

/* What a successful write of register row @row leaves there. */
void reference_pmc(struct reference *r, unsigned row, uint64_t value);
void reference_pmd(struct reference *r, unsigned row, uint64_t value);

/*
 * Has the world execute @verb and holds outcome and state against what they have to be. Excused,
 * it may fail, but only all or nothing.
 */
void reference_do(struct reference *r, enum cmd_verb verb);
void reference_write(struct reference *r, bool pmd, unsigned row, uint64_t value);

/* Reads every register; excused, a PMD may have no value, but never a wrong one. */
void reference_check(struct reference *r);

#endif
