// SPDX-License-Identifier: MIT
/* The hardware model: what each modelled CPU does, register by register. */
#include "perfmonfs/pmu.h"
#include "perfmonfs/sim.h"
#include "tests/unit/hw_truth.h"
#include "tests/unit/unit.h"

#define RUN    (EVTSEL_EN | EVTSEL_USR | EVTSEL_OS)
#define BIT(n) (1ULL << (n))
#define ONES   UINT64_MAX

enum { CYCLES = 3000, INSTRUCTIONS = 2500 }; /* a microsecond */

/* What the tests state of the models, independently of their rows. */
struct facts {
	const char *name;
	unsigned ngp, nfixed, width;
	uint32_t sel, ctr, step; /* The first addresses, and the distance to the next. */
	uint32_t global;         /* Global control; 0: none. */
	uint32_t status, clear;
	uint64_t cycles; /* Event code. */
	bool intel;
	unsigned version;
	bool full; /* Counters have a full-width alias. */
};

static const struct facts stated[] = {
	{"p6", 2, 0, 40, 0x186, 0xc1, 1, 0, 0, 0, 0x79, true, 0},
	{"intel_v1", 2, 0, 40, 0x186, 0xc1, 1, 0, 0, 0, 0x3c, true, 1},
	{"intel_v2", 2, 3, 40, 0x186, 0xc1, 1, 0x38f, 0x38e, 0x390, 0x3c, true, 2},
	{"intel_v3", 4, 3, 48, 0x186, 0xc1, 1, 0x38f, 0x38e, 0x390, 0x3c, true, 3},
	{"intel_v4", 4, 3, 48, 0x186, 0xc1, 1, 0x38f, 0x38e, 0x390, 0x3c, true, 4, true},
	{"intel_v5", 8, 4, 48, 0x186, 0xc1, 1, 0x38f, 0x38e, 0x390, 0x3c, true, 5, true},
	{"amd_legacy", 4, 0, 48, 0xc0010000, 0xc0010004, 1, 0, 0, 0, 0x76, false, 0},
	{"amd_ext", 6, 0, 48, 0xc0010200, 0xc0010201, 2, 0, 0, 0, 0x76, false, 1},
	{"amd_v2", 6, 0, 48, 0xc0010200, 0xc0010201, 2, 0xc0000301, 0xc0000300, 0xc0000302, 0x76,
		false, 2},
};

enum { MAX_MODELS = 64 };
/* Of all models, from their descriptions, except NetBurst: test_netburst.c. */
static struct facts all[MAX_MODELS + 1];
static size_t nall;

static struct facts facts_of(const struct pmu_model *m)
{
	struct facts f = {
		.name = m->sim.name,
		.intel = m->vendor == PMU_INTEL,
		.version = m->features.version,
		.full = m->features.full_width,
	};
	struct pmu pmu;

	if (pmu_build(m, &m->features, &pmu, &why) < 0)
		abort();
	for (unsigned i = 0; i < pmu.npmds; i++)
		if (pmu.pmds[i].scope == PMU_SCOPE_THREAD)
			pmu.pmcs[pmu.pmds[i].pmc].shared ? f.nfixed++ : f.ngp++;
	f.width = pmu.counter_width;
	f.sel = pmu.pmcs[0].addr;
	f.ctr = pmu.pmds[0].addr;
	f.step = pmu.pmcs[1].addr - pmu.pmcs[0].addr;
	f.global = pmu.global_ctrl;
	f.status = pmu.status;
	f.clear = pmu.clear;
	f.cycles = !f.intel ? 0x76 : f.version ? 0x3c : 0x79;
	return f;
}

static int collect(void **state)
{
	const struct pmu_model *m;

	(void)state;
	for (unsigned i = 0; (m = pmu_model_at(i)) && nall < MAX_MODELS; i++)
		if (m->sim.name[0] && m->space == PMU_SPACE_MSR &&
			strncmp(m->sim.name, "netburst", 8) != 0)
			all[nall++] = facts_of(m);
	return 0;
}

/* Descriptions and statements agree, in the order of the models. */
TEST(stated)
{
	for (size_t i = 0, m = 0; i < COUNT(stated); i++, m++) {
		const struct facts *want = &stated[i], *is;

		while (m < nall && strcmp(all[m].name, want->name) != 0)
			m++;
		assert_true(m < nall);
		is = &all[m];
		assert_int_equal(is->ngp, want->ngp);
		assert_int_equal(is->nfixed, want->nfixed);
		assert_int_equal(is->width, want->width);
		assert_int_equal(is->sel, want->sel);
		assert_int_equal(is->ctr, want->ctr);
		assert_int_equal(is->step, want->step);
		assert_int_equal(is->global, want->global);
		assert_int_equal(is->status, want->status);
		assert_int_equal(is->clear, want->clear);
		assert_int_equal(is->cycles, want->cycles);
		assert_int_equal(is->intel, want->intel);
		assert_int_equal(is->version, want->version);
		assert_int_equal(is->full, want->full);
	}
}

