// SPDX-License-Identifier: MIT
/*
 * Itanium 2: what its simulated PMU does, and what the core makes of registers that other PMUs do
 * not have: buffers, and those that restrict what all counters count. test_core.c and others try
 * the rest on all models.
 */
#include "backend/sim/sim.h"
#include "daemon/core/image.h"
#include "tests/unit/unit.h"
#include "tests/unit/world_sets.h"

#define PMC(n)   (PMU_IPF_PMC + (n))
#define PMD(n)   (PMU_IPF_PMD + (n))
#define IBR(n)   (PMU_IPF_IBR + (n))
#define DBR(n)   (PMU_IPF_DBR + (n))
#define WRAP     (1ULL << 47)
#define PM       (1ULL << 6)
#define OI       (1ULL << 5)
#define USER     8ULL
#define BOTH     9ULL
#define US       1000
#define MASK56   ((1ULL << 56) - 1)
#define USER_PLM (8ULL << 56)

/* Events, at user level per microsecond: of 24 instructions in a loop. */
enum {
	INSTRUCTIONS = 0x08,
	CYCLES = 0x12,
	NOPS = 0x50,
	LOADS = 0xcd,
	STORES = 0xd1,
	RATE = 100,
	NLOADS = 4,
	NSTORES = 2,
	NNOPS = 10,
	NALL = 24,
};

/* The loop at user level: eight bundles of 16 bytes; six words of data. */
#define CODE 0x4000000000000800
#define DATA 0x6000000000004000

static struct hw *make(void)
{
	struct hw *hw;

	assert_int_equal(hw_new("itanium2", 2, &hw, &why), 0);
	return hw;
}

static void free_hw(struct hw **hw)
{
	hw_free(*hw);
}
#define CLEANUP_HW __attribute__((cleanup(free_hw)))

static uint64_t rd(struct hw *hw, uint32_t addr)
{
	uint64_t v;

	assert_int_equal(hw_rdmsr(hw, 0, addr, &v), 0);
	return v;
}

static void wr(struct hw *hw, uint32_t addr, uint64_t v)
{
	assert_int_equal(hw_wrmsr(hw, 0, addr, v), 0);
}

/* Counter 4 counts @event and unit mask at user level for a microsecond. */
static uint64_t count_masked(struct hw *hw, unsigned event, unsigned umask)
{
	uint64_t n;

	wr(hw, PMC(4), (uint64_t)umask << 16 | event << 8 | PM | USER);
	wr(hw, PMD(4), 0);
	hw_advance(hw, US);
	n = rd(hw, PMD(4));
	wr(hw, PMC(4), 0);
	return n;
}

static uint64_t count(struct hw *hw, unsigned event)
{
	return count_masked(hw, event, 0);
}

static struct pmu itanium2(void)
{
	struct err e = {0};
	struct backend *be;
	struct pmu pmu;
	const struct backend_conf conf = {.model = "itanium2"};

	assert_int_equal(sim_backend_ops.open(&conf, &be, &e), 0);
	pmu = *be->pmu;
	be->ops->close(be);
	return pmu;
}

/* Table 5.1 of the specification, and the mapping of the others (5.1). */
TEST(numbers)
{
	struct pmu pmu = itanium2();

	assert_int_equal(pmu.space, PMU_SPACE_IPF);
	assert_int_equal(pmu.counter_width, 47);
	for (unsigned i = 0; i < pmu.npmcs; i++) {
		const struct pmu_pmc *pmc = &pmu.pmcs[i];
		unsigned n = pmc->num < 256 ? pmc->num : (pmc->num - 256U) % 8;

		assert_string_equal(pmu_reg_type(&pmu, pmc->addr), pmc->num < 256   ? "pmc"
								   : pmc->num < 264 ? "ibr"
										    : "dbr");
		assert_int_equal(pmu_reg_index(&pmu, pmc->addr), n);
	}
	for (unsigned num = 256; num < 272; num++)
		assert_true(pmu_find_pmc(&pmu, num) >= 0);
	assert_int_equal(pmu.npmds, 18);
	for (unsigned i = 0; i < pmu.npmds; i++) {
		assert_int_equal(pmu.pmds[i].num, i);
		assert_int_equal(pmu.pmds[i].buffer, i < 4 || i > 7);
		assert_string_equal(pmu_reg_type(&pmu, pmu.pmds[i].addr), "pmd");
		assert_int_equal(pmu_reg_index(&pmu, pmu.pmds[i].addr), i);
	}
}

