// SPDX-License-Identifier: MIT
/*
 * NetBurst: a counter is enabled by its CCCR, which chooses the ESCR with the event; all of them
 * are shared by the two threads of a core. CPUs 0 and 1 of the model are a core, and CPU 1, that of
 * the world, is its second thread.
 */
#include "backend/msr/topology.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

#define FROM               1000ULL
#define ENABLE             (1ULL << 12)
#define OVF                (1ULL << 31)
#define BOTH               0xcULL /* OS and USR of the own thread. */
#define USER               0x4ULL
#define EVENT(event, mask) ((uint64_t)(event) << 25 | (uint64_t)(mask) << 9)
#define CYCLES             EVENT(0x13, 1) /* global_power_events, running; of FSB_ESCRs. */
#define INSTRUCTIONS       EVENT(2, 1)    /* instr_retired, nbogusntag; of CRU_ESCR0 and 1. */
#define CCCR(choice)       (0x30000ULL | ENABLE | (uint64_t)(choice) << 13)

enum {
	NS = 1000003,
	FSB_ESCR0 = 0x3a2,
	CRU_ESCR0 = 0x3b8,
	BPU_CCCR0 = 0x360,
	BPU_CTR0 = 0x300,
	/* Their PMCs. */
	PMC_FSB0 = 6,
	PMC_FSB1 = 38,
	PMC_CRU0 = 20,
	PMC_BPU_CCCR0 = 23,
	PMC_BPU_CCCR1 = 24,
	PMC_IQ_CCCR0 = 29,
	PMC_BPU_CCCR2 = 54,
	PMD_BPU_CTR0 = 0,
	PMD_BPU_CTR1 = 1,
	PMD_IQ_CTR0 = 6,
	PMD_BPU_CTR2 = 9,
	CHOOSE_FSB = 6,
	CHOOSE_CRU0 = 4,
};

static const struct world_model netburst = {.name = "netburst"};
static const struct world_model netburst_p = {.name = "netburst_p"};

static uint64_t truth(struct world *w, uint64_t escr, uint64_t from)
{
	uint64_t select = hw_netburst_select(escr, 0);

	return hw_truth(w->hw, select, hw_now(w->hw)) - hw_truth(w->hw, select, from);
}

static void want_sentence(const struct world *w, const char *has)
{
	if (!strstr(w->err.text, has))
		fail_msg("'%s' does not say '%s'", w->err.text, has);
}

/* The event counter's PMC, its own, and the value to start from. */
static void program_one(struct world *w, unsigned escr, uint64_t event, unsigned cccr,
	unsigned choice, unsigned pmd)
{
	WANT(w, 0, world_write(w, false, escr, event));
	WANT(w, 0, world_write(w, false, cccr, CCCR(choice)));
	WANT(w, 0, world_write(w, true, pmd, FROM));
}

/* Cycles at both levels, and instructions at user level. */
static void program_two(struct world *w)
{
	program_one(w, PMC_FSB0, CYCLES | BOTH, PMC_BPU_CCCR0, CHOOSE_FSB, PMD_BPU_CTR0);
	program_one(w, PMC_CRU0, INSTRUCTIONS | USER, PMC_IQ_CCCR0, CHOOSE_CRU0, PMD_IQ_CTR0);
}

static uint64_t start(struct world *w)
{
	WANT_RUN(w);
	return hw_now(w->hw);
}

static void unload(struct world *w, const char *what)
{
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_restored(w, 0, what);
}

