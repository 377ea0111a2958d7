// SPDX-License-Identifier: MIT
/*
 * CPUs with different PMUs. Descriptions are compared with a slow model that looks registers up by
 * number, on random layouts; contexts are loaded on both types of the simulated hybrid processor.
 */
#include "backend/pmu/detect.h"
#include "base/cleanup.h"
#include "tests/unit/ctxsw_world.h"
#include "tests/unit/unit.h"

enum { LAYOUTS = 20000, REGS_MAX = 12, ATOM_CPU = WORLD_CPU + 1 };

static uint64_t seed;

static bool one_in(unsigned n)
{
	return below(&seed, n) == 0;
}

static const char *const free_names[] = {"tsc", "mperf", "aperf", "pperf", "irperf"};
enum { FREES = COUNT(free_names) };

/* Registers that count by themselves, each a PMD, too; one may be another register. */
static void make_frees(struct pmu *pmu)
{
	for (unsigned i = 0; i < FREES; i++) {
		struct pmu_free *f = &pmu->frees[pmu->nfrees];

		if (one_in(3))
			continue;
		*f = (struct pmu_free){.addr = 0x10 + i + (one_in(8) ? 0x100 : 0), .width = 64};
		strcpy(f->name, free_names[i]);
		pmu->nfrees++;
	}
	pmu_free_add_virtuals(pmu);
}

/* Selectors and counters, each pair at the same number, and a shared selector of some more. */
static void make_layout(struct pmu *pmu, uint32_t base)
{
	*pmu = (struct pmu){.name = "x",
		.max_rate = 1,
		.global_ctrl = one_in(8) ? 0x300 : 0x38f,
		.status = 0x38e,
		.clear = 0x390,
		.core = one_in(2) ? 0x40000001 : 0x20000001};
	for (uint16_t num = 0; num < REGS_MAX; num++) {
		uint16_t row = pmu->npmcs;

		if (one_in(3) && (row || num + 1 < REGS_MAX))
			continue;
		pmu->pmcs[row] = (struct pmu_pmc){.num = num,
			.addr = (one_in(8) ? 0x500 : base) + num,
			.rsvd = ~0ULL << (20 + below(&seed, 4)),
			.enable = 1 << 10,
			.kernel = 2,
			.user = one_in(2) ? 4 : 0,
			.gate = row && one_in(8) ? 0 : row};
		pmu->npmcs++;
		if (one_in(8))
			continue;
		pmu->pmds[pmu->npmds++] = (struct pmu_pmd){.num = num,
			.pmc = one_in(8) ? 0 : row,
			.field = ~0ULL,
			.addr = 0xc1 + num,
			.waddr = (one_in(4) ? 0x4c1 : 0xc1) + num,
			.wmask = one_in(2) ? 0x7fffffff : 0xffffffffff,
			.width = one_in(2) ? 40 : 48,
			.global = (int8_t)num,
			.rdpmc = num,
			.umc = (uint8_t)below(&seed, 3)};
	}
	pmu->counter_width = 64;
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].width < pmu->counter_width)
			pmu->counter_width = pmu->pmds[d].width;
	make_frees(pmu);
}

static const struct pmu_pmc *pmc_of(const struct pmu *pmu, unsigned num)
{
	int row = pmu_find_pmc(pmu, num);

	return row < 0 || pmu->by_type.lacks_pmcs >> row & 1 ? NULL : &pmu->pmcs[row];
}

static const struct pmu_pmd *pmd_of(const struct pmu *pmu, unsigned num)
{
	int row = pmu_find_pmd(pmu, num);

	return row < 0 || pmu->by_type.lacks_pmds >> row & 1 ? NULL : &pmu->pmds[row];
}

/* The same meaning, by numbers instead of rows. */
static bool same_pmc(const struct pmu *a, const struct pmu *b, unsigned num)
{
	const struct pmu_pmc *x = pmc_of(a, num), *y = pmc_of(b, num);

	if (!x || !y || x->addr != y->addr || a->global_ctrl != b->global_ctrl)
		return false;
	if (a->pmcs[x->gate].num != b->pmcs[y->gate].num)
		return false;
	return a->pmcs[x->gate].num == num || same_pmc(a, b, a->pmcs[x->gate].num);
}

static bool same_pmd(const struct pmu *a, const struct pmu *b, unsigned num)
{
	const struct pmu_pmd *x = pmd_of(a, num), *y = pmd_of(b, num);

	return x && y && a->pmcs[x->pmc].num == b->pmcs[y->pmc].num &&
	       same_pmc(a, b, a->pmcs[x->pmc].num);
}

