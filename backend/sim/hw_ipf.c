// SPDX-License-Identifier: MIT
/*
 * Itanium 2's PMU, after Intel's reference manual for it, chapters 10 and 11. Bits that a register
 * lacks are ignored. psr.pp is set and psr.up is not, so that privileged monitors count and user
 * monitors do not. A counter that wraps sets its bit in PMC0; if its PMC has the bit oi, PMC0.fr
 * stops all counters from that moment on. hw_ipf_program.c has the program that the CPUs execute,
 * and how opcode matchers and address ranges filter it.
 *
 * Thresholds, event visibility and instruction sets have no effect. The registers of cache misses
 * (PMD0 to 3 and 17) keep what is written: no miss is captured.
 */
#include "backend/sim/hw_ipf.h"

#include <errno.h>

#include "backend/pmu/low_bits.h"

#define IPF_FREEZE  1ULL /* PMC0.fr */
#define IPF_OI      (1ULL << 5)
#define IPF_PM      (1ULL << 6)
#define IPF_COUNTER ((1ULL << 47) - 1)

/* PMD16: index of the next entry, and whether the last entry has been written. */
#define IPF_BTB_NEXT 7ULL
#define IPF_BTB_FULL 8ULL

enum { IPF_FIRST = 4, IPF_LAST = 7, IPF_BTB = 8, IPF_BTB_INDEX = 16, IPF_BTB_ENTRIES = 8 };

/* Power-up values of the PMCs, and the bits that can be written. */
static const struct {
	uint64_t def, bits;
} ipf_pmcs[HW_IPF_PMCS] = {
	[0] = {0, 0xf1},
	[4] = {0x800000, 0x37fff7f},
	[5] = {0, 0x37fff7f},
	[6] = {0, 0x37fff7f},
	[7] = {0, 0x37fff7f},
	[8] = {0xffffffff3fffffff, 0xffffffff3ffffffb},
	[9] = {0xffffffff3ffffffc, 0xffffffff3ffffffb},
	[10] = {0, 0xffff},
	[11] = {0, 0x30f01cf},
	[12] = {0, 0xffff},
	[13] = {0x2078fefefefe, 0x1e00018181818},
	[14] = {0xdb60db60db60db6, 0x2492},
	[15] = {0xfffffff0, 0xf},
};

static void ipf_reset(struct hw_cpu *c)
{
	for (unsigned i = 0; i < HW_IPF_PMCS; i++)
		c->ipf.pmc[i] = ipf_pmcs[i].def;
}

/* The register at @addr, or NULL; *@bits are the bits that a write sets. */
static uint64_t *ipf_register(struct hw_ipf *r, uint32_t addr, uint64_t *bits)
{
	unsigned i = addr & PMU_IPF_INDEX;

	*bits = UINT64_MAX;
	switch (addr & ~(uint32_t)PMU_IPF_INDEX) {
	case PMU_IPF_PMC:
		*bits = i < HW_IPF_PMCS ? ipf_pmcs[i].bits : 0;
		return i < HW_IPF_PMCS ? &r->pmc[i] : NULL;
	case PMU_IPF_PMD:
		*bits = i >= IPF_FIRST && i <= IPF_LAST ? IPF_COUNTER : UINT64_MAX;
		return i < HW_IPF_PMDS ? &r->pmd[i] : NULL;
	case PMU_IPF_IBR:
		return i < HW_IPF_BREAKPOINTS ? &r->ibr[i] : NULL;
	case PMU_IPF_DBR:
		return i < HW_IPF_BREAKPOINTS ? &r->dbr[i] : NULL;
	}
	return NULL;
}

/* Reads a register. Counters are sign-extended. */
static int ipf_read(const struct pmu_model *m, const struct hw_cpu *c, uint32_t addr, uint64_t *v)
{
	struct hw_ipf r = c->ipf;
	uint64_t bits, *at = ipf_register(&r, addr, &bits);

	(void)m;
	if (!at)
		return -EIO;
	*v = *at;
	if (bits == IPF_COUNTER && *v >> 46)
		*v |= ~IPF_COUNTER;
	return 0;
}

