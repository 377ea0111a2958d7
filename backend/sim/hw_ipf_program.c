// SPDX-License-Identifier: MIT
/*
 * The program that the simulated Itanium 2 executes, and which of its events a counter sees. Events
 * that count instructions are restricted by the opcode matchers and the IBRs, as PMC8 (ig_ad, inv),
 * PMC14 and PMC15 say; loads and stores also by the DBRs, as PMC13 says. Several IBR pairs select
 * the union of their ranges, and the two matchers the union of their opcodes, except for tagged
 * instructions, whose unit mask names one pair and its matcher. PMC14's fine mode has no effect.
 */
#include "backend/sim/hw_ipf.h"

enum { LEVEL_KERNEL = 0, LEVEL_USER = 3, BUNDLES = 8, SLOTS = 3, BUNDLE_BYTES = 16 };

/* Executions of each instruction per microsecond. */
static const uint64_t program_rate[] = {[LEVEL_KERNEL] = 25, [LEVEL_USER] = 100};
static const uint64_t program_code[] = {
	[LEVEL_KERNEL] = 0xa000000100000000, [LEVEL_USER] = 0x4000000000000800};
static const uint64_t program_data[] = {
	[LEVEL_KERNEL] = 0xe000000000004000, [LEVEL_USER] = 0x6000000000004000};

enum kind { KIND_OTHER, KIND_NOP, KIND_LOAD, KIND_STORE };

struct insn {
	char unit;
	enum kind kind;
	uint64_t code; /* 41 bits; the major opcode is bits 40:37. */
	unsigned data; /* For a load or store, the word that it accesses. */
};

#define NOP(unit)                                                                                  \
	{                                                                                          \
		unit, KIND_NOP, 1ULL << 27, 0                                                      \
	}
#define ADD(unit)                                                                                  \
	{                                                                                          \
		unit, KIND_OTHER, 8ULL << 37, 0                                                    \
	}
#define LOAD(word)                                                                                 \
	{                                                                                          \
		'm', KIND_LOAD, 4ULL << 37 | 3ULL << 30, word                                      \
	}
#define STORE(word)                                                                                \
	{                                                                                          \
		'm', KIND_STORE, 4ULL << 37 | 0x33ULL << 30, word                                  \
	}
#define FMA                                                                                        \
	{                                                                                          \
		'f', KIND_OTHER, 8ULL << 37, 0                                                     \
	}
#define BRANCH                                                                                     \
	{                                                                                          \
		'b', KIND_OTHER, 4ULL << 37, 0                                                     \
	}

/* The branch of bundle 3 goes to bundle 4, the branch of bundle 7 to bundle 0. */
enum { BRANCH_1 = 3, BRANCH_2 = 7 };
static const struct insn program[BUNDLES][SLOTS] = {
	{LOAD(0), ADD('i'), NOP('i')},
	{LOAD(1), LOAD(2), ADD('i')},
	{NOP('m'), FMA, NOP('i')},
	{NOP('m'), NOP('i'), BRANCH},
	{STORE(3), ADD('i'), NOP('i')},
	{LOAD(4), STORE(5), ADD('i')},
	{NOP('m'), FMA, NOP('i')},
	{NOP('m'), NOP('i'), BRANCH},
};

/* An instruction of a level's loop. */
struct place {
	const struct insn *insn;
	unsigned level;
	uint64_t addr, data;
};

enum {
	EVENT_INST_RETIRED = 0x08, /* The unit mask is the number of an IBR pair. */
	EVENT_BRANCH = 0x11,       /* Branches captured. */
	EVENT_CPU_CYCLES = 0x12,
	EVENT_NOPS = 0x50,
	EVENT_LOADS = 0xcd,
	EVENT_STORES = 0xd1,
	ANY_PAIR = -1,
	PAIRS = 4,
};

#define PMC8_IGNORE_IBRS (1ULL << 0)
/* Bits that turn a register pair into a breakpoint. */
#define IBR_X             (1ULL << 63)
#define DBR_RW            (3ULL << 62)
#define PMC8_INVERT_IBRP0 (1ULL << 1)

/* Whether @addr is in the range of a register pair. A debugger's breakpoint does not restrict the
 * PMU. */
static bool program_in_range(
	const uint64_t pair[2], uint64_t breakpoint, uint64_t addr, unsigned level)
{
	uint64_t mask = 0xffULL << 56 | pair[1];

	return !(pair[1] & breakpoint) && pair[1] >> 56 >> level & 1 && !((addr ^ pair[0]) & mask);
}

static bool program_in_code(const struct hw_ipf *r, const struct place *p, int pair)
{
	bool any = false;

	if (r->pmc[8] & PMC8_IGNORE_IBRS)
		return true;
	for (int k = 0; k < PAIRS; k++) {
		bool invert = k == 0 && r->pmc[8] & PMC8_INVERT_IBRP0;

		if ((pair != ANY_PAIR && k != pair) || r->pmc[14] >> (1 + 3 * k) & 1)
			continue;
		any = true;
		if (program_in_range(&r->ibr[2 * k], IBR_X, p->addr, p->level) != invert)
			return true;
	}
	return !any;
}

/* Whether the opcode matches. Bits 40:27 and 12:0 are compared where the mask is 0. */
static bool program_matches(uint64_t matcher, const struct insn *insn)
{
	static const char units[] = "bfim";
	uint64_t bits = (insn->code >> 27 & 0x3fff) << 13 | (insn->code & 0x1fff);
	uint64_t mask = matcher >> 3 & 0x7ffffff, match = matcher >> 33 & 0x7ffffff;

	for (unsigned i = 0; units[i]; i++)
		if (units[i] == insn->unit && !(matcher >> (60 + i) & 1))
			return false;
	return !((bits ^ match) & ~mask);
}