/* perfmon2's numbers, by the addresses of the manual. */
TEST(numbers)
{
	static const uint16_t escrs[23][2] = {{0x3b2, 0x3b3}, {0x3b4, 0x3b5}, {0x3aa, 0x3ab},
		{0x3b6, 0x3b7}, {0x3ac, 0x3ad}, {0x3c8, 0x3c9}, {0x3a2, 0x3a3}, {0x3a0, 0x3a1},
		{0x3c0, 0x3c1}, {0x3c4, 0x3c5}, {0x3c2, 0x3c3}, {0x3a6, 0x3a7}, {0x3a4, 0x3a5},
		{0x3ae, 0x3af}, {0x3b0, 0x3b1}, {0x3a8, 0x3a9}, {0x3ba, 0x3bb}, {0x3ca, 0x3cb},
		{0x3bc, 0x3bd}, {0x3be, 0}, {0x3b8, 0x3b9}, {0x3cc, 0x3cd}, {0x3e0, 0x3e1}};
	/* PMD i is counter counters[i], whose CCCR is PMC cccrs[i]. */
	static const uint8_t counters[18] = {
		0, 1, 4, 5, 8, 9, 12, 13, 16, 2, 3, 6, 7, 10, 11, 14, 15, 17};
	struct world w;

	for (unsigned prescott = 0; prescott < 2; prescott++) {
		const struct pmu *pmu;
		unsigned second = 32;

		world_open(&w, prescott ? &netburst_p : &netburst);
		pmu = w.pmu;
		assert_int_equal(pmu->npmcs, prescott ? 61 : 63);
		assert_int_equal(pmu->npmds, 18);
		assert_int_equal(pmu->counter_width, 40);
		for (unsigned i = 0; i < 23; i++) {
			int row = pmu_find_pmc(pmu, i);

			if (prescott && escrs[i][0] == 0x3ba) {
				assert_int_equal(row, -1);
				assert_int_equal(pmu_find_pmc(pmu, second++), -1);
				continue;
			}
			assert_int_equal(pmu->pmcs[row].addr, escrs[i][0]);
			if (escrs[i][1])
				assert_int_equal(
					pmu->pmcs[pmu_find_pmc(pmu, second++)].addr, escrs[i][1]);
		}
		for (unsigned d = 0; d < 18; d++) {
			const struct pmu_pmd *pmd = &pmu->pmds[pmu_find_pmd(pmu, d)];
			const struct pmu_pmc *cccr = &pmu->pmcs[pmd->pmc];

			assert_int_equal(pmd->addr, 0x300 + counters[d]);
			assert_int_equal(pmd->rdpmc, counters[d]);
			assert_int_equal(cccr->addr, 0x360 + counters[d]);
			assert_int_equal(cccr->num, d < 9 ? 23 + d : 45 + d);
		}
		world_close(&w);
	}
}

/* Which ESCR a value chooses (SDM volume 3, the table of counters, CCCRs and ESCRs). */
IN_WORLD(choices, &netburst)
{
	static const char *const units[4][8] = {
		{"BPU_ESCR0", "IS_ESCR0", "MOB_ESCR0", "ITLB_ESCR0", "PMH_ESCR0", "IX_ESCR0",
			"FSB_ESCR0", "BSU_ESCR0"},
		{"MS_ESCR0", "TC_ESCR0", "TBPU_ESCR0"},
		{"FLAME_ESCR0", "FIRM_ESCR0", "SAAT_ESCR0", "U2L_ESCR0", NULL, "DAC_ESCR0"},
		{"IQ_ESCR0", "ALF_ESCR0", "RAT_ESCR0", "SSU_ESCR0", "CRU_ESCR0", "CRU_ESCR2",
			"CRU_ESCR4"},
	};

	for (unsigned n = 0; n < 18; n++) {
		unsigned group = n < 12 ? n / 4 : 3;
		bool second = n < 16 ? n % 4 >= 2 : n == 17;

		for (unsigned p = 0; p < w->pmu->npmcs; p++)
			for (unsigned c = 0; w->pmu->pmcs[p].addr == 0x360 + n && c < 8; c++) {
				const char *unit = units[group][c];
				int row = pmu_escr_of(w->pmu, p, CCCR(c)), first;

				if (second && unit && strcmp(unit, "SSU_ESCR0") == 0)
					unit = NULL;
				if (!unit) {
					assert_int_equal(row, -1);
					continue;
				}
				for (first = 0; strcmp(w->pmu->pmcs[first].name, unit) != 0;
					first++)
					;
				assert_int_equal(
					w->pmu->pmcs[row].addr, w->pmu->pmcs[first].addr + second);
			}
	}
}