/* A description is for the registers that there are. */
TEST(spaces)
{
	const struct backend_conf wrong[] = {{.model = "intel_v4", .pmu = "itanium2"},
		{.model = "itanium2", .pmu = "intel_arch_v4"}};
	struct pmu pmu = itanium2();
	struct backend *be;

	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(sim_backend_ops.open(&wrong[i], &be, &why), -EINVAL);
		assert_non_null(strstr(why.text, "lack its registers"));
	}
	assert_int_equal(pmu_validate(&pmu, &why), 0);
	pmu.space = PMU_SPACE_MSR;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
}

TEST(validate)
{
	static const struct {
		unsigned num;
		uint64_t rsvd, def; /* Bits that it must reserve, and must not set. */
	} bits[] = {{4, OI, OI}, {7, OI, OI}, {0, 2, 2}, {257, 1ULL << 63, 1ULL << 63},
		{271, 1ULL << 62, 1ULL << 62}};
	struct pmu good = itanium2(), pmu;

	for (unsigned i = 0; i < COUNT(bits); i++) {
		int p = pmu_find_pmc(&good, bits[i].num);

		pmu = good;
		pmu.pmcs[p].rsvd &= ~bits[i].rsvd;
		pmu.pmcs[p].busy = pmu.pmcs[p].latched = 0;
		assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
		pmu = good;
		pmu.pmcs[p].def |= bits[i].def;
		assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	}
	pmu = good;
	pmu.pmcs[1].enable = 7; /* A level that would not be stopped. */
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	pmu = good;
	pmu.pmds[8].width = 47;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	pmu = good;
	pmu.pmcs[0].busy = 1;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
	pmu = good;
	pmu.pmcs[3].with = 5;
	assert_int_equal(pmu_validate(&pmu, &why), -EINVAL);
}

TEST(counts)
{
	CLEANUP_HW struct hw *hw = make();
	uint64_t v;

	assert_int_equal(count(hw, INSTRUCTIONS), NALL * RATE);
	assert_int_equal(count(hw, NOPS), NNOPS * RATE);
	assert_int_equal(count(hw, LOADS), NLOADS * RATE);
	assert_int_equal(count(hw, STORES), NSTORES * RATE);
	/* A user monitor does not: psr.up is clear. */
	wr(hw, PMC(5), CYCLES << 8 | USER);
	hw_advance(hw, US);
	assert_int_equal(rd(hw, PMD(5)), 0);
	/* Both levels; a quarter as often in the kernel. */
	wr(hw, PMC(5), INSTRUCTIONS << 8 | PM | BOTH);
	hw_advance(hw, US);
	assert_int_equal(rd(hw, PMD(5)), NALL * RATE * 5 / 4);
	/* The bits of PMC4 that it lacks stay: bit 23 is on. */
	wr(hw, PMC(4), ~0ULL);
	assert_int_equal(rd(hw, PMC(4)), 0x3ffff7f);
	assert_int_equal(hw_rdmsr(hw, 0, PMC(16), &v), -EIO);
	assert_int_equal(hw_rdmsr(hw, 0, PMD(18), &v), -EIO);
	assert_int_equal(hw_wrmsr(hw, 0, IBR(8), 0), -EIO);
	assert_int_equal(hw_rdmsr(hw, 0, 0x10, &v), -EIO);
}

/* Counters have 47 bits, and are read sign-extended. */
TEST(overflow)
{
	CLEANUP_HW struct hw *hw = make();

	wr(hw, PMD(6), WRAP - 1);
	assert_int_equal(rd(hw, PMD(6)), ~0ULL);
	wr(hw, PMC(6), INSTRUCTIONS << 8 | PM | USER);
	wr(hw, PMD(6), WRAP - 1000);
	hw_advance(hw, US);
	assert_int_equal(rd(hw, PMD(6)), NALL * RATE - 1000);
	assert_int_equal(rd(hw, PMC(0)), 1 << 6);
}

