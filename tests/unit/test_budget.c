// SPDX-License-Identifier: MIT
/*
 * The budget of hardware counters, on a PMU of four: which contexts may count at once. The PMU is a
 * function, as what the kernel says about groups is for the perf backend and a machine with a PMU.
 */
#include <stdatomic.h>
#include <sys/syscall.h>

#include "daemon/percpu/budget.h"
#include "tests/unit/unit.h"

enum { COUNTERS = 4, ROWS = 16, EN = 1 << 22, SOFTWARE = 1 << 8, ELSEWHERE = CPUS_MAX - 1 };

static struct budget budget;
static struct pmu pmu;
static unsigned trials;
static unsigned here; /* a CPU where this thread may run */

static bool model_takes_counter(uint64_t sel)
{
	return !(sel & SOFTWARE);
}

static bool model_fits(struct backend *be, const uint64_t *sels, unsigned n)
{
	(void)be;
	trials++;
	for (unsigned i = 0; i < n; i++)
		assert_true(model_takes_counter(sels[i]));
	return n <= COUNTERS;
}

static const struct backend_ops model_ops = {
	.events_fit = model_fits, .takes_counter = model_takes_counter};
static struct backend model = {.ops = &model_ops};

struct side {
	struct engine_ctx ec;
	struct budget_reservation reservation;
	atomic_int tid;
};

static void side_init(struct side *s, const char *name, int tid, unsigned cpu)
{
	memset(s, 0, sizeof(*s));
	assert_int_equal(ctx_init(&s->ec.ctx, &pmu), 0);
	s->ec.name = name;
	s->ec.uid = 1000;
	atomic_init(&s->tid, tid);
	s->reservation = (struct budget_reservation){.tid = tid ? &s->tid : NULL, .cpu = cpu};
}

static void side_free(struct side *s)
{
	budget_release(&budget, &s->reservation);
	ctx_free(&s->ec.ctx);
}

#define SIDE(s) __attribute__((cleanup(side_free))) struct side s

/* The first set counts @hardware events of kind @kind, and @software ones. */
static void count_in(struct evtset *set, unsigned hardware, unsigned software, unsigned kind)
{
	for (unsigned p = 0; p < ROWS; p++)
		set->pmc[p] = p < hardware              ? EN | kind
			      : p < hardware + software ? EN | SOFTWARE | kind
							: 0;
}

static void count(struct side *s, unsigned hardware, unsigned software)
{
	count_in(s->ec.ctx.sets[0], hardware, software, 1);
}

static int start(struct side *s, struct err *e)
{
	return budget_reserve(&budget, &s->ec, &s->reservation, e);
}

static void starts(struct side *s)
{
	assert_int_equal(start(s, &why), 0);
}

static void is_refused(struct side *s, const char *beside)
{
	struct err e = {0};

	assert_int_equal(start(s, &e), -EBUSY);
	assert_int_equal(e.no, EBUSY);
	assert_non_null(strstr(e.text, beside));
	assert_false(s->reservation.reserved);
}

static int setup(void **state)
{
	struct cpus affinity = {{0}};

	(void)state;
	budget_init(&budget, &model);
	pmu = (struct pmu){.npmcs = ROWS, .npmds = ROWS};
	for (uint16_t p = 0; p < ROWS; p++) {
		pmu.pmcs[p] = (struct pmu_pmc){.num = p, .enable = EN, .gate = p};
		pmu.pmds[p] = (struct pmu_pmd){.num = p, .pmc = p, .field = ~0ULL, .global = -1};
	}
	if (syscall(SYS_sched_getaffinity, 0, sizeof(affinity), &affinity) < 0)
		return -1;
	for (here = 0; !cpus_has(&affinity, here); here++)
		;
	trials = 0;
	return 0;
}