static bool program_in_opcodes(const struct hw_ipf *r, const struct place *p, int pair)
{
	bool any = false;

	for (int k = 0; k < PAIRS; k++) {
		if ((pair != ANY_PAIR && k != pair) || r->pmc[15] >> k & 1)
			continue;
		any = true;
		if (program_matches(r->pmc[8 + k % 2], p->insn))
			return true;
	}
	return !any;
}

static bool program_tagged(const struct hw_ipf *r, const struct place *p, int pair)
{
	return !r || (program_in_code(r, p, pair) && program_in_opcodes(r, p, pair));
}

/* Whether PMC13 lets a load or store count. In a pair's field, bit 0 ignores the DBRs, and bit 1
 * ignores code addresses and opcodes. */
static bool program_accesses(const struct hw_ipf *r, const struct place *p)
{
	bool any = false;

	for (unsigned k = 0; r && k < PAIRS; k++) {
		uint64_t field = r->pmc[13] >> (3 + 8 * k);

		if (!(r->pmc[13] >> (45 + k) & 1))
			continue;
		any = true;
		if ((field & 1 || program_in_range(&r->dbr[2 * k], DBR_RW, p->data, p->level)) &&
			(field & 2 || program_tagged(r, p, ANY_PAIR)))
			return true;
	}
	return !any;
}

static bool program_counts(
	const struct hw_ipf *r, const struct place *p, unsigned event, unsigned umask)
{
	enum kind kind = p->insn->kind;

	switch (event) {
	case EVENT_INST_RETIRED:
		return program_tagged(r, p, (int)umask);
	case EVENT_NOPS:
		return kind == KIND_NOP && program_tagged(r, p, ANY_PAIR);
	case EVENT_LOADS:
		return kind == KIND_LOAD && program_accesses(r, p);
	default:
		return kind == KIND_STORE && program_accesses(r, p);
	}
}

static uint64_t program_instructions(
	const struct hw_ipf *r, unsigned event, unsigned umask, unsigned level)
{
	uint64_t n = 0;

	for (unsigned b = 0; b < BUNDLES; b++)
		for (unsigned s = 0; s < SLOTS; s++) {
			const struct place p = {
				.insn = &program[b][s],
				.level = level,
				.addr = program_code[level] + b * BUNDLE_BYTES,
				.data = program_data[level] + program[b][s].data * 8,
			};

			n += program_counts(r, &p, event, umask);
		}
	return n * program_rate[level];
}

/* Events per microsecond. Unknown events get rates that differ from neighbouring ones, for
 * tests. */
static uint64_t program_event_rate(
	const struct hw_ipf *r, unsigned event, unsigned umask, unsigned level)
{
	uint64_t user = 1 + (7 * event + 13 * umask) % 400;

	switch (event) {
	case EVENT_INST_RETIRED:
		return umask < PAIRS ? program_instructions(r, event, umask, level) : 0;
	case EVENT_NOPS:
	case EVENT_LOADS:
	case EVENT_STORES:
		return program_instructions(r, event, umask, level);
	case EVENT_CPU_CYCLES:
		return 30 * program_rate[level];
	}
	return level == LEVEL_USER ? user : 1 + user / 4;
}

uint64_t hw_ipf_events(const struct hw_ipf *r, uint64_t select, uint64_t ns)
{
	static const unsigned levels[] = {LEVEL_KERNEL, LEVEL_USER};
	unsigned event = select >> 8 & 0xff, umask = select >> 16 & 0xf;
	uint64_t n = 0;

	if (event == EVENT_BRANCH)
		return r && select & 0xf ? hw_ipf_branches(r->pmc[12], ns) : 0;
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (select >> levels[i] & 1)
			n += hw_ticks(program_event_rate(r, event, umask, levels[i]), ns);
	return n;
}

/* --- The branch trace buffer. Branches are taken, predicted correctly and relative to the IP. */

enum {
	BRANCHES = 2,
	TAKEN = 2 << 8,
	TARGETS = 2 << 10,
	PREDICATES = 2 << 12,
	OTHER_KINDS = 2 << 14
};

static bool program_level(uint64_t pmc12, unsigned level)
{
	return pmc12 >> level & 1;
}

uint64_t hw_ipf_branches(uint64_t pmc12, uint64_t ns)
{
	uint64_t n = 0;

	if (!(pmc12 & TAKEN) || !(pmc12 & TARGETS) || !(pmc12 & PREDICATES) || pmc12 & OTHER_KINDS)
		return 0;
	if (program_level(pmc12, LEVEL_USER))
		n += hw_ticks(BRANCHES * program_rate[LEVEL_USER], ns);
	if (program_level(pmc12, LEVEL_KERNEL))
		n += hw_ticks(BRANCHES * program_rate[LEVEL_KERNEL], ns);
	return n;
}

/* If both levels are traced, every fifth branch is the kernel's. */
void hw_ipf_branch(uint64_t pmc12, uint64_t k, uint64_t entry[2])
{
	bool both = program_level(pmc12, LEVEL_USER) && program_level(pmc12, LEVEL_KERNEL);
	bool kernel = both ? k % 5 == 4 : program_level(pmc12, LEVEL_KERNEL);
	uint64_t code = program_code[kernel ? LEVEL_KERNEL : LEVEL_USER];
	uint64_t nth = !both ? k : kernel ? k / 5 : k / 5 * 4 + k % 5;
	unsigned from = nth % 2 ? BRANCH_2 : BRANCH_1;

	/* Bit 0: the entry is a source; bits 3:2: its slot. */
	entry[0] = (code + from * BUNDLE_BYTES) | 2 << 2 | 1;
	entry[1] = code + (from + 1) % BUNDLES * BUNDLE_BYTES;
}