/* With oi, an overflow freezes all at that moment, until PMC0.fr is cleared. */
TEST(freeze)
{
	CLEANUP_HW struct hw *hw = make();
	uint64_t other;

	wr(hw, PMC(4), INSTRUCTIONS << 8 | PM | OI | USER);
	wr(hw, PMC(5), NOPS << 8 | PM | USER);
	wr(hw, PMD(4), WRAP - NALL * RATE); /* In one microsecond. */
	hw_advance(hw, 10 * US);
	assert_int_equal(rd(hw, PMC(0)), 1 << 4 | 1);
	assert_int_equal(rd(hw, PMD(4)), 0);
	other = rd(hw, PMD(5));
	assert_int_equal(other, NNOPS * RATE);
	hw_advance(hw, US);
	assert_int_equal(rd(hw, PMD(5)), other);
	wr(hw, PMC(0), 0);
	hw_advance(hw, US);
	assert_int_equal(rd(hw, PMD(4)), NALL * RATE);
	assert_int_equal(rd(hw, PMD(5)), 2 * other);
	assert_int_equal(rd(hw, PMC(0)), 0);
}

/* PMC8: major opcode 4 (bits 40:37) on M units: loads and stores. */
#define MEMORY_OPCODE (1ULL << 63 | 4ULL << (33 + 23) | (0x7fffffULL << 3) | 5)

TEST(opcodes)
{
	CLEANUP_HW struct hw *hw = make();

	wr(hw, PMC(8), MEMORY_OPCODE);
	assert_int_equal(count(hw, INSTRUCTIONS), (NLOADS + NSTORES) * RATE);
	/* Pair 1 has the other matcher; pair 2 this one. */
	assert_int_equal(count_masked(hw, INSTRUCTIONS, 1), NALL * RATE);
	assert_int_equal(count_masked(hw, INSTRUCTIONS, 2), (NLOADS + NSTORES) * RATE);
	/* Events of any pair: PMC9 leaves all, unless PMC15 leaves it out. */
	assert_int_equal(count(hw, NOPS), NNOPS * RATE);
	wr(hw, PMC(15), 0xa);
	assert_int_equal(count(hw, NOPS), 0);
	/* The same opcode on B units: branches. */
	wr(hw, PMC(8), (MEMORY_OPCODE & ~(1ULL << 63)) | 1ULL << 60);
	assert_int_equal(count(hw, INSTRUCTIONS), 2 * RATE);
	assert_int_equal(count(hw, CYCLES), 3000);
}

TEST(code_ranges)
{
	CLEANUP_HW struct hw *hw = make();

	/* Bundle 1: two loads and an addition. */
	wr(hw, IBR(0), CODE + 16);
	wr(hw, IBR(1), (MASK56 & ~0xfULL) | USER_PLM);
	assert_int_equal(count(hw, LOADS), NLOADS * RATE);
	wr(hw, PMC(14), rd(hw, PMC(14)) & ~2ULL);
	wr(hw, PMC(8), 0xffffffff3ffffffc);
	wr(hw, PMC(13), 0x200010101008 | (rd(hw, PMC(13)) & ~0x18181818ULL));
	assert_int_equal(count(hw, INSTRUCTIONS), 3 * RATE);
	assert_int_equal(count(hw, LOADS), 2 * RATE);
	assert_int_equal(count(hw, NOPS), 0);
	assert_int_equal(count(hw, CYCLES), 3000);
	/* Inverted: the rest. */
	wr(hw, PMC(8), 0xffffffff3ffffffe);
	assert_int_equal(count(hw, INSTRUCTIONS), (NALL - 3) * RATE);
	/* A second pair adds to the first: bundles 4 to 7. */
	wr(hw, PMC(8), 0xffffffff3ffffffc);
	wr(hw, IBR(2), CODE + 64);
	wr(hw, IBR(3), (MASK56 & ~0x3fULL) | USER_PLM);
	wr(hw, PMC(14), rd(hw, PMC(14)) & ~0x10ULL);
	assert_int_equal(count(hw, NOPS), 5 * RATE);
	assert_int_equal(count_masked(hw, INSTRUCTIONS, 1), 12 * RATE);
	/* ibr.x makes it a debugger's, and another level's does not match. */
	wr(hw, IBR(3), rd(hw, IBR(3)) | 1ULL << 63);
	assert_int_equal(count(hw, NOPS), 0);
	wr(hw, IBR(3), (MASK56 & ~0x3fULL) | 1ULL << 56);
	assert_int_equal(count(hw, NOPS), 0);
	/* ig_ad ignores them all. */
	wr(hw, PMC(8), 0xffffffff3ffffffd);
	assert_int_equal(count(hw, NOPS), NNOPS * RATE);
}