/* Two contexts of each size, in both orders: the model's sum decides. */
TEST_WITH(setup, NULL, sums)
{
	for (unsigned i = 0; i < 36 * 2; i++) {
		SIDE(cpu);
		SIDE(thread);
		unsigned a = i % 6, b = i / 6 % 6;
		struct side *first = i < 36 ? &cpu : &thread, *second = i < 36 ? &thread : &cpu;

		side_init(&cpu, "cpu", 0, here);
		side_init(&thread, "thread", gettid(), 0);
		count(first, a, 3);
		count(second, b, 3);
		starts(first);
		/* One that is too large alone is refused by its own start. */
		if (a + b <= COUNTERS || a > COUNTERS || b > COUNTERS)
			starts(second);
		else
			is_refused(second, first == &cpu ? "'cpu' of uid 1000 on CPU"
							 : "'thread' of uid 1000 on thread");
		budget_release(&budget, &first->reservation);
		starts(second);
	}
}

/* A thread's context keeps those of other users from a CPU only if it is root's. */
TEST_WITH(setup, NULL, users)
{
	static const unsigned uid[] = {0, 1000, 1001};

	for (unsigned i = 0; i < 9; i++) {
		unsigned of_cpu = uid[i / 3], of_thread = uid[i % 3];
		SIDE(cpu);
		SIDE(thread);

		side_init(&cpu, "cpu", 0, here);
		side_init(&thread, "thread", gettid(), 0);
		cpu.ec.uid = of_cpu;
		thread.ec.uid = of_thread;
		count(&cpu, COUNTERS, 0);
		count(&thread, 1, 0);
		starts(&thread);
		if (of_thread && of_thread != of_cpu)
			starts(&cpu);
		else
			is_refused(&cpu, "'thread'");
		budget_release(&budget, &thread.reservation);
		starts(&cpu);
		is_refused(&thread, "'cpu'");
	}
}

/* Where the thread may not run, among contexts of one kind, and on a machine without a budget. */
TEST_WITH(setup, NULL, apart)
{
	const struct backend_ops no_ops = {0};
	struct backend none = {.ops = &no_ops};
	SIDE(a);
	SIDE(b);
	SIDE(cpu);

	side_init(&a, "a", gettid(), 0);
	side_init(&b, "b", gettid(), 0);
	side_init(&cpu, "cpu", 0, ELSEWHERE);
	count(&a, COUNTERS, 0);
	count(&b, COUNTERS, 0);
	count(&cpu, COUNTERS, 0);
	starts(&a);
	starts(&b);
	starts(&cpu);
	assert_int_equal(trials, 0);
	budget_release(&budget, &cpu.reservation);
	cpu.reservation.cpu = here;
	budget.be = &none;
	starts(&cpu);
	budget.be = &model;
	is_refused(&cpu, "of uid 1000 on thread");
	atomic_store(&a.tid, -1); /* no thread has this number */
	atomic_store(&b.tid, -1);
	starts(&cpu);
}

static void add_sets(struct side *s, unsigned n)
{
	struct context *ctx = &s->ec.ctx;

	ctx->sets = realloc(ctx->sets, (n + 1) * sizeof(ctx->sets[0]));
	assert_non_null(ctx->sets);
	ctx->room = n + 1;
	for (; ctx->nsets <= n; ctx->nsets++) {
		ctx->sets[ctx->nsets] = evtset_new((uint16_t)ctx->nsets, &pmu);
		assert_non_null(ctx->sets[ctx->nsets]);
	}
}

/* Each set beside each: one pair of sets that does not fit is enough. */
TEST_WITH(setup, NULL, sets)
{
	enum { SETS = 4 };

	for (unsigned i = 0; i < SETS * SETS; i++) {
		SIDE(cpu);
		SIDE(thread);

		side_init(&cpu, "cpu", 0, here);
		side_init(&thread, "thread", gettid(), 0);
		add_sets(&cpu, SETS - 1);
		add_sets(&thread, SETS - 1);
		for (unsigned k = 0; k < SETS; k++) {
			count_in(cpu.ec.ctx.sets[k], 2, 0, k);
			count_in(thread.ec.ctx.sets[k], 2, 0, k);
		}
		starts(&cpu);
		starts(&thread);
		budget_release(&budget, &thread.reservation);
		count_in(cpu.ec.ctx.sets[i % SETS], 3, 0, 9);
		budget_update(&budget, &cpu.reservation);
		is_refused(&thread, "'cpu'");
		count_in(cpu.ec.ctx.sets[i % SETS], 2, 0, 9);
		budget_update(&budget, &cpu.reservation);
		starts(&thread);
		budget_release(&budget, &cpu.reservation);
		count_in(cpu.ec.ctx.sets[0], 0, 5, 9);
		count_in(thread.ec.ctx.sets[i / SETS], 4, 1, 9);
		budget_update(&budget, &thread.reservation);
		is_refused(&cpu, "'thread'");
	}
}

