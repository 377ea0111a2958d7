// SPDX-License-Identifier: MIT
#include "tests/unit/world.h"
#include "tests/unit/unit.h"

#include "backend/sim/sim.h"

/* The events: instructions, branches, mispredicted branches, cycles; and what a thief selects. */
static const struct {
	unsigned code[WORLD_MAX], thief;
} events[] = {
	[PMU_INTEL] = {{0xc0, 0xc4, 0xc5, 0x3c}, 0x53412e},
	[PMU_AMD] = {{0xc0, 0xc2, 0xc3, 0x76}, 0x530040},
};

/* Two general counters and two fixed ones. */
static const struct world_model with_fixed = {
	.npmc = 3,
	.npmd = 4,
	.pmc = {{0, 0x4300c4}, {1, 0x4300c5}, {16, 0x23}},
	.pmd =
		{
			{0, 0x300c4, 0x186, 0x53412e},
			{1, 0x300c5, 0x187, 0x53412e},
			{16, 0x300c0, 0x38d, 0x21},
			{17, 0x1003c, 0x38d, 0xb3},
		},
};

/* The four counters of Itanium 2: instructions, no-ops, loads, cycles, at levels 0 and 3. */
static struct world_model measure_ipf(const struct pmu *pmu)
{
	static const unsigned codes[WORLD_MAX] = {0x08, 0x50, 0xcd, 0x12};
	struct world_model w = {.npmc = WORLD_MAX, .npmd = WORLD_MAX};

	for (unsigned i = 0; i < WORLD_MAX; i++) {
		const struct pmu_pmc *pmc = &pmu->pmcs[pmu_find_pmc(pmu, 4 + i)];

		w.pmc[i].num = w.pmd[i].num = pmc->num;
		w.pmc[i].value = w.pmd[i].select = pmc->def | codes[i] << 8 | 9;
		w.pmd[i].selector = pmc->addr;
		w.pmd[i].thief = pmc->def | 0xd109;
	}
	return w;
}

struct world_model world_models[WORLD_MODELS + 1], world_others[WORLD_MODELS + 1],
	world_all[2 * WORLD_MODELS + 1];

/* One register selects for each counter, as not on NetBurst: test_netburst.c. */
static bool measurable(const struct pmu_model *m)
{
	struct pmu pmu;
	struct err e;

	if (pmu_build(m, &m->features, &pmu, &e) < 0)
		abort();
	for (unsigned i = 0; i < pmu.npmcs; i++)
		if (pmu.pmcs[i].escr_select)
			return false;
	return m->sim.name[0];
}

/* Both levels of each event; EN in each selector that has it, which P6's second has not. */
static struct world_model measure(const struct pmu_model *m)
{
	struct world_model w = {.npmc = m->features.gp < 4 ? 2 : 4};
	struct pmu pmu;
	struct err e;

	if (m->features.gp < 4 && m->features.fixed)
		return with_fixed;
	if (pmu_build(m, &m->features, &pmu, &e) < 0)
		abort();
	if (m->space == PMU_SPACE_IPF)
		return measure_ipf(&pmu);
	w.npmd = w.npmc;
	for (unsigned i = 0; i < w.npmc; i++) {
		uint64_t select = events[m->vendor].code[i] | EVTSEL_USR | EVTSEL_OS;

		w.pmc[i].num = w.pmd[i].num = (uint16_t)i;
		w.pmc[i].value = select | pmu.pmcs[i].enable;
		w.pmd[i].select = select;
		w.pmd[i].selector = pmu.pmcs[i].addr;
		w.pmd[i].thief = events[m->vendor].thief;
		w.one_enable = pmu.pmcs[1].gate == 0;
		if (w.one_enable) /* P6 has other events, too. */
			w.pmd[i].thief = (0x530079 & ~EVTSEL_EN) | pmu.pmcs[i].enable;
	}
	return w;
}

/* Counters of a core, CCX or package that have events: the first of each kind of selector. */
static struct world_model measure_shared(const struct pmu_model *m)
{
	struct world_model w = {.shared = true};
	uint64_t kinds[WORLD_MAX];
	struct pmu pmu;
	struct err e;