/* The bits of a thread are those of the thread that a CPU is. */
IN_WORLD(threads_of_a_core, &netburst)
{
	struct command load = {.verb = CMD_LOAD, .load.cpu = 0};
	struct executor exec;
	struct context other;
	uint64_t t, value;

	exec = (struct executor){.be = w->be, .stats = &w->stats};
	WANT(w, 0, w->ops.cpu_open(w->be, 0, &exec.cpu, &w->err));
	WANT(w, 0, ctx_init(&other, w->pmu));
	program_two(w);
	t = start(w);
	assert_int_equal(world_rdmsr(w, FSB_ESCR0), CYCLES | BOTH >> 2);
	WANT(w, 0, world_read(w, false, PMC_FSB0, &value));
	assert_int_equal(value, CYCLES | BOTH);

	/* The sibling has the other half, but not the same registers. */
	w->other = &other;
	w->other_exec = &exec;
	program_one(w, PMC_FSB0, CYCLES | USER, PMC_BPU_CCCR1, CHOOSE_FSB, PMD_BPU_CTR1);
	WANT(w, -EBUSY, world_command(w, &load));
	want_sentence(w, "FSB_ESCR0");
	want_sentence(w, "CPU 1 ");
	WANT(w, 0, world_write(w, false, PMC_BPU_CCCR1, 0x30000));
	WANT(w, 0, world_write(w, false, PMC_FSB0, 0));
	program_one(w, PMC_FSB1, CYCLES | USER, PMC_BPU_CCCR2, CHOOSE_FSB, PMD_BPU_CTR2);
	WANT(w, 0, world_command(w, &load));
	WANT(w, 0, world_do(w, CMD_START));
	assert_int_equal(world_rdmsr(w, FSB_ESCR0 + 1), CYCLES | USER);
	value = hw_now(w->hw);
	hw_advance(w->hw, NS);
	WANT_PMD(w, PMD_BPU_CTR2, FROM + truth(w, CYCLES | USER, value));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	w->other = NULL;
	w->other_exec = NULL;
	WANT_PMD(w, PMD_BPU_CTR0, FROM + truth(w, CYCLES | BOTH, t));
	unload(w, "both threads");

	/* An ESCR with the bits of both counts both: this is not what the contexts did. */
	world_poke(w, FSB_ESCR0, CYCLES | BOTH | BOTH >> 2);
	world_poke(w, BPU_CTR0, 0);
	world_poke(w, BPU_CCCR0, CCCR(CHOOSE_FSB));
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	assert_int_equal(world_rdmsr(w, BPU_CTR0), 2 * truth(w, CYCLES | BOTH, t));
	ctx_free(&other);
	w->ops.cpu_close(exec.cpu);
	world_remember(w); /* the other program goes on */
}

/* The CPU sets OVF: it is no theft, it goes with the next write, and what it was comes back. */
TEST(overflow_bit)
{
	const uint64_t end = 1ULL << 40;
	struct world w;

	for (unsigned was = 0; was < 2; was++) {
		uint64_t t, sum;

		world_open(&w, &netburst);
		world_poke(&w, BPU_CCCR0, (was ? OVF : 0) | 0x22000);
		world_remember(&w);
		program_two(&w);
		WANT(&w, 0, world_write(&w, true, PMD_BPU_CTR0, end - 10));
		t = start(&w);
		assert_int_equal(world_rdmsr(&w, BPU_CCCR0) & OVF, 0);
		hw_advance(w.hw, NS);
		assert_int_equal(world_rdmsr(&w, BPU_CCCR0) & OVF, OVF);
		sum = end - 10 + truth(&w, CYCLES | BOTH, t);
		WANT_PMD(&w, PMD_BPU_CTR0, sum);
		WANT(&w, 0, world_do(&w, CMD_POLL));
		WANT(&w, 0, world_write(&w, true, PMD_BPU_CTR0, sum));
		WANT_PMD(&w, PMD_BPU_CTR0, sum);
		WANT(&w, 0, world_write(&w, false, PMC_FSB0, CYCLES | USER));
		t = hw_now(w.hw);
		hw_advance(w.hw, NS);
		WANT_PMD(&w, PMD_BPU_CTR0, sum + truth(&w, CYCLES | USER, t));
		WANT(&w, 0, world_do(&w, CMD_STOP));
		assert_int_equal(world_rdmsr(&w, BPU_CCCR0), CCCR(CHOOSE_FSB) & ~ENABLE);
		assert_int_equal(w.ctx.count.stolen, 0);
		WANT(&w, 0, world_do(&w, CMD_START));
		unload(&w, "after a wrap");
		world_close(&w);
	}
}