static void check_rows(const struct pmu_types *t, unsigned set)
{
	const struct pmu *pmu = &t->of[set], *all = &t->of[0];

	assert_int_equal(pmu->by_type.types, set);
	assert_int_equal(pmu->npmcs, all->npmcs);
	assert_int_equal(pmu->npmds, all->npmds);
	for (unsigned p = 0; p < all->npmcs; p++) {
		assert_int_equal(pmu->pmcs[p].num, all->pmcs[p].num);
		assert_true(p == 0 || all->pmcs[p - 1].num < all->pmcs[p].num);
		/* What does not exist cannot be enabled, nor enable another. */
		if (pmu->by_type.lacks_pmcs >> p & 1) {
			assert_int_equal(pmu->pmcs[p].addr, 0);
			assert_int_equal(pmu->pmcs[p].rsvd, UINT64_MAX);
			assert_int_equal(pmu->pmcs[p].gate, p);
		}
	}
	for (unsigned d = 0; d < all->npmds; d++)
		if (pmu->by_type.lacks_pmds >> d & 1) {
			assert_int_equal(pmu->pmds[d].addr, 0);
			assert_int_equal(pmu->pmds[d].field, 0);
			assert_int_equal(pmu->pmds[d].global, -1);
		}
}

/* A type has what its raw description has, no more and no less. */
static void check_type(const struct pmu *raw, const struct pmu *type)
{
	for (unsigned num = 0; num < REGS_MAX; num++) {
		const struct pmu_pmc *was = pmc_of(raw, num), *is = pmc_of(type, num);
		const struct pmu_pmd *from = pmd_of(raw, num), *to = pmd_of(type, num);

		assert_int_equal(!was, !is);
		assert_int_equal(!from, !to);
		if (was) {
			assert_int_equal(is->addr, was->addr);
			assert_int_equal(is->rsvd, was->rsvd);
			assert_int_equal(type->pmcs[is->gate].num, raw->pmcs[was->gate].num);
		}
		if (from) {
			assert_int_equal(to->width, from->width);
			assert_int_equal(to->wmask, from->wmask);
			assert_int_equal(to->umc, from->umc);
			assert_int_equal(type->pmcs[to->pmc].num, raw->pmcs[from->pmc].num);
		}
	}
	assert_int_equal(type->counter_width, raw->counter_width);
}

/* The address of the register with that name, 0 if there is none; of a type, among those it has. */
static uint32_t free_addr(const struct pmu *pmu, const char *name)
{
	for (unsigned i = 0; i < pmu->nfrees; i++)
		if (strcmp(pmu->frees[i].name, name) == 0 && !(pmu->by_type.lacks_frees >> i & 1))
			return pmu->frees[i].addr;
	return 0;
}

/* The PMD is that register, where its CPUs have it. */
static void check_frees(const struct pmu *a, const struct pmu *b, const struct pmu_types *t)
{
	const struct pmu *all = &t->of[0];

	for (unsigned i = 0; i < FREES; i++) {
		uint32_t of_a = free_addr(a, free_names[i]), of_b = free_addr(b, free_names[i]);
		int row = pmu_find_virtual(all, PMU_TSC + i);

		assert_int_equal(free_addr(&t->of[1], free_names[i]), of_a);
		assert_int_equal(free_addr(&t->of[2], free_names[i]), of_b);
		assert_int_equal(free_addr(&t->of[3], free_names[i]), of_a == of_b ? of_a : 0);
		assert_int_equal(free_addr(all, free_names[i]), of_a ? of_a : of_b);
		assert_int_equal(row >= 0, of_a || of_b);
		for (unsigned set = 0; row >= 0 && set < 4; set++) {
			const struct pmu *pmu = &t->of[set];

			assert_int_equal(pmu->virtuals[row].num, PMU_TSC + i);
			assert_string_equal(
				pmu->frees[pmu->virtuals[row].free].name, free_names[i]);
		}
	}
}

/* The memory controller of the PMD where both have the same, or one alone has the PMD. */
static unsigned same_umc(const struct pmu *a, const struct pmu *b, unsigned num)
{
	const struct pmu_pmd *x = pmd_of(a, num), *y = pmd_of(b, num);

	if (!x || !y)
		return x ? x->umc : y->umc;
	return x->umc == y->umc ? x->umc : 0;
}