TEST(data_ranges)
{
	CLEANUP_HW struct hw *hw = make();

	/* The words 2 and 3: one is loaded, one stored. */
	wr(hw, DBR(0), DATA + 16);
	wr(hw, DBR(1), (MASK56 & ~0xfULL) | USER_PLM);
	wr(hw, PMC(13), rd(hw, PMC(13)) & ~(1ULL << 3)); /* cfg_dbrp0 = 2 */
	assert_int_equal(count(hw, LOADS), RATE);
	assert_int_equal(count(hw, STORES), RATE);
	assert_int_equal(count(hw, INSTRUCTIONS), NALL * RATE);
	wr(hw, DBR(1), rd(hw, DBR(1)) | 1ULL << 62); /* dbr.w */
	assert_int_equal(count(hw, LOADS), 0);
}

#define ALL_BRANCHES 0x3f00ULL

TEST(branches)
{
	static const uint64_t pairs[2][2] = {
		{(CODE + 48) | 9, CODE + 64}, {(CODE + 112) | 9, CODE}};
	CLEANUP_HW struct hw *hw = make();

	wr(hw, PMC(12), ALL_BRANCHES | PM | USER);
	hw_advance(hw, 15); /* Three branches, one each 5 ns. */
	assert_int_equal(rd(hw, PMD(16)), 6);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(rd(hw, PMD(8 + i)), pairs[i / 2 % 2][i % 2]);
	assert_int_equal(rd(hw, PMD(14)), 0);
	hw_advance(hw, 5);
	assert_int_equal(rd(hw, PMD(16)), 8);
	hw_advance(hw, 5 * 1001);
	assert_int_equal(rd(hw, PMD(16)), 8 | 2);
	assert_int_equal(rd(hw, PMD(8)), pairs[0][0]);
	assert_int_equal(rd(hw, PMD(15)), pairs[1][1]);
	/* An odd index wraps within the buffer. */
	wr(hw, PMD(16), 7);
	hw_advance(hw, 5);
	assert_int_equal(rd(hw, PMD(16)), 8 | 1);
	assert_int_equal(rd(hw, PMD(15)) & 1, 1);
	assert_int_equal(rd(hw, PMD(8)) & 1, 0);
	/* Not taken ones there are none; returns neither. */
	wr(hw, PMD(16), 0);
	wr(hw, PMC(12), 0x3d00 | PM | USER);
	hw_advance(hw, US);
	wr(hw, PMC(12), ALL_BRANCHES | 2 << 14 | PM | USER);
	hw_advance(hw, US);
	assert_int_equal(rd(hw, PMD(16)), 0);
}

static const struct world_model *model(void)
{
	const struct world_model *m = world_all;

	while (m->name && strcmp(m->name, "itanium2") != 0)
		m++;
	assert_non_null(m->name);
	return m;
}

/* PMD @num counts @event at both levels, from @from on. */
static void select_event(struct world *w, unsigned num, unsigned event, uint64_t from)
{
	WANT(w, 0, world_write(w, false, num, event << 8 | BOTH));
	WANT(w, 0, world_write(w, true, num, from));
}

static void finish(struct world *w)
{
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_restored(w, 0, "after unload");
	world_close(w);
}

/* What others have left in PMC8 and the breakpoint registers does not restrict the counts, and is
 * there again in the end. */
