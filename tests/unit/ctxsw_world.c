// SPDX-License-Identifier: MIT
#include "tests/unit/ctxsw_world.h"
#include "tests/unit/unit.h"

static struct ctxsw_world *here; /* backend_ops.run has no argument for it */

static void stamp(struct ctxsw_world *c, const struct reg_op *op)
{
	struct line *l = c->now;

	if (op->verb != REG_WRITE && op->verb != REG_UPDATE && op->verb != REG_REPLACE)
		return;
	for (unsigned i = 0; i < l->nstamps; i++)
		if (l->stamp[i].addr == op->addr) {
			if (c->w.verb != CMD_SCHED_OUT)
				l->stamp[i].at = hw_now(c->w.hw);
			return;
		}
	l->stamp[l->nstamps].addr = op->addr;
	l->stamp[l->nstamps++].at = hw_now(c->w.hw);
}

static unsigned run_and_stamp(
	struct backend_cpu *cpu, struct reg_op *ops, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		if (!here->now)
			fail_msg("%s: verb %d of a task that is out accesses register 0x%" PRIx32,
				here->w.model->name, here->w.verb, ops[i].addr);
		hw_advance(here->w.hw, here->pace);
		if (here->run(cpu, &ops[i], 1, e) < 1)
			return i;
		stamp(here, &ops[i]);
	}
	return n;
}

/* Commands are for @ctx, and may access the line's registers. */
static struct world *at(struct ctxsw_world *c, struct line *l, struct context *ctx)
{
	c->now = l;
	l->nstamps = 0;
	c->w.other = ctx;
	c->w.other_exec = l->exec;
	return &c->w;
}

static void load_scratch(struct ctxsw_world *c, struct line *l)
{
	struct command load = {.verb = CMD_LOAD, .load.cpu = l->cpu};

	WANT(&c->w, 0, world_command(at(c, l, l->scratch), &load));
}

static void unload_scratch(struct ctxsw_world *c, struct line *l)
{
	int rc = world_do(at(c, l, l->scratch), CMD_UNLOAD);

	if (rc < 0)
		fail_msg("%s: unloading CPU %u: %s", c->w.model->name, l->cpu, c->w.err.text);
	ctx_free(l->scratch);
	WANT(&c->w, 0, ctx_init(l->scratch, c->w.be->pmu));
}

void ctxsw_open(struct ctxsw_world *c, const struct world_model *model)
{
	memset(c, 0, sizeof(*c));
	world_open(&c->w, model);
	here = c;
	/* The second line is of another type, if there are several. */
	if (c->w.be->types)
		c->w.pmu = &c->w.be->types->of[(1U << c->w.be->types->n) - 1];
	c->w.rights.thread = true;
	c->run = c->w.ops.run;
	c->w.ops.run = run_and_stamp;
	c->exec = (struct executor){.be = c->w.be, .stats = &c->w.stats};
	c->line[0] = (struct line){.cpu = WORLD_CPU, .exec = &c->w.exec, .scratch = &c->w.ctx};
	c->line[1] = (struct line){.cpu = WORLD_CPU + 1, .exec = &c->exec, .scratch = &c->scratch};
	WANT(&c->w, 0, c->w.ops.cpu_open(c->w.be, c->line[1].cpu, &c->exec.cpu, &c->w.err));
	WANT(&c->w, 0, ctx_init(&c->scratch, c->w.be->pmu));
	for (unsigned l = 0; l < LINES; l++)
		load_scratch(c, &c->line[l]);
	for (unsigned i = 0; i < TASKS; i++) {
		WANT(&c->w, 0, ctx_init(&c->task[i], c->w.be->pmu));
		c->task[i].target.pid = TASK_PID + (int)i;
	}
	task(c, 0);
}

void ctxsw_close(struct ctxsw_world *c)
{
	for (unsigned i = 0; i < TASKS; i++)
		ctx_free(&c->task[i]);
	ctx_free(&c->scratch);
	c->w.ops.cpu_close(c->exec.cpu);
	world_close(&c->w);
	here = NULL;
}

void ctxsw_unload(struct ctxsw_world *c)
{
	for (unsigned l = 0; l < LINES; l++) {
		if (c->line[l].in)
			line_sched_out(c, l);
		unload_scratch(c, &c->line[l]);
	}
}

void ctxsw_end(struct ctxsw_world *c)
{
	ctxsw_unload(c);
	world_restored(&c->w, 0, "in the end");
	ctxsw_close(c);
}

struct world *task(struct ctxsw_world *c, unsigned i)
{
	c->now = NULL;
	c->w.other = &c->task[i];
	c->w.other_exec = c->line[i % LINES].exec; /* any will do */
	return &c->w;
}

struct world *line_scratch(struct ctxsw_world *c, unsigned line)
{
	return at(c, &c->line[line], c->line[line].scratch);
}

void task_load(struct ctxsw_world *c, unsigned i)
{
	struct command load = {.verb = CMD_LOAD,
		.tid = TASK_TID + (int)i,
		.load.pmu = c->w.be->types ? c->w.pmu : NULL};

	WANT(&c->w, 0, world_command(task(c, i), &load));
	assert_true(ctx_saved(&c->task[i]));
}