static struct hw *make(const char *model)
{
	struct err e = {0};
	struct hw *hw = NULL;

	assert_int_equal(hw_new(model, 4, &hw, &e), 0);
	return hw;
}

static void free_hw(struct hw **hw)
{
	hw_free(*hw);
}
#define CLEANUP_HW __attribute__((cleanup(free_hw)))

/* Begins a test on each modelled CPU. */
#define EACH_CPU(test)                                                                             \
	static void on_##test(struct hw *hw, const struct facts *f);                               \
	TEST(test)                                                                                 \
	{                                                                                          \
		for (const struct facts *f = all; f->name; f++) {                                  \
			CLEANUP_HW struct hw *hw = make(f->name);                                  \
                                                                                                   \
			on_##test(hw, f);                                                          \
		}                                                                                  \
	}                                                                                          \
	static void on_##test(struct hw *hw, const struct facts *f)

static uint64_t rd(struct hw *hw, uint32_t addr)
{
	uint64_t v = 0;

	assert_int_equal(hw_rdmsr(hw, 0, addr, &v), 0);
	return v;
}

static void wr(struct hw *hw, uint32_t addr, uint64_t v)
{
	assert_int_equal(hw_wrmsr(hw, 0, addr, v), 0);
}

static void faults(struct hw *hw, uint32_t addr, uint64_t v)
{
	assert_int_equal(hw_wrmsr(hw, 0, addr, v), -EIO);
}

static void absent(struct hw *hw, uint32_t addr)
{
	uint64_t v;

	assert_int_equal(hw_rdmsr(hw, 0, addr, &v), -EIO);
	assert_int_equal(hw_wrmsr(hw, 0, addr, 0), -EIO);
}

static int knob(struct hw *hw, const char *name, const char *text)
{
	struct err e = {0};
	int rc = hw_knob_store(hw, name, slice_of(text), &e);

	assert_int_equal(-e.no, rc);
	assert_true(!rc == !e.text[0]);
	return rc;
}

static void assert_shows(struct hw *hw, const char *name, const char *expected)
{
	TEXT_CLEANUP struct text t = {0};
	struct err e = {0};

	assert_int_equal(hw_knob_show(hw, name, &t, &e), 0);
	assert_string_equal(t.p, expected);
}

static uint64_t mask_of(const struct facts *f)
{
	return BIT(f->width) - 1;
}

static void enable_all(struct hw *hw, const struct facts *f)
{
	if (f->global)
		wr(hw, f->global, (BIT(f->ngp) - 1) | (BIT(f->nfixed) - 1) << 32);
}

/* A small generator of its own: the same splits in every run. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(new)
{
	struct err e = {0};
	struct hw *hw;

	assert_int_equal(hw_new("pentium", 4, &hw, &e), -ENOENT);
	assert_int_equal(hw_new("p6", 0, &hw, &e), -ERANGE);
	assert_int_equal(hw_new("p6", 4097, &hw, &e), -ERANGE);
	assert_int_equal(hw_new("p6", 4096, &hw, &e), 0);
	assert_int_equal(hw_cpus(hw), 4096);
	assert_true(hw_online(hw, 4095));
	assert_false(hw_online(hw, 4096));
	hw_free(hw);
}

EACH_CPU(every_counter_counts_and_wraps)
{
	enable_all(hw, f);
	for (unsigned i = 0; i < f->ngp; i++) {
		wr(hw, f->ctr + i * f->step, ONES);
		assert_int_equal(rd(hw, f->ctr + i * f->step), mask_of(f));
		wr(hw, f->sel + i * f->step, f->cycles | RUN);
		assert_int_equal(rd(hw, f->sel + i * f->step), f->cycles | RUN);
	}
	hw_advance(hw, 1000);
	for (unsigned i = 0; i < f->ngp; i++)
		assert_int_equal(rd(hw, f->ctr + i * f->step), CYCLES - 1);
	if (f->status)
		assert_int_equal(rd(hw, f->status), BIT(f->ngp) - 1);
	absent(hw, f->ctr + f->ngp * f->step);
}

EACH_CPU(enable_bit_is_needed)
{
	enable_all(hw, f);
	wr(hw, f->sel, (f->cycles | RUN) & ~EVTSEL_EN);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->ctr), 0);
	wr(hw, f->sel, f->cycles | RUN);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->ctr), CYCLES);
	wr(hw, f->sel, 0);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->ctr), CYCLES);
}

EACH_CPU(privilege_levels)
{
	enable_all(hw, f);
	wr(hw, f->sel, 0xc0 | EVTSEL_EN | EVTSEL_USR);
	wr(hw, f->sel + f->step, 0xc0 | EVTSEL_EN | EVTSEL_OS);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->ctr), 2000);
	assert_int_equal(rd(hw, f->ctr + f->step), 500);
	wr(hw, f->sel, 0xc0 | EVTSEL_EN);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->ctr), 2000);
}

/* However time is cut, each counter has counted what the truth says. */
TEST(splitting_time_changes_nothing)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	for (const struct facts *f = all; f->name; f++) {
		CLEANUP_HW struct hw *hw = make(f->name);
		uint64_t select = 0x42c | RUN; /* an event without a row: odd rates */
		uint64_t start;

		hw_advance(hw, next_random(&seed) % 100000);
		start = hw_now(hw);
		enable_all(hw, f);
		wr(hw, f->sel, select);
		assert_int_equal(hw_wrmsr(hw, 1, f->sel, select), 0);
		if (f->global)
			assert_int_equal(hw_wrmsr(hw, 1, f->global, 1), 0);
		for (int step = 0; step < 300; step++) {
			uint64_t truth;

			hw_advance(hw, next_random(&seed) % (step % 7 ? 13 : 54321));
			truth = hw_truth(hw, select, hw_now(hw)) - hw_truth(hw, select, start);
			assert_int_equal(rd(hw, f->ctr), truth);
		}
		/* The other CPU was not looked at meanwhile. */
		uint64_t other;

		assert_int_equal(hw_rdmsr(hw, 1, f->ctr, &other), 0);
		assert_int_equal(other, rd(hw, f->ctr));
		assert_true(other > 0);
	}
}