TEST(left_behind)
{
	struct world w;

	world_open(&w, model());
	world_poke(&w, PMC(14), 0);
	world_poke(&w, IBR(0), 0x1230);
	world_poke(&w, IBR(1), 0xfff);
	world_remember(&w);
	select_event(&w, 4, NOPS, 0);
	WANT_RUN(&w);
	hw_advance(w.hw, 4 * US);
	WANT_PMD(&w, 4, 5 * NNOPS * RATE);
	/* PMC14 makes them restrict: they are taken, at their defaults until they are written. */
	WANT(&w, 0, world_write(&w, false, 14, 0xdb60db60db60db4));
	WANT(&w, 0, world_write(&w, false, 8, 0xffffffff3ffffffc));
	assert_int_equal(world_rdmsr(&w, IBR(0)), 0);
	WANT(&w, 0, world_write(&w, true, 4, 0));
	hw_advance(w.hw, 4 * US);
	WANT_PMD(&w, 4, 0);
	/* No level is selected by a mask of 0; with one, all addresses match. */
	WANT(&w, 0, world_write(&w, false, 256, CODE));
	WANT(&w, 0, world_write(&w, false, 257, (MASK56 & ~0x3fULL) | USER_PLM));
	hw_advance(w.hw, 4 * US);
	WANT_PMD(&w, 4, 4 * 5 * RATE);
	finish(&w);
}

/* Breakpoints of a debugger (5.6.2): a context that needs the registers is not loaded. */
IN_WORLD(debugger, model())
{
	uint64_t value;

	world_poke(w, IBR(5), 1ULL << 63);
	world_poke(w, DBR(3), 1ULL << 62);
	world_remember(w);
	select_event(w, 4, NOPS, 0);
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, -EBUSY, world_write(w, false, 14, 0xdb60db60db60db4));
	assert_non_null(strstr(w->err.text, "pmc261"));
	WANT(w, -EBUSY, world_write(w, false, 267, 1));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT(w, 0, world_write(w, false, 256, 1));
	WANT(w, 0, world_write(w, false, 14, 0xdb60db60db60db4));
	WANT(w, -EBUSY, world_do(w, CMD_LOAD));
	/* The bits that make breakpoints are never set (5.6.3). */
	WANT(w, 0, world_write(w, false, 257, ~0ULL));
	WANT(w, 0, world_read(w, false, 257, &value));
	assert_int_equal(value, ~0ULL >> 1);
	WANT(w, 0, world_write(w, false, 265, ~0ULL));
	WANT(w, 0, world_read(w, false, 265, &value));
	assert_int_equal(value, ~0ULL >> 2);
	world_restored(w, 0, "not loaded");
}

/* Each register that restricts, taken by another program while counters count: all are lost, and it
 * keeps what the other has written. */
TEST(stolen)
{
	static const struct {
		unsigned num;
		uint64_t value;
	} stolen[] = {{0, 1}, {8, 0}, {9, 0x3fffffff}, {13, 0}, {14, 0}, {15, 0xf}};
	struct world w;

	for (unsigned i = 0; i < 2 * COUNT(stolen); i++) {
		uint32_t addr = PMC(stolen[i / 2].num);
		uint64_t value, taken;

		world_open(&w, model());
		select_event(&w, 4, NOPS, 0);
		select_event(&w, 7, CYCLES, 0);
		WANT_RUN(&w);
		world_poke(&w, addr, stolen[i / 2].value);
		taken = world_rdmsr(&w, addr);
		if (i % 2)
			WANT(&w, 0, world_do(&w, CMD_STOP));
		WANT(&w, -EIO, world_read(&w, true, 4, &value));
		WANT(&w, -EIO, world_read(&w, true, 7, &value));
		WANT(&w, 0, world_do(&w, CMD_UNLOAD));
		assert_int_equal(world_rdmsr(&w, addr), taken);
		world_restored(&w, addr, "after unload");
		world_close(&w);
	}
}

/* A set that is switched to after such a theft does not count. */
IN_WORLD(stolen_set, model())
{
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	world_set_timed(w, 0, 1000000);
	world_set_timed(w, 1, 1000000);
	for (unsigned set = 0; set < 2; set++)
		WANT(w, 0, world_write_in(w, set, false, 4, NOPS << 8 | BOTH));
	WANT_RUN(w);
	world_poke(w, PMC(9), 0);
	world_pass_switch(w, 2000000);
	hw_advance(w->hw, US);
	assert_int_equal(world_info(w).set, 1);
	for (unsigned set = 0; set < 2; set++) {
		struct cmd_reg reg = {.pmd = true, .num = 4, .set = (uint16_t)set};
		struct command read = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};

		WANT(w, -EIO, world_command(w, &read));
	}
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	assert_int_equal(world_rdmsr(w, PMC(9)) >> 33, 0);
	world_restored(w, PMC(9), "after unload");
}