static int ipf_write(const struct pmu_model *m, struct hw_cpu *c, uint32_t addr, uint64_t v)
{
	uint64_t bits, *at = ipf_register(&c->ipf, addr, &bits);

	(void)m;
	if (!at)
		return -EIO;
	*at = bits == IPF_COUNTER ? v & bits : (*at & ~bits) | (v & bits);
	return 0;
}

/* Events of counter @i in the first @ns of time, with the present PMC. */
static uint64_t ipf_count(const struct hw_ipf *r, unsigned i, uint64_t ns)
{
	return r->pmc[i] & IPF_PM ? hw_ipf_events(r, r->pmc[i], ns) : 0;
}

/* The time between @from and @to at which counter @i wraps; @to if it does not. */
static uint64_t ipf_wraps_at(const struct hw_ipf *r, unsigned i, uint64_t from, uint64_t to)
{
	uint64_t room = IPF_COUNTER + 1 - r->pmd[i], was = ipf_count(r, i, from);

	while (from < to) {
		uint64_t mid = from + (to - from) / 2;

		if (ipf_count(r, i, mid) - was >= room)
			to = mid;
		else
			from = mid + 1;
	}
	return to;
}

static void ipf_add(struct hw_ipf *r, unsigned i, uint64_t from, uint64_t to)
{
	uint64_t n = ipf_count(r, i, to) - ipf_count(r, i, from);

	if (n > IPF_COUNTER - r->pmd[i]) {
		r->pmc[0] |= 1ULL << i;
		if (r->pmc[i] & IPF_OI)
			r->pmc[0] |= IPF_FREEZE;
	}
	r->pmd[i] = (r->pmd[i] + n) & IPF_COUNTER;
}

/* Records the branches between @from and @to. Each is a pair of entries, source and target; the
 * last eight entries remain. */
static void ipf_trace(struct hw_ipf *r, uint64_t from, uint64_t to)
{
	uint64_t first = hw_ipf_branches(r->pmc[12], from);
	uint64_t end = hw_ipf_branches(r->pmc[12], to), k = first;
	uint64_t index = r->pmd[IPF_BTB_INDEX] & IPF_BTB_NEXT, next = index + 2 * (end - first);

	if (!(r->pmc[12] & IPF_PM))
		return;
	if (end - first > IPF_BTB_ENTRIES / 2)
		k = end - IPF_BTB_ENTRIES / 2;
	for (; k < end; k++) {
		uint64_t entry[2], at = index + 2 * (k - first);

		hw_ipf_branch(r->pmc[12], k, entry);
		for (unsigned i = 0; i < 2; i++)
			r->pmd[IPF_BTB + (at + i) % IPF_BTB_ENTRIES] = entry[i];
	}
	if (next >= IPF_BTB_ENTRIES)
		r->pmd[IPF_BTB_INDEX] |= IPF_BTB_FULL;
	r->pmd[IPF_BTB_INDEX] &= ~IPF_BTB_NEXT;
	r->pmd[IPF_BTB_INDEX] |= next % IPF_BTB_ENTRIES;
}

static void ipf_catch_up(struct hw_cpu *c, uint64_t now)
{
	struct hw_ipf *r = &c->ipf;
	uint64_t from = c->seen, to = now;

	c->seen = now;
	if (r->pmc[0] & IPF_FREEZE)
		return;
	for (unsigned i = IPF_FIRST; i <= IPF_LAST; i++)
		if (r->pmc[i] & IPF_OI)
			to = ipf_wraps_at(r, i, from, to);
	for (unsigned i = IPF_FIRST; i <= IPF_LAST; i++)
		ipf_add(r, i, from, to);
	ipf_trace(r, from, to);
}

static uint64_t ipf_events(uint64_t select, uint64_t ns)
{
	return hw_ipf_events(NULL, select, ns);
}

const struct hw_rules hw_ipf = {
	.reset = ipf_reset,
	.rdmsr = ipf_read,
	.wrmsr = ipf_write,
	.catch_up = ipf_catch_up,
	.events = ipf_events,
};
