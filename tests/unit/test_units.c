// SPDX-License-Identifier: MIT
/*
 * Registers that the CPUs of a core, CCX or package share: one CPU has them, the others are told
 * which one; and counters that the global control does not stop beside those that it does.
 */
#include "backend/msr/topology.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

#define FROM 1000ULL

static const struct world_model *shared_model(const char *name)
{
	const struct world_model *m = world_all;

	while (m->name && (!m->shared || strcmp(m->name, name) != 0))
		m++;
	assert_non_null(m->name);
	return m;
}

/* A second context, on another CPU. */
struct second {
	struct context ctx;
	struct executor exec;
	unsigned cpu;
};

static void second_open(struct world *w, struct second *s, unsigned cpu)
{
	*s = (struct second){.cpu = cpu};
	s->exec.be = w->be;
	s->exec.stats = &w->stats;
	WANT(w, 0, w->ops.cpu_open(w->be, cpu, &s->exec.cpu, &w->err));
	WANT(w, 0, ctx_init(&s->ctx, w->pmu));
}

static void second_close(struct world *w, struct second *s)
{
	ctx_free(&s->ctx);
	w->ops.cpu_close(s->exec.cpu);
}

static int second_load(struct world *w, struct second *s, unsigned pmc)
{
	struct command load = {.verb = CMD_LOAD, .load.cpu = s->cpu};
	int rc;

	w->other = &s->ctx;
	w->other_exec = &s->exec;
	WANT(w, 0, world_write(w, false, w->model->pmc[pmc].num, w->model->pmc[pmc].value));
	rc = world_command(w, &load);
	w->other = NULL;
	w->other_exec = NULL;
	return rc;
}

static void second_unload(struct world *w, struct second *s)
{
	w->other = &s->ctx;
	w->other_exec = &s->exec;
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	w->other = NULL;
	w->other_exec = NULL;
}

/* CPUs 0 and 1 are a core and a CCX, all four a package. */
static void want_one_owner(const char *model, unsigned pmc, unsigned cpu, bool shares)
{
	const struct world_model *m = shared_model(model);
	struct world w;
	struct second s;

	world_open(&w, m);
	second_open(&w, &s, cpu);
	world_program(&w, FROM);
	WANT_RUN(&w);
	if (shares) {
		TEXT_CLEANUP struct text owner = {0};

		WANT(&w, -EBUSY, second_load(&w, &s, pmc));
		if (!strstr(w.err.text, "CPU 1 "))
			fail_msg("%s does not name the CPU: %s", model, w.err.text);
		w.ops.pmu_owner(w.be, cpu, m->pmd[pmc].selector, m->pmc[pmc].value, &owner);
		assert_non_null(strstr(owner.p, "the context on CPU 1"));
		hw_advance(w.hw, 1000);
		WANT(&w, 0, world_do(&w, CMD_UNLOAD));
		WANT(&w, 0, second_load(&w, &s, pmc));
		WANT(&w, -EBUSY, world_do(&w, CMD_LOAD));
		second_unload(&w, &s);
	} else {
		WANT(&w, 0, second_load(&w, &s, pmc));
		second_unload(&w, &s);
		WANT(&w, 0, world_do(&w, CMD_UNLOAD));
	}
	world_restored(&w, 0, "shared by two contexts");
	second_close(&w, &s);
	world_close(&w);
}

TEST(one_owner)
{
	for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++) {
		if (cpu == WORLD_CPU)
			continue;
		want_one_owner("nehalem", 0, cpu, true);
		want_one_owner("zen4", 1, cpu, true);    /* the data fabric */
		want_one_owner("zen4", 2, cpu, true);    /* a memory controller */
		want_one_owner("zen4", 0, cpu, cpu < 2); /* the cache */
	}
}

static int second_command(struct world *w, struct second *s, struct command *cmd)
{
	int rc;

	w->other = &s->ctx;
	w->other_exec = &s->exec;
	rc = world_command(w, cmd);
	w->other = NULL;
	w->other_exec = NULL;
	return rc;
}

static int second_write(struct world *w, struct second *s, unsigned pmc, uint64_t value)
{
	int rc;

	w->other = &s->ctx;
	w->other_exec = &s->exec;
	rc = world_write(w, false, pmc, value);
	w->other = NULL;
	w->other_exec = NULL;
	return rc;
}

enum { OFF_CORE = 19, OFF_CORE_ADDR = 0x1a6 };

/* Contexts on all CPUs, by one register of each core. */
struct off_core {
	struct world w;
	struct second of[WORLD_CPUS];
	uint64_t value[WORLD_CPUS]; /* What they have written. */
	bool loaded[WORLD_CPUS];
	uint32_t random;
};