/* A start does not try more than it may, whatever others have started. */
TEST_WITH(setup, NULL, bounded)
{
	enum { THREADS = 100, SETS = 20 };
	struct side *threads = calloc(THREADS, sizeof(*threads));
	SIDE(cpu);

	assert_non_null(threads);
	for (unsigned i = 0; i < THREADS; i++) {
		side_init(&threads[i], "thread", gettid(), 0);
		add_sets(&threads[i], SETS - 1);
		for (unsigned k = 0; k < SETS; k++)
			count_in(threads[i].ec.ctx.sets[k], 1, 0, 256 * 256 * k + i);
		starts(&threads[i]);
	}
	assert_int_equal(trials, 0);
	side_init(&cpu, "cpu", 0, here);
	add_sets(&cpu, SETS - 1);
	for (unsigned k = 0; k < SETS; k++)
		count_in(cpu.ec.ctx.sets[k], 1, 0, k);
	starts(&cpu);
	assert_int_equal(trials, BUDGET_TRIALS);
	for (unsigned i = 0; i < THREADS; i++)
		side_free(&threads[i]);
	free(threads);
}

/* What takes no counter hides nothing that does: neither sets of a context, nor those of others. */
TEST_WITH(setup, NULL, software)
{
	enum { THREADS = 2 * BUDGET_TRIALS, SETS = 2 * BUDGET_SETS };
	struct side *threads = calloc(THREADS, sizeof(*threads));
	SIDE(cpu);

	assert_non_null(threads);
	for (unsigned i = 0; i < THREADS; i++) {
		side_init(&threads[i], i < THREADS - 1 ? "software" : "last", gettid(), 0);
		add_sets(&threads[i], SETS - 1);
		for (unsigned k = 0; k < SETS; k++)
			count_in(threads[i].ec.ctx.sets[k], 0, 1, 1024 * (SETS * i + k));
	}
	count_in(threads[THREADS - 1].ec.ctx.sets[SETS - 1], COUNTERS, 2, 1);
	for (unsigned i = 0; i < THREADS; i++)
		starts(&threads[i]);
	side_init(&cpu, "cpu", 0, here);
	add_sets(&cpu, SETS - 1);
	for (unsigned k = 0; k < SETS - 1; k++)
		count_in(cpu.ec.ctx.sets[k], 0, 1, 1024 * k);
	starts(&cpu);
	assert_int_equal(trials, 0);
	budget_release(&budget, &cpu.reservation);
	assert_false(budget_takes_counters(&model, &cpu.ec.ctx));
	count_in(cpu.ec.ctx.sets[SETS - 1], 1, 2, 1);
	assert_true(budget_takes_counters(&model, &cpu.ec.ctx));
	is_refused(&cpu, "'last'");
	for (unsigned i = 0; i < THREADS; i++)
		side_free(&threads[i]);
	free(threads);
}

/* Threads that count the same are tried once. */
TEST_WITH(setup, NULL, alike)
{
	enum { THREADS = 100 };
	struct side *threads = calloc(THREADS, sizeof(*threads));
	SIDE(cpu);

	assert_non_null(threads);
	for (unsigned i = 0; i < THREADS; i++) {
		side_init(&threads[i], "thread", gettid(), 0);
		count(&threads[i], 2, 0);
		starts(&threads[i]);
	}
	side_init(&cpu, "cpu", 0, here);
	count(&cpu, 2, 0);
	starts(&cpu);
	assert_int_equal(trials, 1);
	for (unsigned i = 0; i < THREADS; i++)
		side_free(&threads[i]);
	free(threads);
}