TEST(truth)
{
	CLEANUP_HW struct hw *intel = make("intel_v4");
	CLEANUP_HW struct hw *amd = make("amd_ext");

	assert_int_equal(hw_truth(intel, 0x3c | RUN, 1000000), 3000000);
	assert_int_equal(hw_truth(intel, 0x3c | EVTSEL_USR, 1), 2);
	assert_int_equal(hw_truth(intel, 0xc0 | RUN, 999), 1998 + 499);
	assert_int_equal(hw_truth(intel, 0x3c, 1000000), 0);
	assert_int_equal(hw_truth(intel, RUN, 1000000), 0);
	assert_int_equal(hw_truth(intel, 0xff00 | RUN, 1000000), 0);
	assert_true(hw_truth(intel, 0x12c | RUN, 1000000) > 0);
	assert_int_not_equal(
		hw_truth(intel, 0x12c | RUN, 1000000), hw_truth(intel, 0x22c | RUN, 1000000));
	assert_int_not_equal(
		hw_truth(intel, 0x12c | RUN, 1000000), hw_truth(intel, 0x12d | RUN, 1000000));
	/* The event has twelve bits on AMD, eight on Intel. */
	assert_true(hw_truth(amd, BIT(32) | RUN, 1000000) > 0);
	assert_int_not_equal(
		hw_truth(amd, BIT(32) | 0x76 | RUN, 1000000), hw_truth(amd, 0x76 | RUN, 1000000));
	assert_int_equal(hw_truth(intel, BIT(32) | 0x3c | RUN, 1000000),
		hw_truth(intel, 0x3c | RUN, 1000000));
}

TEST(time_ends)
{
	CLEANUP_HW struct hw *hw = make("intel_v5");
	uint64_t slots = 0x1a4 | RUN;

	wr(hw, 0x186, slots);
	hw_advance(hw, HW_TIME_MAX - 1);
	assert_int_equal(rd(hw, 0xc1), hw_truth(hw, slots, HW_TIME_MAX - 1) & (BIT(48) - 1));
	assert_int_equal(rd(hw, 0x38e), 1);
	assert_true(hw_truth(hw, slots, HW_TIME_MAX) > hw_truth(hw, slots, HW_TIME_MAX / 2));
	hw_advance(hw, UINT64_MAX);
	assert_int_equal(hw_now(hw), HW_TIME_MAX);
	assert_int_equal(knob(hw, "advance", "1"), -ERANGE);
}

TEST(legacy_writes_extend_the_sign)
{
	static const uint32_t fixed0 = 0x309;

	for (const struct facts *f = all; f->name; f++) {
		if (!f->intel)
			continue;

		CLEANUP_HW struct hw *hw = make(f->name);
		uint32_t regs[] = {0xc1, f->nfixed ? fixed0 : 0xc2};

		for (size_t i = 0; i < COUNT(regs); i++) {
			wr(hw, regs[i], 0x7fffffff);
			assert_int_equal(rd(hw, regs[i]), 0x7fffffff);
			wr(hw, regs[i], 0x80000001);
			assert_int_equal(rd(hw, regs[i]), mask_of(f) & 0xffffffff80000001);
			wr(hw, regs[i], 0x123400000005);
			assert_int_equal(rd(hw, regs[i]), 5);
		}
	}
}