static uint32_t off_core_random(struct off_core *o)
{
	o->random = o->random * 1664525 + 1013904223; /* Numerical Recipes */
	return o->random >> 16;
}

/* May @cpu have @value, as far as the other CPU of its core matters? */
static bool off_core_may(const struct off_core *o, unsigned cpu, uint64_t value)
{
	return !o->loaded[cpu ^ 1] || o->value[cpu ^ 1] == value;
}

static void off_core_step(struct off_core *o)
{
	unsigned cpu = off_core_random(o) % WORLD_CPUS;
	uint64_t value = 0x101 + off_core_random(o) % 2;
	struct command load = {.verb = CMD_LOAD, .load.cpu = cpu}, unload = {.verb = CMD_UNLOAD};
	struct second *s = &o->of[cpu];
	bool may;

	if (o->loaded[cpu] && off_core_random(o) % 2) {
		WANT(&o->w, 0, second_command(&o->w, s, &unload));
		o->loaded[cpu] = false;
		return;
	}
	may = off_core_may(o, cpu, value);
	if (o->loaded[cpu]) {
		WANT(&o->w, may ? 0 : -EBUSY, second_write(&o->w, s, OFF_CORE, value));
	} else {
		WANT(&o->w, 0, second_write(&o->w, s, OFF_CORE, value));
		WANT(&o->w, may ? 0 : -EBUSY, second_command(&o->w, s, &load));
		o->loaded[cpu] = may;
	}
	if (may)
		o->value[cpu] = value;
	else
		assert_non_null(strstr(o->w.err.text, "the CPUs of a core share it"));
}

/* The register of each core is what its contexts have written, or else what it was. */
static void off_core_check(struct off_core *o, unsigned cpu)
{
	uint64_t want = o->loaded[cpu]       ? o->value[cpu]
			: o->loaded[cpu ^ 1] ? o->value[cpu ^ 1]
					     : 0x700 + cpu / 2;

	uint64_t value;

	assert_int_equal(hw_rdmsr(o->w.hw, cpu, OFF_CORE_ADDR, &value), 0);
	assert_int_equal(value, want);
}

/* Off-core response only selects: the CPUs of a core have it together, with one value. */
TEST(extra_of_a_core)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		struct off_core o = {.value = {0}};

		if (m->shared)
			continue;
		world_open(&o.w, m);
		if (pmu_find_pmc(o.w.pmu, OFF_CORE) < 0) {
			world_close(&o.w);
			continue;
		}
		for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++) {
			second_open(&o.w, &o.of[cpu], cpu);
			assert_int_equal(hw_wrmsr(o.w.hw, cpu, OFF_CORE_ADDR, 0x700 + cpu / 2), 0);
		}
		for (unsigned i = 0; i < 300; i++) {
			off_core_step(&o);
			for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++)
				off_core_check(&o, cpu);
		}
		for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++) {
			struct command unload = {.verb = CMD_UNLOAD};

			if (o.loaded[cpu])
				WANT(&o.w, 0, second_command(&o.w, &o.of[cpu], &unload));
			o.loaded[cpu] = false;
			second_close(&o.w, &o.of[cpu]);
		}
		for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++)
			off_core_check(&o, cpu);
		world_close(&o.w);
	}
}

enum { NODE_EVENT = 0x4301e9, CORE_EVENT = 0x4300c0 }; /* CPU to DRAM requests; instructions */

/* Of the four CPUs of a package, one has each counter of the node's events, until it unloads. */
static void want_node_events(const struct world_model *m)
{
	struct command load = {.verb = CMD_LOAD, .load.cpu = WORLD_CPU},
		       unload = {.verb = CMD_UNLOAD};
	struct world w;
	struct second s;
	uint64_t value;

	world_open(&w, m);
	second_open(&w, &s, 3);
	load.load.cpu = s.cpu;
	WANT(&w, 0, world_write(&w, false, 0, NODE_EVENT));
	WANT(&w, 0, world_do(&w, CMD_LOAD));
	/* The same counter, for an event of the core and for one of the node. */
	WANT(&w, 0, second_write(&w, &s, 0, CORE_EVENT));
	WANT(&w, 0, second_command(&w, &s, &load));
	WANT(&w, -EBUSY, second_write(&w, &s, 0, NODE_EVENT));
	assert_non_null(strstr(w.err.text, "CPU 1 "));
	assert_int_equal(hw_rdmsr(w.hw, s.cpu, w.pmu->pmcs[0].addr, &value), 0);
	assert_int_equal(value & 0xffff, CORE_EVENT & 0xffff);
	WANT(&w, 0, second_command(&w, &s, &unload));
	WANT(&w, 0, second_write(&w, &s, 0, NODE_EVENT));
	WANT(&w, -EBUSY, second_command(&w, &s, &load));
	/* Another counter. */
	WANT(&w, 0, second_write(&w, &s, 0, 0));
	WANT(&w, 0, second_write(&w, &s, 1, NODE_EVENT));
	WANT(&w, 0, second_command(&w, &s, &load));
	WANT(&w, 0, second_command(&w, &s, &unload));
	WANT(&w, 0, world_do(&w, CMD_UNLOAD));
	WANT(&w, 0, second_write(&w, &s, 0, NODE_EVENT));
	WANT(&w, 0, second_command(&w, &s, &load));
	WANT(&w, -EBUSY, world_do(&w, CMD_LOAD));
	WANT(&w, 0, second_command(&w, &s, &unload));
	world_restored(&w, 0, "events of the node");
	second_close(&w, &s);
	world_close(&w);
}