/* Which register it is that another program writes, and with what. */
static void stolen(uint32_t addr, uint64_t value, bool reads)
{
	struct world w;
	uint64_t t, lost;

	world_open(&w, &netburst);
	program_two(&w);
	program_one(&w, PMC_FSB0, CYCLES | BOTH, PMC_BPU_CCCR1, CHOOSE_FSB, PMD_BPU_CTR1);
	t = start(&w);
	hw_advance(w.hw, NS);
	world_poke(&w, addr, value);
	hw_advance(w.hw, NS);
	if (reads) {
		WANT(&w, -EIO, world_read(&w, true, PMD_BPU_CTR0, &lost));
		WANT_PMD(&w, PMD_IQ_CTR0, FROM + truth(&w, INSTRUCTIONS | USER, t));
	}
	WANT(&w, 0, world_do(&w, CMD_STOP));
	WANT(&w, -EIO, world_read(&w, true, PMD_BPU_CTR0, &lost));
	WANT_PMD(&w, PMD_IQ_CTR0, FROM + truth(&w, INSTRUCTIONS | USER, t));
	if (addr == FSB_ESCR0)
		WANT(&w, -EIO, world_read(&w, true, PMD_BPU_CTR1, &lost));
	else
		WANT_PMD(&w, PMD_BPU_CTR1, FROM + truth(&w, CYCLES | BOTH, t));
	WANT(&w, 0, world_do(&w, CMD_UNLOAD));
	assert_int_equal(world_rdmsr(&w, addr), value);
	for (unsigned i = 0; i < w.nregs; i++)
		if (w.regs[i] == addr || (addr == BPU_CCCR0 && w.regs[i] == BPU_CTR0))
			world_poke(&w, w.regs[i], w.before[WORLD_CPU][i]);
	world_restored(&w, 0, "stolen");

	/* The thief is gone. */
	program_two(&w);
	WANT(&w, 0, world_write(&w, true, PMD_BPU_CTR1, FROM));
	t = start(&w);
	hw_advance(w.hw, NS);
	WANT_PMD(&w, PMD_BPU_CTR0, FROM + truth(&w, CYCLES | BOTH, t));
	WANT_PMD(&w, PMD_BPU_CTR1, FROM + truth(&w, CYCLES | BOTH, t));
	unload(&w, "again");
	world_close(&w);
}

TEST(stolen)
{
	for (int reads = 0; reads < 2; reads++) {
		stolen(FSB_ESCR0, EVENT(0x17, 3) | 3, reads);
		/* Only the bits of the sibling. */
		stolen(FSB_ESCR0, CYCLES | BOTH | BOTH >> 2, reads);
		stolen(BPU_CCCR0, CCCR(0) | 3 << 26, reads);
		stolen(BPU_CCCR0, 0x30000, reads);
	}
}

/* An ESCR shows by the CCCR that has chosen it whether it is in use. */
IN_WORLD(in_use, &netburst)
{
	world_poke(w, BPU_CCCR0 + 1, CCCR(CHOOSE_FSB) | 1ULL << 27);
	world_remember(w);
	program_two(w);
	WANT(w, -EBUSY, world_do(w, CMD_LOAD));
	want_sentence(w, "pmc24");
	world_poke(w, BPU_CCCR0 + 1, CCCR(CHOOSE_FSB) & ~ENABLE);
	world_remember(w);
	WANT(w, 0, world_do(w, CMD_LOAD));
	unload(w, "with a stopped neighbour");
	world_poke(w, BPU_CCCR0 + 1, CCCR(0)); /* Has chosen another ESCR. */
	world_remember(w);
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_poke(w, BPU_CCCR0 + 1, 0);
	world_poke(w, BPU_CCCR0, CCCR(0));
	world_remember(w);
	WANT(w, -EBUSY, world_do(w, CMD_LOAD));
	want_sentence(w, "pmc23");
	world_restored(w, 0, "refused");
}