static void check_common(const struct pmu *a, const struct pmu *b, const struct pmu *both)
{
	bool widths = false;

	for (unsigned num = 0; num < REGS_MAX; num++) {
		const struct pmu_pmc *pmc = pmc_of(both, num);
		const struct pmu_pmd *pmd = pmd_of(both, num);

		assert_int_equal(pmc != NULL, same_pmc(a, b, num));
		assert_int_equal(pmd != NULL, same_pmd(a, b, num));
		/* What is allowed is allowed on each. */
		if (pmc)
			assert_int_equal(pmc->rsvd, pmc_of(a, num)->rsvd | pmc_of(b, num)->rsvd);
		if (pmd)
			assert_int_equal(
				pmd->wmask & ~(pmd_of(a, num)->wmask & pmd_of(b, num)->wmask), 0);
		if (pmd)
			assert_int_equal(pmd->umc, same_umc(a, b, num));
		if (pmd)
			assert_true(pmd->width <= pmd_of(a, num)->width &&
				    pmd->width <= pmd_of(b, num)->width);
		if (pmd_of(a, num) && pmd_of(b, num))
			widths |= pmd_of(a, num)->width != pmd_of(b, num)->width;
	}
	assert_int_equal(both->status, widths ? 0 : 0x38e);
}

static void check_all(const struct pmu *a, const struct pmu *b, const struct pmu *all)
{
	for (unsigned num = 0; num < REGS_MAX; num++) {
		const struct pmu_pmc *x = pmc_of(a, num), *y = pmc_of(b, num);

		assert_int_equal(pmc_of(all, num) != NULL, x || y);
		assert_int_equal(pmd_of(all, num) != NULL, pmd_of(a, num) || pmd_of(b, num));
		if (pmd_of(all, num))
			assert_int_equal(pmd_of(all, num)->umc, same_umc(a, b, num));
		if (x || y)
			assert_int_equal(pmc_of(all, num)->rsvd,
				(x ? x->rsvd : UINT64_MAX) & (y ? y->rsvd : UINT64_MAX));
	}
}

TEST(random_layouts)
{
	static struct pmu a, b;
	const struct pmu *raw[] = {&a, &b};

	for (unsigned i = 0; i < LAYOUTS; i++) {
		CLEANUP_FREE struct pmu_types *t = NULL;

		seed = i;
		make_layout(&a, 0x186);
		make_layout(&b, 0x186);
		if (pmu_types_new(raw, 2, &t, &why) < 0)
			fail_msg("layout %u: %s", i, why.text);
		for (unsigned set = 0; set < 4; set++)
			check_rows(t, set);
		check_type(&a, &t->of[1]);
		check_type(&b, &t->of[2]);
		check_common(&a, &b, &t->of[3]);
		check_all(&a, &b, &t->of[0]);
		check_frees(&a, &b, t);
		assert_string_equal(t->of[1].by_type.name, a.core >> 24 == 0x40 ? "core" : "atom");
		if (a.core == b.core)
			assert_int_equal(t->of[2].by_type.name[4], '2');
	}
}

static const struct world_model *hybrid(void)
{
	const struct world_model *m = world_models;

	while (m->name && strcmp(m->name, "hybrid") != 0)
		m++;
	assert_non_null(m->name);
	return m;
}

static int load_on(struct world *w, unsigned cpu)
{
	struct command load = {.verb = CMD_LOAD, .load.cpu = cpu};

	return world_command(w, &load);
}

static void want_says(struct world *w, const char *what, const char *type)
{
	if (!strstr(w->err.text, what) || !strstr(w->err.text, type))
		fail_msg("%s", w->err.text);
}

/* Registers of the other type are refused with their names, and nothing is written. */
TEST(load)
{
	struct ctxsw_world c;
	struct world *w;

	ctxsw_open(&c, hybrid());
	w = line_scratch(&c, 0);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_remember(w);
	WANT(w, 0, world_write(w, false, 7, 0x4100c0));
	WANT(w, -EINVAL, load_on(w, ATOM_CPU));
	want_says(w, "pmc7", "atom");
	WANT(w, 0, world_write(w, false, 7, 0));
	WANT(w, 0, world_write(w, false, 16, 0x2000));
	WANT(w, -EINVAL, load_on(w, ATOM_CPU));
	want_says(w, "bits 0x2000 of pmc16", "atom");
	world_restored(w, 0, "refused");
	/* On its own type it counts. */
	WANT(w, 0, load_on(w, WORLD_CPU));
	WANT(w, 0, world_do(w, CMD_START));
	hw_advance(w->hw, 1000);
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT_PMD(w, 19, 12000 * 4 / 5);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	assert_ptr_equal(c.w.ctx.pmu, w->be->pmu);
	world_restored(w, 0, "unloaded");
	WANT_PMD(w, 19, 12000 * 4 / 5);
	WANT(w, 0, load_on(w, WORLD_CPU));
	ctxsw_close(&c);
}