TEST(node_events)
{
	unsigned n = 0;

	for (const struct world_model *m = world_models; m->name; m++) {
		struct world w;
		bool node;

		world_open(&w, m);
		node = w.pmu->pmcs[0].node;
		world_close(&w);
		if (m->shared || !node)
			continue;
		want_node_events(m);
		n++;
	}
	/* The three of all models are of one kind. */
	assert_true(n == 1 || n == 3);
}

static uint64_t truth(struct world *w, uint64_t select, uint64_t from)
{
	return hw_truth(w->hw, select, hw_now(w->hw)) - hw_truth(w->hw, select, from);
}

/* One context counts on the CPU and in the package: both stop when it stops, and switch with its
 * sets.
 */
IN_WORLD(beside_core_counters, shared_model("nehalem"))
{
	const uint64_t core = 0xc0 | EVTSEL_USR | EVTSEL_OS, unc = 0xc4 | EVTSEL_USR | EVTSEL_OS;

	WANT(w, 0, world_write(w, false, 0, core | EVTSEL_EN));
	WANT(w, 0, world_write(w, false, 22, 0xc4 | EVTSEL_EN));
	WANT(w, 0, world_write(w, true, 0, FROM));
	WANT(w, 0, world_write(w, true, 22, (uint64_t)-5000));
	WANT(w, 0, world_do(w, CMD_LOAD));
	world_stopped(w, "loaded");
	for (unsigned i = 0; i < 3; i++) {
		uint64_t t = hw_now(w->hw), before, after;

		WANT(w, 0, world_read(w, true, 22, &before));
		WANT(w, 0, world_do(w, CMD_START));
		hw_advance(w->hw, 12345);
		WANT(w, 0, world_do(w, CMD_POLL));
		WANT(w, 0, world_read(w, true, 22, &after));
		assert_int_equal(after - before, truth(w, unc, t));
		WANT(w, 0, world_do(w, CMD_STOP));
		world_stopped(w, "stopped");
		WANT_PMD(w, 22, after);
	}
	/* The uncore has no overflow status: the counter itself shows that it wrapped. */
	assert_true(w->ctx.count.overflows > 0);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_restored(w, 0, "both kinds");
}

/* A thread's context has no counters of a package. */
IN_WORLD(no_thread, shared_model("zen4"))
{
	struct command load = {.verb = CMD_LOAD, .tid = 77};

	w->rights.thread = true;
	world_program(w, FROM);
	WANT(w, -EINVAL, world_command(w, &load));
	assert_non_null(strstr(w->err.text, "load cpu="));
}

/* CPUID as real processors have it; the units are those of their manuals. */
struct topo {
	struct msr_io io; /* First. */
	const char *vendor;
	uint32_t max, max_ext;
	struct {
		uint32_t leaf, subleaf, r[4];
	} leaves[6];
};

static int topo_cpuid(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
	uint32_t out[4], struct err *e)
{
	const struct topo *t = (const struct topo *)io;

	(void)e;
	memset(out, 0, 4 * sizeof(out[0]));
	if (leaf == 0) {
		out[0] = t->max;
		memcpy(&out[1], t->vendor, 4);
	} else if (leaf == 0x80000000) {
		out[0] = t->max_ext;
	}
	for (unsigned i = 0; i < 6 && t->leaves[i].leaf; i++) {
		if (t->leaves[i].leaf == leaf && t->leaves[i].subleaf == subleaf)
			memcpy(out, t->leaves[i].r, sizeof(t->leaves[i].r));
	}
	if (leaf == 1)
		out[1] |= cpu << 24;
	if (leaf == 0xb || leaf == 0x1f)
		out[3] = cpu;
	if (leaf == 0x8000001e)
		out[2] |= cpu >> 4;
	return 0;
}

