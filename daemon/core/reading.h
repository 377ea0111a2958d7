/* SPDX-License-Identifier: MIT */
/*
 * Free-running registers, extended to 64 bits across their wraps. Pure: the caller reads the
 * register, at least twice in the time in which it may wrap, and passes the time.
 */
#ifndef CORE_READING_H
#define CORE_READING_H

#include "perfmonfs/pmu.h"

/* A register as last read. All zero: it never was. Copied as a whole. */
struct reading {
	bool known;
	uint64_t field; /* The register's bits that count. */
	uint64_t total; /* The count, including all wraps. */
	uint64_t at;    /* When it was read, ns. */
	/* How often the total was restarted, as wraps may have been missed. */
	unsigned restarts;
};

/* The bits of @reg that are its value, from the whole MSR. False: it has none now. */
bool reading_field(const struct pmu_free *reg, uint64_t msr, uint64_t *field);

/*
 * The total at @now, when the register has @field; @r stays as it is. False if it is not known: @r
 * is too old, or the register was reset, as it has advanced by more than it can count.
 */
bool reading_total(const struct reading *r, const struct pmu_free *reg, uint64_t field,
	uint64_t now, uint64_t *total);

/* Takes @field at @now, which is not before r->at. Where the total is not known, it restarts
 * with the register's own count. */
void reading_take(struct reading *r, const struct pmu_free *reg, uint64_t field, uint64_t now);

/* @total as it is shown: in microjoules if it is energy, otherwise unchanged. */
uint64_t reading_shown(const struct pmu_free *reg, uint64_t total);

/* The name of the unit that is shown: ticks, events, degrees, uJ. */
const char *reading_unit(const struct pmu_free *reg);

#endif