EACH_CPU(full_width_writes)
{
	if (!f->intel)
		return;
	if (!f->full) {
		absent(hw, 0x4c1);
		return;
	}
	assert_int_equal(rd(hw, 0x345) & BIT(13), BIT(13));
	wr(hw, 0x4c1, 0x923456789abc);
	assert_int_equal(rd(hw, 0xc1), 0x923456789abc);
	assert_int_equal(rd(hw, 0x4c1), 0x923456789abc);
	faults(hw, 0x4c1, BIT(48));
	assert_int_equal(rd(hw, 0xc1), 0x923456789abc);
	wr(hw, 0x4c1 + f->ngp - 1, 1);
	absent(hw, 0x4c1 + f->ngp);
}

EACH_CPU(amd_writes_are_full)
{
	if (f->intel)
		return;
	wr(hw, f->ctr, 0xffff923456789abc);
	assert_int_equal(rd(hw, f->ctr), 0x923456789abc);
}

EACH_CPU(intel_selector_reserved_bits_fault)
{
	if (!f->intel)
		return;
	bool any = f->version == 3 || f->version == 4;

	for (unsigned bit = 0; bit < 64; bit++) {
		bool legal = bit < 32 && (bit != 21 || any);

		wr(hw, 0x186, 0);
		assert_int_equal(hw_wrmsr(hw, 0, 0x186, BIT(bit)), legal ? 0 : -EIO);
		assert_int_equal(rd(hw, 0x186), legal ? BIT(bit) : 0);
	}
}

EACH_CPU(amd_selector_reserved_bits_are_dropped)
{
	if (f->intel)
		return;
	uint64_t dropped = ~(BIT(42) - 1) | 0xfULL << 36 | BIT(21);

	if (f->version >= 1)
		dropped |= BIT(19);
	if (!strcmp(f->name, "k7") || !strcmp(f->name, "k8"))
		dropped |= ONES << 32;
	wr(hw, f->sel, ONES);
	assert_int_equal(rd(hw, f->sel), ~dropped);
}

TEST(p6_first_selector_gates_both)
{
	CLEANUP_HW struct hw *hw = make("p6");

	wr(hw, 0x187, 0xc0 | RUN);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, 0xc2), 0);
	wr(hw, 0x186, EVTSEL_EN);
	wr(hw, 0x187, 0xc0 | EVTSEL_USR | EVTSEL_OS);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, 0xc1), 0);
	assert_int_equal(rd(hw, 0xc2), INSTRUCTIONS);
	wr(hw, 0x186, 0x79 | EVTSEL_USR | EVTSEL_OS);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, 0xc1), 0);
	assert_int_equal(rd(hw, 0xc2), INSTRUCTIONS);
}

TEST(intel_v1_enables_separately)
{
	CLEANUP_HW struct hw *hw = make("intel_v1");

	wr(hw, 0x187, 0xc0 | RUN);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, 0xc2), INSTRUCTIONS);
}

TEST(fixed_counters)
{
	static const uint64_t events[] = {0xc0, 0x3c, 0x13c, 0x1a4};

	for (const struct facts *f = all; f->name; f++) {
		CLEANUP_HW struct hw *hw = make(f->name);

		absent(hw, 0x309 + f->nfixed);
		if (!f->nfixed)
			continue;
		enable_all(hw, f);
		wr(hw, 0x38d, 0x321 | (f->nfixed > 3 ? 0x3000 : 0));
		hw_advance(hw, 1234567);
		assert_int_equal(rd(hw, 0x309), hw_truth(hw, 0xc0 | EVTSEL_OS, 1234567));
		assert_int_equal(rd(hw, 0x30a), hw_truth(hw, 0x3c | EVTSEL_USR, 1234567));
		for (unsigned i = 2; i < f->nfixed; i++)
			assert_int_equal(rd(hw, 0x309 + i), hw_truth(hw, events[i] | RUN, 1234567));
		assert_int_equal(rd(hw, 0x38e), 0);
		wr(hw, 0x309, ONES);
		hw_advance(hw, 1000);
		assert_int_equal(rd(hw, 0x38e), BIT(32));
	}
}

EACH_CPU(fixed_control_reserved_bits_fault)
{
	if (!f->intel || f->version < 2)
		return;
	bool any = f->version == 3 || f->version == 4;

	for (unsigned bit = 0; bit < 64; bit++) {
		bool legal = bit < 4 * f->nfixed && (bit % 4 != 2 || any);

		assert_int_equal(hw_wrmsr(hw, 0, 0x38d, BIT(bit)), legal ? 0 : -EIO);
		assert_int_equal(rd(hw, 0x38d) == BIT(bit), legal);
	}
}