#define INTEL .vendor = "Genu"
#define AMD   .vendor = "Auth"

TEST(topology)
{
	static const struct msr_io_ops ops = {.cpuid = topo_cpuid};
	static struct {
		struct topo t;
		unsigned threads, ccx, package; /* CPUs with consecutive APIC ids */
	} cases[] = {
		/* Pentium 4 with hyperthreading, and without: leaf 1 alone */
		{{INTEL, .max = 2, .leaves = {{1, 0, {0, 2 << 16, 0, 1u << 28}}}}, 2, 2, 2},
		{{INTEL, .max = 2, .leaves = {{1, 0, {0, 1 << 16, 0, 0}}}}, 1, 1, 1},
		/* Core 2 Quad: leaf 4 has four cores */
		{{INTEL, .max = 0xa,
			 .leaves = {{1, 0, {0, 4 << 16, 0, 1u << 28}}, {4, 0, {3u << 26 | 0x121}}}},
			1, 4, 4},
		/* Nehalem, four cores of two threads: 16 APIC ids */
		{{INTEL, .max = 0xb, .max_ext = 0x80000008,
			 .leaves = {{0xb, 0, {1, 2, 0x100}}, {0xb, 1, {4, 8, 0x201}}}},
			2, 16, 16},
		/* Cascade Lake AP, two dies of 64 ids; 0xB has the package */
		{{INTEL, .max = 0x1f, .max_ext = 0x80000008,
			 .leaves = {{0xb, 0, {1, 2, 0x100}}, {0xb, 1, {7, 96, 0x201}},
				 {0x1f, 0, {1, 2, 0x100}}, {0x1f, 1, {6, 48, 0x201}},
				 {0x1f, 2, {7, 96, 0x502}}}},
			2, 64, 64},
		/* Alder Lake: modules of four cores, and no die */
		{{INTEL, .max = 0x20, .max_ext = 0x80000008,
			 .leaves = {{0x1f, 0, {1, 1, 0x100}}, {0x1f, 1, {3, 4, 0x201}},
				 {0x1f, 2, {7, 24, 0x302}}}},
			2, 128, 128},
		/* Leaf 0x1F is there, and empty */
		{{INTEL, .max = 0x1f, .max_ext = 0x80000008,
			 .leaves = {{0xb, 0, {1, 2, 0x100}}, {0xb, 1, {4, 8, 0x201}}}},
			2, 16, 16},
		/* Family 10h, six cores: the size of the id, or else their number */
		{{AMD, .max = 5, .max_ext = 0x8000001b,
			 .leaves = {{0x80000008, 0, {0, 0, 3 << 12 | 5}}}},
			1, 8, 8},
		{{AMD, .max = 1, .max_ext = 0x80000018, .leaves = {{0x80000008, 0, {0, 0, 1}}}}, 1,
			2, 2},
		/* Rome: CCXs of four cores in a package of 128 ids */
		{{AMD, .max = 0x10, .max_ext = 0x80000020,
			 .leaves = {{0xb, 0, {1, 2, 0x100}}, {0xb, 1, {7, 128, 0x201}},
				 {0x8000001d, 3, {0x163 | 7 << 14}}}},
			2, 8, 128},
		/* Naples: four nodes of two CCXs of four cores */
		{{AMD, .max = 0xd, .max_ext = 0x8000001f,
			 .leaves = {{0xb, 0, {1, 2, 0x100}}, {0xb, 1, {6, 64, 0x201}},
				 {0x8000001d, 3, {0x163 | 7 << 14}},
				 {0x8000001e, 0, {0, 0, 3 << 8}}}},
			2, 8, 16},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		uint32_t first[PMU_SCOPES], unit[PMU_SCOPES];

		cases[i].t.io.ops = &ops;
		assert_int_equal(topology_of(&cases[i].t.io, 0, first, &why), 0);
		for (unsigned cpu = 1; cpu < 200; cpu++) {
			assert_int_equal(topology_of(&cases[i].t.io, cpu, unit, &why), 0);
			if ((unit[PMU_SCOPE_CORE] == first[PMU_SCOPE_CORE]) !=
					(cpu < cases[i].threads) ||
				(unit[PMU_SCOPE_CCX] == first[PMU_SCOPE_CCX]) !=
					(cpu < cases[i].ccx) ||
				(unit[PMU_SCOPE_PACKAGE] == first[PMU_SCOPE_PACKAGE]) !=
					(cpu < cases[i].package))
				fail_msg("case %u, CPU %u", i, cpu);
			assert_int_equal(unit[PMU_SCOPE_THREAD], cpu);
		}
	}
}