uint64_t program_select(const struct ctxsw_world *c, enum program program, unsigned i)
{
	uint64_t select = c->w.model->pmd[i].select;

	if (program == COUNT_FIRST)
		return i ? 0 : select & ~EVTSEL_USR;
	return program == COUNT_USER ? select & ~EVTSEL_OS : select;
}

void task_program(struct ctxsw_world *c, unsigned set, enum program program, uint64_t from)
{
	const struct world_model *m = c->w.model;

	world_program_set(&c->w, set, program == COUNT_USER);
	for (unsigned i = 0; program == COUNT_FIRST && i < m->npmc; i++)
		WANT(&c->w, 0,
			world_write_in(&c->w, set, false, m->pmc[i].num,
				i ? 0 : m->pmc[i].value & ~EVTSEL_USR));
	for (unsigned i = 0; i < m->npmd; i++)
		WANT(&c->w, 0, world_write_in(&c->w, set, true, m->pmd[i].num, from));
}

static int write_pmcs(struct ctxsw_world *c, struct line *l, const struct evtset *set)
{
	const struct pmu *pmu = c->w.pmu;
	struct cmd_reg regs[PMU_MAX_PMCS] = {{0}};
	struct command write = {.verb = CMD_WRITE, .vector.regs = regs, .vector.nregs = pmu->npmcs};

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		regs[p].num = pmu->pmcs[p].num;
		regs[p].value = set->pmc[p];
	}
	return world_command(at(c, l, l->scratch), &write);
}

static int reserve(struct ctxsw_world *c, struct line *l, struct context *ctx)
{
	int rc = 0;

	for (unsigned s = 0; rc == 0 && s < ctx->nsets; s++)
		if (!ctx_has_reserved(ctx, &l->scratch->own))
			rc = write_pmcs(c, l, ctx->sets[s]);
	return rc;
}

int line_prepare(struct ctxsw_world *c, unsigned line, unsigned i)
{
	struct context *ctx = &c->task[i];
	struct line *l = &c->line[line];
	int rc = reserve(c, l, ctx);

	assert_null(l->in);
	if (rc == -EBUSY || (rc == 0 && !ctx_has_reserved(ctx, &l->scratch->own))) {
		unload_scratch(c, l);
		load_scratch(c, l);
		rc = reserve(c, l, ctx);
	}
	task(c, i);
	return rc;
}

void task_start(struct ctxsw_world *c, unsigned i, enum program program, uint64_t from)
{
	task(c, i);
	task_program(c, 0, program, from);
	task_load(c, i);
	for (unsigned l = 0; l < LINES; l++)
		WANT(&c->w, 0, line_prepare(c, l, i));
	WANT(&c->w, 0, world_do(&c->w, CMD_START));
}

bool line_sched_in(struct ctxsw_world *c, unsigned line, unsigned i)
{
	struct line *l = &c->line[line];
	struct context *ctx = &c->task[i];

	assert_null(l->in);
	assert_true(ctx_saved(ctx));
	ctx->res = &l->scratch->own;
	ctx->target.cpu = l->cpu;
	WANT(&c->w, 0, world_do(at(c, l, ctx), CMD_SCHED_IN));
	if (!ctx_saved(ctx))
		l->in = ctx;
	c->now = NULL;
	return l->in;
}

void line_sched_out(struct ctxsw_world *c, unsigned line)
{
	struct line *l = &c->line[line];
	struct context *ctx = l->in;

	WANT(&c->w, 0, world_do(at(c, l, ctx), CMD_SCHED_OUT));
	assert_true(ctx_saved(ctx));
	l->in = NULL;
	c->now = NULL;
}

void line_run_window(struct ctxsw_world *c, unsigned line, unsigned i, uint64_t ns)
{
	assert_true(line_sched_in(c, line, i));
	hw_advance(c->w.hw, ns);
	line_sched_out(c, line);
}

uint64_t line_stamp(const struct ctxsw_world *c, unsigned line, unsigned i)
{
	const struct pmu *pmu = c->w.pmu;
	const struct pmu_pmd *pmd = &pmu->pmds[pmu_find_pmd(pmu, c->w.model->pmd[i].num)];
	uint32_t addr = pmu->pmcs[pmu->pmcs[pmd->pmc].gate].addr;

	if (pmu->global_ctrl)
		addr = pmu->global_ctrl;
	for (unsigned s = 0; s < c->line[line].nstamps; s++)
		if (c->line[line].stamp[s].addr == addr)
			return c->line[line].stamp[s].at;
	return hw_now(c->w.hw);
}

void line_reopen(struct ctxsw_world *c, unsigned line)
{
	struct line *l = &c->line[line];

	unload_scratch(c, l);
	c->w.ops.cpu_close(l->exec->cpu);
	WANT(&c->w, 0, c->w.ops.cpu_open(c->w.be, l->cpu, &l->exec->cpu, &c->w.err));
	load_scratch(c, l);
	c->now = NULL;
}

void ctxsw_each_model(void (*test)(struct ctxsw_world *c))
{
	struct ctxsw_world c;

	for (const struct world_model *m = world_models; m->name; m++) {
		ctxsw_open(&c, m);
		test(&c);
		ctxsw_end(&c);
	}
}