/* 64 bits over 47, and an overflow that the hardware tells in PMC0, which is cleared in the end. */
TEST(wide)
{
	struct world w;

	world_open(&w, model());
	select_event(&w, 5, NOPS, WRAP - 1000);
	WANT_RUN(&w);
	hw_advance(w.hw, 4 * US);
	WANT_PMD(&w, 5, WRAP - 1000 + 5 * NNOPS * RATE);
	assert_int_equal(world_rdmsr(&w, PMC(0)), 1 << 5);
	finish(&w);
}

/* Buffers show what is in the registers, are kept by each set, and are written when they are
 * reset. */
TEST(buffers)
{
	const struct pmd_conf overflows = {.short_reset = -1000ULL};
	struct pmd_conf conf = overflows;
	struct world w;

	regset_add(&conf.reset, 16);
	regset_add(&conf.smpl, 16);
	world_open(&w, model());
	WANT(&w, 0, world_write(&w, false, 12, ALL_BRANCHES | USER));
	WANT(&w, 0, world_write(&w, false, 4, CYCLES << 8 | USER));
	WANT(&w, 0, world_write_pmd(&w, 0, 4, -1000ULL, &conf));
	WANT(&w, 0, world_write(&w, true, 8, 0x8888000000000000));
	WANT_RUN(&w);
	assert_int_equal(world_rdmsr(&w, PMD(8)), 0x8888000000000000);
	hw_advance(w.hw, 10);
	WANT_PMD(&w, 16, 4);
	hw_advance(w.hw, 1000); /* 3000 cycles: overflow, which resets PMD16. */
	WANT(&w, 0, world_do(&w, CMD_POLL));
	assert_int_equal(world_pmd(&w, 0, 4).overflows, 3);
	assert_int_equal(world_rdmsr(&w, PMD(16)), 0);
	WANT_PMD(&w, 8, world_rdmsr(&w, PMD(8)));
	WANT(&w, 0, world_do(&w, CMD_STOP));
	world_poke(&w, PMD(8), 0x77);
	WANT(&w, 0, world_do(&w, CMD_START));
	assert_true(world_rdmsr(&w, PMD(8)) != 0x77);
	/* A high address is no overflow of a counter. */
	WANT(&w, 0, world_write(&w, true, 9, ~0ULL));
	hw_advance(w.hw, 20);
	WANT(&w, 0, world_do(&w, CMD_POLL));
	assert_int_equal(world_info(&w).lost, 0);
	assert_int_equal(world_pmd(&w, 0, 9).overflows, 0);
	finish(&w);
}

/* PMC8, 13 and 14, whichever comes last (Linux's check_case1); in other sets, they may differ. */
TEST(illegal)
{
	static const struct {
		unsigned num;
		uint64_t legal, illegal[2];
	} pmcs[] = {{8, 0xffffffff3fffffff, {0xffffffff3ffffffe, 0}},
		{13, 0x2078fefefefe, {0x78fefefefe, 0}},
		{14, 0xdb60db60db60db6, {0xdb60db60db60db4, 0xdb60db60db60da6}}};

	for (unsigned last = 0; last < 3; last++)
		for (unsigned bit = 0; bit < 2; bit++) {
			struct world w;
			uint64_t value;

			world_open(&w, model());
			WANT(&w, 0, world_set(&w, CMD_EVTSET_NEW, 1));
			for (unsigned i = 0; i < 3; i++)
				if (i != last)
					WANT(&w, 0,
						world_write(&w, false, pmcs[i].num,
							pmcs[i].illegal[i == 2 ? bit : 0]));
			value = pmcs[last].illegal[last == 2 ? bit : 0];
			WANT(&w, -EINVAL, world_write(&w, false, pmcs[last].num, value));
			assert_non_null(
				strstr(w.err.text, "bits 0x1 of pmc8 or 0x1e00000000000 of pmc13"));
			assert_non_null(
				strstr(w.err.text, bit ? " or 0x10 of pmc14" : " or 0x2 of pmc14"));
			WANT(&w, 0, world_write(&w, false, pmcs[last].num, pmcs[last].legal));
			WANT(&w, 0, world_write_in(&w, 1, false, pmcs[last].num, value));
			world_close(&w);
		}
}