	if (pmu_build(m, &m->features, &pmu, &e) < 0)
		abort();
	for (unsigned i = 0; i < pmu.npmds; i++)
		w.nshared += pmu.pmds[i].scope != PMU_SCOPE_THREAD;
	for (unsigned i = 0; i < pmu.npmds && w.npmd < WORLD_MAX; i++) {
		const struct pmu_pmc *pmc = &pmu.pmcs[pmu.pmds[i].pmc];
		uint64_t code = events[m->vendor].code[w.npmd];

		if (!pmu.pmds[i].scope || (pmc->rsvd | pmc->enable) & 0xff ||
			(w.npmd && kinds[w.npmd - 1] == pmc->rsvd && pmc->gate == pmu.pmds[i].pmc))
			continue;
		kinds[w.npmd] = pmc->rsvd;
		w.pmc[w.npmd].num = pmc->num;
		w.pmc[w.npmd].value = code | pmc->enable;
		w.pmd[w.npmd].num = pmu.pmds[i].num;
		w.pmd[w.npmd].select = code | EVTSEL_USR | EVTSEL_OS;
		w.pmd[w.npmd].selector = pmc->addr;
		w.pmd[w.npmd].thief = 0x41 | pmc->enable;
		w.npmc = ++w.npmd;
	}
	return w;
}

/* One model of each kind of counters; the others differ from these by their number. */
static bool chosen(const struct pmu_model *m)
{
	static const char *const kinds[] = {"p6", "intel_v1", "intel_v2", "intel_v3", "intel_v4",
		"intel_v5", "amd_legacy", "amd_ext", "amd_v2", "nehalem", "hybrid", "zen", "zen4"};
	const char *models = getenv("MODELS");

	if ((models && strcmp(models, "all") == 0) || !measurable(m) || m->space == PMU_SPACE_IPF)
		return true;
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(m->sim.name, kinds[i]) == 0)
			return true;
	return false;
}

__attribute__((constructor)) static void measure_models(void)
{
	const struct pmu_model *m;
	unsigned n = 0, others = 0, all = 0;

	for (unsigned i = 0; (m = pmu_model_at(i)) && n < WORLD_MODELS; i++) {
		if (!chosen(m))
			continue;
		if (m->sim.name[0] && (!measurable(m) || m->space == PMU_SPACE_IPF))
			world_others[others++].name = m->sim.name;
		if (!measurable(m))
			continue;
		if (m->space == PMU_SPACE_IPF) {
			world_all[all] = measure(m);
			world_all[all++].name = m->sim.name;
			continue;
		}
		world_models[n] = measure(m);
		world_models[n].name = m->sim.name;
		world_all[all++] = world_models[n++];
		world_all[all] = measure_shared(m);
		world_models[n - 1].nshared = world_all[all].nshared;
		if (world_all[all].npmd)
			world_all[all++].name = m->sim.name;
	}
	world_all[all] = (struct world_model){0};
}

static struct world *here; /* backend_ops.run has no argument for it */

static uint64_t counter_bits(const struct pmu_pmd *pmd)
{
	return pmd->width == 64 ? ~0ULL : (1ULL << pmd->width) - 1;
}

void world_happen(struct world *w, unsigned num, uint64_t n)
{
	unsigned d = (unsigned)pmu_find_pmd(w->pmu, num);
	const struct pmu_pmd *pmd = &w->pmu->pmds[d];
	uint64_t was = (world_rdmsr(w, pmd->addr) + w->happened[d]) & counter_bits(pmd);

	w->happened[d] += n;
	if (pmd->global >= 0 && n > counter_bits(pmd) - was)
		w->wrapped |= 1ULL << pmd->global;
}

static void add_happened(struct reg_op *op)
{
	const struct pmu *pmu = here->pmu;

	if (pmu->status && op->addr == pmu->status && op->verb == REG_READ)
		op->value |= here->wrapped;
	if (pmu->clear && op->addr == pmu->clear)
		here->wrapped &= ~op->value;
	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (op->addr != pmu->pmds[d].addr)
			continue;
		if (op->verb != REG_READ)
			here->happened[d] = 0;
		op->value = (op->value + here->happened[d]) & counter_bits(&pmu->pmds[d]);
	}
}

static unsigned run_and_intrude(
	struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		if (here->intrude && here->nops == here->at) {
			void (*intrude)(struct world * w) = here->intrude;

			here->intrude = NULL;
			intrude(here);
		}
		here->nops++;
		here->touched |= !here->intrude && ops[i].addr == here->addr;
		if (here->real->run(c, &ops[i], 1, e) < 1)
			return i;
		add_happened(&ops[i]);
	}
	return n;
}

static void add_reg(struct world *w, uint32_t addr)
{
	if (addr)
		w->regs[w->nregs++] = addr;
}