EACH_CPU(global_control)
{
	uint64_t bits = (BIT(f->ngp) - 1) | (BIT(f->nfixed) - 1) << 32;

	if (!f->global) {
		absent(hw, 0x38f);
		absent(hw, 0xc0000301);
		return;
	}
	/* Power-up on Intel; on AMD, Linux has been there. */
	assert_int_equal(rd(hw, f->global), f->global == 0x38f ? BIT(f->ngp) - 1 : 0);
	for (unsigned bit = 0; bit < 64; bit++)
		assert_int_equal(hw_wrmsr(hw, 0, f->global, BIT(bit)), bits & BIT(bit) ? 0 : -EIO);
	wr(hw, f->sel, f->cycles | RUN);
	wr(hw, f->sel + f->step, f->cycles | RUN);
	wr(hw, f->global, 2);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->ctr), 0);
	assert_int_equal(rd(hw, f->ctr + f->step), CYCLES);
	if (f->nfixed) {
		wr(hw, 0x38d, 3);
		hw_advance(hw, 1000);
		assert_int_equal(rd(hw, 0x309), 0);
	}
}

EACH_CPU(status)
{
	if (!f->status) {
		absent(hw, 0x38e);
		absent(hw, 0x390);
		absent(hw, 0xc0000300);
		return;
	}
	enable_all(hw, f);
	for (unsigned i = 0; i < 2; i++) {
		wr(hw, f->ctr + i * f->step, ONES);
		wr(hw, f->sel + i * f->step, f->cycles | RUN);
	}
	assert_int_equal(rd(hw, f->status), 0);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, f->status), 3);
	faults(hw, f->status, 0);
	wr(hw, f->clear, 1);
	assert_int_equal(rd(hw, f->status), 2);
	assert_int_equal(rd(hw, f->clear), 0);
	/* Writing the counter does not clear it. */
	wr(hw, f->ctr + f->step, 0);
	assert_int_equal(rd(hw, f->status), 2);
}

/* The last event before the wrap, and the first after it. */
TEST(overflow_at_the_edge)
{
	CLEANUP_HW struct hw *hw = make("intel_v4");

	wr(hw, 0xc1, (uint64_t)-2000);
	wr(hw, 0x186, 0xc0 | EVTSEL_EN | EVTSEL_USR);
	hw_advance(hw, 999);
	assert_int_equal(rd(hw, 0xc1), BIT(48) - 2);
	assert_int_equal(rd(hw, 0x38e), 0);
	hw_advance(hw, 1);
	assert_int_equal(rd(hw, 0xc1), 0);
	assert_int_equal(rd(hw, 0x38e), 1);
}

TEST(status_set_and_reserved)
{
	CLEANUP_HW struct hw *v2 = make("intel_v2");
	CLEANUP_HW struct hw *v4 = make("intel_v4");

	absent(v2, 0x391);
	absent(v2, 0x392);
	faults(v2, 0x390, BIT(58));
	wr(v2, 0x390, BIT(63) | BIT(62) | 7ULL << 32 | 3);
	wr(v4, 0x391, BIT(58) | BIT(32) | 1);
	assert_int_equal(rd(v4, 0x38e), BIT(58) | BIT(32) | 1);
	assert_int_equal(rd(v4, 0x391), 0);
	faults(v4, 0x391, BIT(4));
	faults(v4, 0x390, BIT(35));
	wr(v4, 0x390, BIT(58) | 1);
	assert_int_equal(rd(v4, 0x38e), BIT(32));
}

TEST(inuse)
{
	CLEANUP_HW struct hw *hw = make("intel_v4");

	assert_int_equal(rd(hw, 0x392), 0);
	wr(hw, 0x188, 0xc0);
	wr(hw, 0x38d, 0x030);
	assert_int_equal(rd(hw, 0x392), BIT(2) | BIT(33));
	wr(hw, 0x38d, 0x0b0);
	assert_int_equal(rd(hw, 0x392), BIT(2) | BIT(33) | BIT(63));
	wr(hw, 0x38d, 0);
	wr(hw, 0x188, EVTSEL_INT);
	assert_int_equal(rd(hw, 0x392), BIT(63));
	faults(hw, 0x392, 0);
}

TEST(perf_capabilities)
{
	CLEANUP_HW struct hw *v3 = make("intel_v3");
	CLEANUP_HW struct hw *v1 = make("intel_v1");

	assert_int_equal(rd(v3, 0x345) & BIT(13), 0);
	faults(v3, 0x345, 0);
	absent(v1, 0x345);
}

TEST(amd_aliases)
{
	for (const struct facts *f = all; f->name; f++) {
		if (f->intel || f->version < 1)
			continue;

		CLEANUP_HW struct hw *hw = make(f->name);

		for (uint32_t i = 0; i < 4; i++) {
			wr(hw, 0xc0010000 + i, 0x40 + i);
			assert_int_equal(rd(hw, 0xc0010200 + 2 * i), 0x40 + i);
			wr(hw, 0xc0010201 + 2 * i, 100 + i);
			assert_int_equal(rd(hw, 0xc0010004 + i), 100 + i);
		}
		absent(hw, 0xc0010008);
		absent(hw, 0xc001020c);
	}
	CLEANUP_HW struct hw *legacy = make("amd_legacy");

	absent(legacy, 0xc0010200);
	absent(legacy, 0xc0010008);
}