/* What another program has selected in an ESCR is not counted with one's own CCCR. */
IN_WORLD(no_event, &netburst)
{
	uint64_t value;

	w->rights.kernel = false;
	world_poke(w, FSB_ESCR0, CYCLES | BOTH | BOTH >> 2);
	world_remember(w);
	WANT(w, 0, world_write(w, false, PMC_BPU_CCCR0, CCCR(CHOOSE_FSB)));
	start(w);
	assert_int_equal(world_rdmsr(w, FSB_ESCR0), 0);
	hw_advance(w->hw, NS);
	WANT(w, 0, world_read(w, true, PMD_BPU_CTR0, &value));
	assert_int_equal(value, 0);
	/* Cycles of the kernel need the right. */
	WANT(w, -EACCES, world_write(w, false, PMC_FSB0, CYCLES | BOTH));
	WANT(w, 0, world_write(w, false, PMC_FSB0, CYCLES | USER));
	unload(w, "an ESCR without an event");
}

/* What may be written, and what never is. */
TEST(bits)
{
	struct world w;
	uint64_t value;

	world_open(&w, &netburst);
	for (unsigned p = 0; p < w.pmu->npmcs; p++) {
		bool cccr = w.pmu->pmcs[p].escr_select;
		uint64_t all = cccr ? 0x1fff000 : 0x7ffffffc, ones = all;

		if (cccr) /* The last choice that there is. */
			while (pmu_escr_of(w.pmu, p, ones) < 0)
				ones -= 1ULL << 13;
		assert_int_equal(pmu_writable(w.pmu, w.pmu->pmcs[p].addr), all);
		WANT(&w, 0, world_write(&w, false, w.pmu->pmcs[p].num, ~0ULL ^ all ^ ones));
		WANT(&w, 0, world_read(&w, false, w.pmu->pmcs[p].num, &value));
		assert_int_equal(value, ones);
	}
	start(&w);
	for (unsigned p = 0; p < w.pmu->npmcs; p++) {
		bool cccr = w.pmu->pmcs[p].escr_select;
		uint64_t never =
			cccr ? ~0x1fff000ULL : ~0x7ffffff3ULL; /* The world is the second. */

		assert_int_equal(world_rdmsr(&w, w.pmu->pmcs[p].addr) & never, 0);
	}
	unload(&w, "all bits");
	WANT(&w, -EINVAL, world_write(&w, false, 27, CCCR(4)));
	want_sentence(&w, "ESCR that the CPU lacks");
	WANT(&w, -EINVAL, world_write(&w, false, PMC_IQ_CCCR0, CCCR(7)));
	WANT(&w, 0, world_write(&w, false, PMC_IQ_CCCR0, CCCR(0)));
	world_close(&w);
	world_open(&w, &netburst_p);
	WANT(&w, -EINVAL, world_write(&w, false, PMC_IQ_CCCR0, CCCR(0)));
	world_close(&w);
}

/* Set 0 and another one that switch in turn, by time. */
static void program_sets(struct world *w, struct cmd_reg regs[2])
{
	struct command set = {.verb = CMD_EVTSET_NEW,
		.evtset = {.id = 1,
			.change = EVTSET_FLAGS | EVTSET_TIMEOUT,
			.flags = SET_TIME_SWITCH,
			.timeout_ns = NS}};
	struct command first = {.verb = CMD_EVTSET_WRITE, .evtset = set.evtset};
	struct command write = {.verb = CMD_WRITE, .vector.regs = regs, .vector.nregs = 2};

	first.evtset.id = 0;
	program_two(w);
	WANT(w, 0, world_command(w, &first));
	WANT(w, 0, world_command(w, &set));
	WANT(w, 0, world_command(w, &write));
}

/* An ESCR that is taken over while one set counts is missing in the other one, too. */
IN_WORLD(sets_stolen, &netburst)
{
	struct cmd_reg regs[] = {{.num = PMC_FSB0, .set = 1, .value = CYCLES | USER},
		{.num = PMC_BPU_CCCR1, .set = 1, .value = CCCR(CHOOSE_FSB)}};
	struct cmd_reg reg = {.pmd = true, .num = PMD_BPU_CTR1, .set = 1};
	struct command read = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};

	program_sets(w, regs);
	start(w);
	world_poke(w, FSB_ESCR0, EVENT(0x17, 3) | 3);
	for (unsigned i = 0; i < 3; i++) {
		hw_advance(w->hw, NS);
		WANT(w, 0, world_do(w, CMD_POLL));
	}
	WANT(w, -EIO, world_command(w, &read));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	assert_int_equal(world_rdmsr(w, FSB_ESCR0), EVENT(0x17, 3) | 3);
	world_remember(w); /* the other program goes on */
}