/*
 * Counters hold something, and disabled selectors an event with the interrupt bit, as perf leaves
 * them behind. Only P6's second has no bit that disables it. Registers that restrict let nothing
 * be counted.
 */
static void leave_something(struct world *w)
{
	const struct pmu *pmu = w->pmu;

	for (unsigned i = 0; i < pmu->npmcs; i++)
		if (pmu->space == PMU_SPACE_IPF)
			world_poke(w, pmu->pmcs[i].addr,
				pmu->pmcs[i].enable ? 0x4000 + (i << 8) : !pmu->pmcs[i].num);
		else if (pmu->pmcs[i].second)
			world_poke(w, pmu->pmcs[i].addr, 0x26000205 + (i << 9));
		else if (!pmu->pmcs[i].shared && pmu->pmcs[i].enable && pmu->pmcs[i].scope)
			world_poke(w, pmu->pmcs[i].addr,
				(0x40 + i) & ~(pmu->pmcs[i].rsvd | pmu->pmcs[i].enable));
		else if (!pmu->pmcs[i].shared && pmu->pmcs[i].enable)
			world_poke(w, pmu->pmcs[i].addr, 0x130040 + i);
	for (unsigned i = 0; i < pmu->npmds; i++)
		world_poke(w, pmu->pmds[i].waddr, 0x1230 + i);
}

void world_open(struct world *w, const struct world_model *model)
{
	const struct backend_conf conf = {.model = model->name};

	*w = (struct world){.model = model, .rights = {.system = true, .kernel = true}};
	w->limits = (struct limits){.tick_ns = 1, .timer_ns = 1, .overflow_rate_max = UINT64_MAX};
	if (sim_backend_ops.open(&conf, &w->be, &w->err) < 0)
		fail_msg("%s: %s", model->name, w->err.text);
	w->hw = w->be->sim->hw;
	w->pmu = backend_cpu_pmu(w->be, WORLD_CPU);
	w->real = w->be->ops;
	w->ops = *w->real;
	w->ops.run = run_and_intrude;
	w->be->ops = &w->ops;
	w->exec.be = w->be;
	w->exec.stats = &w->stats;
	here = w;
	for (unsigned i = 0; i < w->pmu->npmcs; i++)
		add_reg(w, w->pmu->pmcs[i].addr);
	for (unsigned i = 0; i < w->pmu->npmds; i++)
		add_reg(w, w->pmu->pmds[i].addr);
	add_reg(w, w->pmu->global_ctrl);
	WANT(w, 0, w->ops.cpu_open(w->be, WORLD_CPU, &w->exec.cpu, &w->err));
	WANT(w, 0, ctx_init(&w->ctx, w->be->pmu));
	leave_something(w);
	hw_advance(w->hw, 1234567);
	world_remember(w);
}

void world_close(struct world *w)
{
	ctx_free(&w->ctx);
	w->ops.cpu_close(w->exec.cpu);
	w->ops.close(w->be);
	here = NULL;
}

void world_unload(struct world *w)
{
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_restored(w, 0, "after unload");
}

void world_in(
	const struct world_model *model, void (*test)(struct world *w, const struct world_model *m))
{
	struct world w;

	world_open(&w, model);
	test(&w, model);
	world_unload(&w);
	world_close(&w);
}

void world_each(const struct world_model *models,
	void (*test)(struct world *w, const struct world_model *m))
{
	for (; models->name; models++)
		world_in(models, test);
}

void world_remember(struct world *w)
{
	for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++)
		for (unsigned i = 0; i < w->nregs; i++)
			hw_rdmsr(w->hw, cpu, w->regs[i], &w->before[cpu][i]);
}

void world_restored(struct world *w, uint32_t but, const char *what)
{
	for (unsigned cpu = 0; cpu < WORLD_CPUS; cpu++) {
		for (unsigned i = 0; i < w->nregs; i++) {
			uint64_t now = 0;

			if ((cpu == WORLD_CPU || w->model->shared) && w->regs[i] == but)
				continue;
			hw_rdmsr(w->hw, cpu, w->regs[i], &now);
			if (now != w->before[cpu][i])
				fail_msg("%s: %s: CPU %u: 0x%" PRIx32 " holds 0x%" PRIx64
					 ", before it was 0x%" PRIx64,
					w->model->name, what, cpu, w->regs[i], now,
					w->before[cpu][i]);
		}
	}
}