TEST(foreign_registers_are_absent)
{
	static const uint32_t never[] = {0, 0x600, 0x3f1, 0x1d9, 0xc0000080, 0x1900, UINT32_MAX};

	for (const struct facts *f = all; f->name; f++) {
		CLEANUP_HW struct hw *hw = make(f->name);

		for (size_t i = 0; i < COUNT(never); i++)
			absent(hw, never[i]);
		absent(hw, f->intel ? 0xc0010000 : 0x186);
	}
}

/* Registers that only select hold a value per CPU; their reserved bits fault. */
TEST(extras)
{
	CLEANUP_HW struct hw *hw = make("skylake");
	uint64_t v;

	wr(hw, 0x1a6, 0x3fffff8fff);
	wr(hw, 0x3f7, 0x7fff17);
	assert_int_equal(rd(hw, 0x1a6), 0x3fffff8fff);
	assert_int_equal(rd(hw, 0x3f7), 0x7fff17);
	assert_int_equal(rd(hw, 0x1a7), 0);
	faults(hw, 0x1a6, 0x1000);
	faults(hw, 0x3f7, 0x8);
	/* Of a core, and of a thread. */
	assert_int_equal(hw_rdmsr(hw, 1, 0x1a6, &v), 0);
	assert_int_equal(v, 0x3fffff8fff);
	assert_int_equal(hw_rdmsr(hw, 2, 0x1a6, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(hw_rdmsr(hw, 1, 0x3f7, &v), 0);
	assert_int_equal(v, 0);
	hw_free(hw);
	hw = make("intel_v4");
	absent(hw, 0x1a6);
	absent(hw, 0x3f7);
}

TEST(tsc)
{
	CLEANUP_HW struct hw *hw = make("p6");

	hw_advance(hw, 1001);
	assert_int_equal(rd(hw, 0x10), 2502);
	faults(hw, 0x10, 0);
}

TEST(offline)
{
	CLEANUP_HW struct hw *hw = make("intel_v4");
	uint32_t regs[4];
	uint64_t v;

	wr(hw, 0x186, 0x3c | RUN);
	hw_advance(hw, 1000);
	assert_int_equal(knob(hw, "offline", "0,2-3\n"), 0);
	assert_shows(hw, "offline", "0,2-3\n");
	assert_false(hw_online(hw, 0));
	assert_true(hw_online(hw, 1));
	assert_int_equal(hw_rdmsr(hw, 0, 0x186, &v), -ENXIO);
	assert_int_equal(hw_wrmsr(hw, 3, 0x186, 0), -ENXIO);
	assert_int_equal(hw_cpuid(hw, 0, 0, 0, regs), -ENXIO);
	assert_int_equal(hw_rdmsr(hw, 4, 0x186, &v), -ENXIO);
	hw_advance(hw, 5000);
	assert_int_equal(knob(hw, "offline", "3"), 0);
	hw_advance(hw, 1000);
	assert_int_equal(rd(hw, 0x186), 0x3c | RUN);
	assert_int_equal(rd(hw, 0xc1), 2 * CYCLES);
	assert_int_equal(knob(hw, "offline", ""), 0);
	assert_shows(hw, "offline", "\n");
	assert_true(hw_online(hw, 3));
}

/* Linux disables all counters of an AMD CPU that comes online; Intel's are as they were. */
TEST(online_again)
{
	CLEANUP_HW struct hw *amd = make("amd_v2");
	CLEANUP_HW struct hw *intel = make("intel_v4");

	wr(amd, 0xc0000301, 0x3f);
	wr(intel, 0x38f, 0x700000003);
	assert_int_equal(knob(amd, "offline", "0"), 0);
	assert_int_equal(knob(intel, "offline", "0"), 0);
	assert_int_equal(knob(amd, "offline", "1"), 0);
	assert_int_equal(knob(intel, "offline", "1"), 0);
	assert_int_equal(rd(amd, 0xc0000301), 0);
	assert_int_equal(rd(intel, 0x38f), 0x700000003);
}

TEST(fault)
{
	CLEANUP_HW struct hw *hw = make("intel_v4");

	wr(hw, 0x187, 0x77);
	assert_int_equal(knob(hw, "fault", "0x187,193-0xc2"), 0);
	assert_shows(hw, "fault", "0xc1-0xc2,0x187\n");
	absent(hw, 0x187);
	absent(hw, 0xc1);
	absent(hw, 0xc2);
	wr(hw, 0x186, 0);
	wr(hw, 0xc3, 0);
	assert_int_equal(knob(hw, "poke", "0 0x187 0"), -EIO);
	assert_int_equal(knob(hw, "fault", ""), 0);
	assert_int_equal(rd(hw, 0x187), 0x77);
}

TEST(poke)
{
	CLEANUP_HW struct hw *hw = make("intel_v4");
	uint64_t v;

	assert_int_equal(knob(hw, "poke", " 2\t0x186  0x4300c0 \n"), 0);
	assert_int_equal(hw_rdmsr(hw, 2, 0x186, &v), 0);
	assert_int_equal(v, 0x4300c0);
	assert_int_equal(rd(hw, 0x186), 0);
	assert_int_equal(knob(hw, "poke", "0 0xc1 -5"), 0);
	assert_int_equal(rd(hw, 0xc1), BIT(48) - 5);
	assert_int_equal(knob(hw, "poke", "0 0x38e 0"), -EIO);
	assert_int_equal(knob(hw, "offline", "1"), 0);
	assert_int_equal(knob(hw, "poke", "1 0x186 0"), -ENXIO);
	assert_shows(
		hw, "poke", "write 'CPU ADDR VALUE' to set a register as another program would\n");
}

TEST(advance_knob)
{
	CLEANUP_HW struct hw *hw = make("p6");

	assert_int_equal(knob(hw, "advance", "1500\n"), 0);
	assert_int_equal(knob(hw, "advance", "0x10"), 0);
	assert_int_equal(hw_now(hw), 1516);
	assert_shows(hw, "advance", "1516\n");
}

TEST(knobs_refuse_garbage)
{
	static const struct {
		const char *knob, *text;
		int rc;
	} cases[] = {
		{"advance", "", -EINVAL},
		{"advance", "-1", -EINVAL},
		{"advance", "1 2", -EINVAL},
		{"advance", "010", -EINVAL},
		{"advance", "5\n6\n", -EINVAL},
		{"advance", "18446744073709551616", -ERANGE},
		{"offline", "4", -ERANGE},
		{"offline", "0-4", -ERANGE},
		{"offline", "3-2", -EINVAL},
		{"offline", "0,", -EINVAL},
		{"offline", ",0", -EINVAL},
		{"offline", "0-", -EINVAL},
		{"offline", "-1", -EINVAL},
		{"offline", "0-1-2", -EINVAL},
		{"offline", "0 1", -EINVAL},
		{"offline", "all", -EINVAL},
		{"fault", "0x100000000", -ERANGE},
		{"fault", "0x", -EINVAL},
		{"fault", "0xc1-", -EINVAL},
		{"poke", "", -EINVAL},
		{"poke", "0 0x186", -EINVAL},
		{"poke", "0 0x186 1 2", -EINVAL},
		{"poke", "4 0x186 1", -ERANGE},
		{"poke", "0 0x100000000 1", -ERANGE},
		{"poke", "0 0x186 0x10000000000000000", -ERANGE},
		{"poke", "0 x 1", -EINVAL},
		{"msr", "1", -ENOENT},
	};
	CLEANUP_HW struct hw *hw = make("intel_v4");
	struct text t = {0};
	struct err e = {0};

	assert_int_equal(knob(hw, "offline", "1"), 0);
	assert_int_equal(knob(hw, "fault", "0x10"), 0);
	for (size_t i = 0; i < COUNT(cases); i++) {
		if (knob(hw, cases[i].knob, cases[i].text) != cases[i].rc)
			fail_msg("%s '%s'", cases[i].knob, cases[i].text);
	}
	assert_shows(hw, "advance", "0\n");
	assert_shows(hw, "offline", "1\n");
	assert_shows(hw, "fault", "0x10\n");
	assert_int_equal(rd(hw, 0x186), 0);
	assert_int_equal(hw_knob_show(hw, "msr", &t, &e), -ENOENT);
}

TEST(lists_are_normalized)
{
	TEXT_CLEANUP struct text t = {0};
	CLEANUP_HW struct hw *hw = make("intel_v4");

	assert_int_equal(knob(hw, "offline", "3,0-1,1,2"), 0);
	assert_shows(hw, "offline", "0-3\n");
	assert_int_equal(knob(hw, "fault", "0xfffffff0-0xffffffff,0xffffffff,1"), 0);
	assert_shows(hw, "fault", "0x1,0xfffffff0-0xffffffff\n");
	for (unsigned i = 0; i < 64; i++)
		text_printf(&t, "%s%u", i ? "," : "", 1000 + 2 * i);
	assert_int_equal(knob(hw, "fault", t.p), 0);
	text_printf(&t, ",5");
	assert_int_equal(knob(hw, "fault", t.p), -ERANGE);
}

TEST(knob_names)
{
	static const char *const names[] = {"advance", "offline", "fault", "poke"};
	size_t n = 0;

	for (; hw_knobs[n]; n++)
		assert_string_equal(hw_knobs[n], names[n]);
	assert_int_equal(n, COUNT(names));
}

TEST(log)
{
	TEXT_CLEANUP struct text t = {0};
	CLEANUP_HW struct hw *hw = make("intel_v4");
	uint64_t v;

	hw_log(hw, &t);
	wr(hw, 0x186, 0x4300c0);
	rd(hw, 0x186);
	faults(hw, 0x186, BIT(40));
	assert_int_equal(knob(hw, "poke", "0 0xc1 7"), 0);
	assert_int_equal(hw_rdmsr(hw, 2, 0x600, &v), -EIO);
	assert_int_equal(hw_rdmsr(hw, 9, 0x186, &v), -ENXIO);
	hw_log(hw, NULL);
	rd(hw, 0x186);
	assert_string_equal(t.p, "cpu0 wrmsr 0x186 0x00000000004300c0\n"
				 "cpu0 rdmsr 0x186 0x00000000004300c0\n"
				 "cpu0 wrmsr 0x186 0x0000010000000000 #GP\n"
				 "cpu2 rdmsr 0x600 #GP\n"
				 "cpu9 rdmsr 0x186 offline\n");
}

static void assert_leaf(
	struct hw *hw, uint32_t leaf, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t out[4];

	assert_int_equal(hw_cpuid(hw, 1, leaf, 0, out), 0);
	assert_int_equal(out[0], a);
	assert_int_equal(out[1], b);
	assert_int_equal(out[2], c);
	assert_int_equal(out[3], d);
}

TEST(cpuid_intel)
{
	static const struct {
		const char *name;
		uint32_t max_leaf, signature, pdcm, eax, ecx, edx; /* of leaf 0xA */
	} cases[] = {
		{"intel_v1", 0xa, 0x6f0, 0, 0x07280201, 0, 0},
		{"intel_v2", 0xa, 0x106c2, BIT(15), 0x07280202, 0, 3 | 40 << 5},
		{"intel_v3", 0xb, 0x30678, BIT(15), 0x07300403, 0, 3 | 48 << 5},
		{"intel_v4", 0x16, 0x506c9, BIT(15), 0x07300404, 0, 3 | 48 << 5},
		{"intel_v5", 0x1b, 0x90661, BIT(15), 0x08300805, 0xf, 3 | 48 << 5 | BIT(15)},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP_HW struct hw *hw = make(cases[i].name);

		assert_leaf(hw, 0, cases[i].max_leaf, 0x756e6547, 0x6c65746e, 0x49656e69);
		assert_leaf(hw, 1, cases[i].signature, 1 << 24, cases[i].pdcm, 0x30);
		assert_leaf(hw, 0xa, cases[i].eax, 0, cases[i].ecx, cases[i].edx);
		assert_leaf(hw, 0x80000000, 0x80000008, 0, 0, 0);
	}
	/* A leaf that does not exist repeats the highest basic one. */
	CLEANUP_HW struct hw *v2 = make("intel_v2");

	assert_leaf(v2, 0xb, 0x07280202, 0, 0, 3 | 40 << 5);
	assert_leaf(v2, 0x80000022, 0x07280202, 0, 0, 3 | 40 << 5);
}

TEST(cpuid_p6)
{
	CLEANUP_HW struct hw *hw = make("p6");

	assert_leaf(hw, 0, 3, 0x756e6547, 0x6c65746e, 0x49656e69);
	assert_leaf(hw, 1, 0x683, 1 << 24, 0, 0x30);
	assert_leaf(hw, 0xa, 0, 0, 0, 0);
	assert_leaf(hw, 0x80000000, 0, 0, 0, 0);
}

TEST(cpuid_amd)
{
	static const struct {
		const char *name;
		uint32_t max_leaf, max_ext, signature, core, v2, ncore, umcs;
	} cases[] = {
		{"amd_legacy", 5, 0x8000001a, 0x700f01, 0, 0, 0, 0},
		{"amd_ext", 0xd, 0x8000001e, 0x600f12, BIT(23), 0, 0, 0},
		{"amd_v2", 0x10, 0x80000028, 0xc00f10, BIT(23), 1, 6, 0},
		{"zen4", 0x10, 0x80000028, 0xa10f11, BIT(23) | BIT(24) | BIT(28), 1,
			6 | 16 << 10 | 16 << 16, 0xf},
		{"zen5", 0x10, 0x80000028, 0xb00f21, BIT(23) | BIT(24) | BIT(28), 1,
			6 | 16 << 10 | 48 << 16, 0xfff},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		CLEANUP_HW struct hw *hw = make(cases[i].name);

		assert_leaf(hw, 0, cases[i].max_leaf, 0x68747541, 0x444d4163, 0x69746e65);
		assert_leaf(hw, 1, cases[i].signature, 1 << 24, 0, 0x30);
		assert_leaf(hw, 0xa, 0, 0, 0, 0);
		assert_leaf(hw, 0x80000000, cases[i].max_ext, 0x68747541, 0x444d4163, 0x69746e65);
		assert_leaf(hw, 0x80000001, cases[i].signature, 0, cases[i].core, 0);
		assert_leaf(hw, 0x80000022, cases[i].v2, cases[i].ncore, cases[i].umcs, 0);
		assert_leaf(hw, 0x80000029, 0, 0, 0, 0);
	}
}

int main(void)
{
	return unit_run(collect, NULL);
}