/* A context of the other type's CPU: writes are refused, too, and leave its registers. */
TEST(write)
{
	struct ctxsw_world c;
	struct world *w;
	uint64_t value;

	ctxsw_open(&c, hybrid());
	w = line_scratch(&c, 1);
	WANT(w, 0, world_write(w, false, 5, 0x4100c0));
	WANT(w, -EINVAL, world_write(w, false, 6, 0x4100c0));
	want_says(w, "pmc6", "atom");
	WANT(w, -EINVAL, world_write(w, true, 19, 1));
	want_says(w, "pmd19", "atom");
	WANT(w, -EINVAL, world_write(w, false, 16, 0x1000));
	WANT(w, 0, world_read(w, false, 16, &value));
	assert_int_equal(value, 0);
	/* The default is what it has. */
	WANT(w, 0, world_write(w, false, 6, 0));
	WANT(w, 0, world_write(w, true, 19, 0));
	ctxsw_close(&c);
}

static int load_task(struct ctxsw_world *c, unsigned i, unsigned types)
{
	struct command load = {
		.verb = CMD_LOAD, .tid = 4711 + (int)i, .load.pmu = &c->w.be->types->of[types]};

	return world_command(task(c, i), &load);
}

/* Its thread moves between the types, and each event is counted once. */
TEST(thread_moves)
{
	struct ctxsw_world c;
	struct world *w;
	uint64_t total = 0, value;

	ctxsw_open(&c, hybrid());
	w = task(&c, 0);
	WANT(w, 0, world_write(w, false, 0, 0x4100c0));
	WANT(w, 0, world_write(w, false, 7, 0x4100c0));
	/* 40 bits on one, 48 on the other: near the end of both. */
	WANT(w, 0, world_write(w, true, 0, (1ULL << 40) - 3000));
	WANT(w, -EINVAL, load_task(&c, 0, 3));
	want_says(w, "pmc7", "core+atom");
	WANT(w, 0, world_write(w, false, 7, 0));
	WANT(w, 0, load_task(&c, 0, 3));
	WANT(w, -EINVAL, world_write(w, false, 7, 0x4100c0));
	WANT(w, 0, world_do(task(&c, 0), CMD_START));
	for (unsigned i = 0; i < 40; i++) {
		unsigned line = below(&seed, 2), ns = 1 + below(&seed, 4000);

		WANT(w, 0, line_prepare(&c, line, 0));
		line_run_window(&c, line, 0, ns);
		total += ns;
	}
	WANT(w, 0, world_read(task(&c, 0), true, 0, &value));
	/* Each run may round an event. */
	value -= (1ULL << 40) - 3000;
	assert_in_range(value, total * 2 - 80, total * 2 + 80);
	WANT(w, 0, world_do(task(&c, 0), CMD_UNLOAD));
	ctxsw_end(&c);
}

/* With CPUs of one type alone, it has all registers of these. */
TEST(thread_of_one_type)
{
	struct ctxsw_world c;
	struct world *w;
	uint64_t value;

	ctxsw_open(&c, hybrid());
	w = task(&c, 0);
	WANT(w, 0, world_write(w, false, 7, 0x4100c0));
	WANT(w, -EINVAL, load_task(&c, 0, 2));
	WANT(w, 0, load_task(&c, 0, 1));
	WANT(w, 0, world_do(w, CMD_START));
	WANT(w, 0, line_prepare(&c, 0, 0));
	line_run_window(&c, 0, 0, 1000);
	WANT(w, 0, world_read(task(&c, 0), true, 7, &value));
	assert_int_equal(value, 2000);
	/* It is not for the other line. */
	assert_false(pmu_applies(c.task[0].pmu, c.line[1].scratch->pmu));
	assert_int_not_equal(line_prepare(&c, 1, 0), 0);
	WANT(w, 0, world_do(task(&c, 0), CMD_UNLOAD));
	ctxsw_end(&c);
}