void world_stopped(struct world *w, const char *what)
{
	uint64_t was[WORLD_REGS] = {0};

	for (unsigned i = 0; i < w->nregs; i++)
		was[i] = world_rdmsr(w, w->regs[i]);
	hw_advance(w->hw, 1000000);
	for (unsigned i = 0; i < w->nregs; i++)
		if (world_rdmsr(w, w->regs[i]) != was[i])
			fail_msg("%s: %s: counter 0x%" PRIx32 " still counts", w->model->name, what,
				w->regs[i]);
}

uint64_t world_rdmsr(struct world *w, uint32_t addr)
{
	uint64_t value;
	int rc = hw_rdmsr(w->hw, WORLD_CPU, addr, &value);

	if (rc < 0)
		fail_msg("%s: 0x%" PRIx32 ": %s", w->model->name, addr, err_name(-rc));
	return value;
}

void world_knob(struct world *w, const char *knob, const char *fmt, ...)
{
	char text[64];
	va_list args;
	struct err e;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (hw_knob_store(w->hw, knob, slice_of(text), &e) < 0)
		fail_msg("%s: %s", w->model->name, e.text);
}

void world_poke(struct world *w, uint32_t addr, uint64_t value)
{
	world_knob(w, "poke", "%d 0x%" PRIx32 " 0x%" PRIx64, WORLD_CPU, addr, value);
}

void world_fault(struct world *w, uint32_t addr)
{
	if (addr)
		world_knob(w, "fault", "0x%" PRIx32, addr);
	else
		world_knob(w, "fault", "%s", "");
}

void world_offline(struct world *w, bool offline)
{
	if (offline)
		world_knob(w, "offline", "%d", WORLD_CPU);
	else
		world_knob(w, "offline", "%s", "");
}

int world_command(struct world *w, struct command *cmd)
{
	struct context *ctx = w->other ? w->other : &w->ctx;
	struct executor *x = w->other_exec ? w->other_exec : &w->exec;
	int rc;

	cmd->rights = w->rights;
	cmd->limits = w->limits;
	w->verb = cmd->verb;
	w->err = (struct err){0};
	w->nops = 0;
	if (command_freezes(cmd->verb))
		exec_freeze(x, ctx);
	rc = exec_command(x, ctx, cmd, &w->err);
	if (rc == EXEC_LAST)
		rc = exec_last(x, &w->err);
	messages_publish(&ctx->messages);
	w->intrude = NULL;
	if (rc < 0 && (w->err.no != -rc || !w->err.text[0]))
		fail_msg("%s: verb %d fails with %s, but its sentence is '%s' of %s",
			w->model->name, cmd->verb, err_name(-rc), w->err.text, err_name(w->err.no));
	return rc;
}

int world_do(struct world *w, enum cmd_verb verb)
{
	struct command cmd = {.verb = verb, .load.cpu = WORLD_CPU};

	return world_command(w, &cmd);
}

static int access_one(struct world *w, enum cmd_verb verb, struct cmd_reg *reg)
{
	struct command cmd = {.verb = verb, .vector.regs = reg, .vector.nregs = 1};

	return world_command(w, &cmd);
}

int world_write(struct world *w, bool pmd, unsigned num, uint64_t value)
{
	struct cmd_reg reg = {.pmd = pmd, .num = (uint16_t)num, .value = value};

	return access_one(w, CMD_WRITE, &reg);
}

int world_read(struct world *w, bool pmd, unsigned num, uint64_t *value)
{
	struct cmd_reg reg = {.pmd = pmd, .num = (uint16_t)num};
	int rc = access_one(w, CMD_READ, &reg);

	if (rc == 0)
		*value = reg.value;
	return rc;
}

void world_program(struct world *w, uint64_t from)
{
	for (unsigned i = 0; i < w->model->npmc; i++)
		WANT(w, 0, world_write(w, false, w->model->pmc[i].num, w->model->pmc[i].value));
	for (unsigned i = 0; i < w->model->npmd; i++)
		WANT(w, 0, world_write(w, true, w->model->pmd[i].num, from));
}

void world_want(struct world *w, int rc, int want, const char *what, int line)
{
	if (rc != want)
		fail_msg("%s, line %d: %s is %s, not %s: %s", w->model->name, line, what,
			rc ? err_name(-rc) : "0", want ? err_name(-want) : "0", w->err.text);
}

void world_want_pmd(struct world *w, unsigned num, uint64_t want, int line)
{
	uint64_t value = 0;

	world_want(w, world_read(w, true, num, &value), 0, "reading a PMD", line);
	if (value != want)
		fail_msg("%s, line %d: pmd%u is %" PRIu64 ", not %" PRIu64, w->model->name, line,
			num, value, want);
}
