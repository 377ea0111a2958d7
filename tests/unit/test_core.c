// SPDX-License-Identifier: MIT
/* The core over every CPU model: the life of a context, other users of the PMU, faults. */
#include "base/nsec.h"
#include "daemon/core/core_i.h"
#include "daemon/percpu/interrupts.h"
#include "tests/unit/unit.h"
#include "tests/unit/world.h"

enum { FROM = 1000, NS = 1000003 };

static uint64_t events(struct world *w, uint64_t select, uint64_t from)
{
	return hw_truth(w->hw, select, hw_now(w->hw)) - hw_truth(w->hw, select, from);
}

/* Programmed, loaded and started, PMDs at FROM. */
static void run_measurement(struct world *w)
{
	world_program(w, FROM);
	WANT_RUN(w);
}

static enum ctx_state state_of(struct world *w)
{
	struct command cmd = {.verb = CMD_INFO};

	WANT(w, 0, world_command(w, &cmd));
	return cmd.info.state;
}

static void want_sentence(struct world *w, const char *has)
{
	if (!strstr(w->err.text, has))
		fail_msg("%s: '%s' does not say '%s'", w->model->name, w->err.text, has);
}

/* The time of a thread with registers of its own, which have run for half the time that passes. */
static struct hw *thread_hw;

static uint64_t half_time(struct backend_cpu *c)
{
	(void)c;
	return hw_now(thread_hw) / 2;
}

/* A thread whose registers are its own is never saved, and its time is theirs. */
EACH_WORLD(always_active)
{
	struct command load = {.verb = CMD_LOAD, .tid = 77, .load.always_active = true};
	struct command times = {.verb = CMD_EVTSET_READ};
	uint64_t start;

	if (m->shared)
		return;
	thread_hw = w->hw;
	w->ops.thread_time = half_time;
	w->exec.thread = w->rights.thread = true;
	world_program(w, FROM);
	w->ctx.active->pmd[0].switch_overhead = 5; /* Of an earlier load. */
	WANT(w, 0, world_command(w, &load));
	assert_int_equal(w->ctx.target.tid, 77);
	assert_false(ctx_saved(&w->ctx));
	world_stopped(w, "loaded");
	WANT(w, 0, world_do(w, CMD_START));
	assert_true(ctx_counts_now(&w->ctx));
	start = hw_now(w->hw);
	hw_advance(w->hw, NS);
	for (unsigned i = 0; i < m->npmd; i++)
		WANT_PMD(w, m->pmd[i].num, FROM + events(w, m->pmd[i].select, start));
	WANT(w, 0, world_command(w, &times));
	assert_int_equal(times.evtset.active_ns, hw_now(w->hw) / 2 - start / 2);
	WANT(w, 0, world_do(w, CMD_STOP));
	world_stopped(w, "stopped");
	WANT(w, 0, world_do(w, CMD_END));
	assert_true(w->ctx.target.ended);
	world_restored(w, 0, "ended");
}

EACH_WORLD(defaults)
{
	uint64_t value;

	for (unsigned i = 0; i < w->pmu->npmcs; i++) {
		WANT(w, 0, world_read(w, false, w->pmu->pmcs[i].num, &value));
		assert_int_equal(value, w->pmu->pmcs[i].def);
	}
	for (unsigned i = 0; i < w->pmu->npmds; i++)
		WANT_PMD(w, w->pmu->pmds[i].num, 0);
	if (m->pmc[0].num) /* Itanium: test_itanium.c */
		return;
	/* the interrupt bit is reserved, and so is what the PMU lacks */
	WANT(w, 0, world_write(w, false, 0, 0x5300c0));
	WANT(w, 0, world_read(w, false, 0, &value));
	assert_int_equal(value, 0x4300c0);
	WANT(w, 0, world_write(w, false, 1, ~0ULL));
	WANT(w, 0, world_read(w, false, 1, &value));
	assert_int_equal(value, ~w->pmu->pmcs[1].rsvd);
	assert_int_equal(value & (EVTSEL_INT | 1ULL << 19 | 1ULL << 21), 0);
	/* nothing programmed: load, start and unload touch nothing */
	WANT(w, 0, world_write(w, false, 0, 0));
	WANT(w, 0, world_write(w, false, 1, 0));
	WANT_RUN(w);
	WANT(w, 0, world_do(w, CMD_STOP));
	assert_int_equal(w->nops, 0);
	world_unload(w);
}

EACH_WORLD(rights)
{
	uint64_t value;

	if (m->shared)
		return;
	w->rights = (struct rights){.system = true};
	WANT(w, -EACCES, world_write(w, false, m->pmc[0].num, m->pmc[0].value));
	WANT(w, 0, world_read(w, false, m->pmc[0].num, &value));
	assert_int_equal(value, w->pmu->pmcs[pmu_find_pmc(w->pmu, m->pmc[0].num)].def);
	/* user level only */
	WANT(w, 0,
		world_write(w, false, m->pmc[0].num,
			w->pmu->space == PMU_SPACE_IPF ? 0x808 : 0x4100c0));
	w->rights = (struct rights){.kernel = true};
	WANT(w, -EPERM, world_do(w, CMD_LOAD));
	assert_int_equal(state_of(w), CTX_UNLOADED);
	world_restored(w, 0, "load without the right");
}

/* The right to a kernel-level PMC counts when it is written, and again at load and start, whatever
 * set it is in. */
IN_WORLD(kernel_rights, &world_models[4])
{
	const struct rights all = {.system = true, .kernel = true}, user = {.system = true};
	struct command set = {.verb = CMD_EVTSET_NEW, .evtset.id = 3};
	struct cmd_reg reg = {.num = 1, .set = 3, .value = 0x4200c0};
	struct command write = {.verb = CMD_WRITE, .vector.regs = &reg, .vector.nregs = 1};

	WANT(w, 0, world_command(w, &set));
	WANT(w, 0, world_command(w, &write));
	w->rights = user;
	WANT(w, -EACCES, world_do(w, CMD_LOAD));
	assert_non_null(strstr(w->err.text, "set 3: pmc1"));
	assert_int_equal(state_of(w), CTX_UNLOADED);
	world_restored(w, 0, "load without the right");
	w->rights = all;
	WANT(w, 0, world_do(w, CMD_LOAD));
	w->rights = user;
	WANT(w, -EACCES, world_do(w, CMD_START));
	assert_int_equal(state_of(w), CTX_LOADED);
	w->rights = all;
	WANT(w, 0, world_do(w, CMD_START));
	w->rights = user;
	WANT(w, 0, world_do(w, CMD_STOP));
	reg.value = 0x4100c0;
	WANT(w, 0, world_command(w, &write));
	WANT(w, 0, world_do(w, CMD_START));
}

static int set_flags(struct world *w, unsigned flags)
{
	struct command cmd = {.verb = CMD_FLAGS, .setup.flags = flags};

	return world_command(w, &cmd);
}

IN_WORLD(flags, &world_models[4])
{
	struct command info = {.verb = CMD_INFO};

	WANT(w, 0, set_flags(w, CTX_NOTIFY_BLOCK));
	WANT(w, -EINVAL, world_do(w, CMD_LOAD));
	WANT(w, -EINVAL, set_flags(w, CTX_NOTIFY_BLOCK | CTX_SYSTEM_WIDE));
	WANT(w, 0, set_flags(w, CTX_OVFL_NO_MSG));
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, 0, world_command(w, &info));
	assert_int_equal(info.info.flags, CTX_OVFL_NO_MSG | CTX_SYSTEM_WIDE);
	assert_int_equal(info.info.cpu, WORLD_CPU);
	WANT(w, -EBUSY, set_flags(w, 0));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT(w, -EBUSY, set_flags(w, 0));
}

/* Flags and format, or neither. */
IN_WORLD(setup, &world_models[4])
{
	static const pfm_buffer_fmt_t noset = {.fmt_name = "noset", .fmt_flags = PFM_FMTFL_NOSET};
	struct command setup = {
		.verb = CMD_SETUP, .setup.flags = CTX_OVFL_NO_MSG, .setup.smpl.fmt = &noset};
	struct command set = {.verb = CMD_EVTSET_NEW, .evtset.id = 1};
	struct command format = {.verb = CMD_FORMAT};

	w->rights.thread = true;
	WANT(w, 0, world_command(w, &set));
	WANT(w, -EINVAL, world_command(w, &setup));
	assert_true(!w->ctx.flags && !w->ctx.smpl.fmt);
	set.verb = CMD_EVTSET_DELETE;
	WANT(w, 0, world_command(w, &set));
	setup.setup.flags = CTX_NOTIFY_BLOCK | CTX_SYSTEM_WIDE;
	WANT(w, -EINVAL, world_command(w, &setup));
	assert_true(!w->ctx.flags && !w->ctx.smpl.fmt);
	setup.setup.flags = CTX_OVFL_NO_MSG;
	WANT(w, 0, world_command(w, &setup));
	assert_true(w->ctx.flags == CTX_OVFL_NO_MSG && w->ctx.smpl.fmt == &noset);
	/* Both may have been submitted at the same time. */
	setup.setup.smpl.in_clone = true;
	WANT(w, 0, world_command(w, &setup));
	WANT(w, -EBUSY, world_command(w, &format));
	assert_true(w->ctx.smpl.fmt == &noset);
	WANT(w, 0, world_command(w, &setup));
	setup.setup.smpl.fmt = NULL;
	WANT(w, 0, world_command(w, &setup));
	assert_null(w->ctx.smpl.fmt);
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT(w, -EBUSY, world_command(w, &setup));
}

/* The right to one type of context does not include the other. */
TEST(setup_rights)
{
	static const struct {
		struct rights rights;
		unsigned flags;
		int no;
	} cases[] = {
		{{.system = true}, CTX_SYSTEM_WIDE, 0},
		{{.system = true}, 0, -EPERM},
		{{.thread = true}, 0, 0},
		{{.thread = true}, CTX_NOTIFY_BLOCK, 0},
		{{.thread = true}, CTX_SYSTEM_WIDE, -EPERM},
		{{.kernel = true}, 0, -EPERM},
	};
	static const pfm_buffer_fmt_t fmt = {.fmt_name = "any"};
	struct world w;

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct command setup = {
			.verb = CMD_SETUP, .setup.flags = cases[i].flags, .setup.smpl.fmt = &fmt};
		unsigned flags = cases[i].no ? 0 : cases[i].flags;

		world_open(&w, &world_models[4]);
		w.rights = cases[i].rights;
		WANT(&w, cases[i].no, world_command(&w, &setup));
		assert_int_equal(w.ctx.flags, flags);
		assert_ptr_equal(w.ctx.smpl.fmt, cases[i].no ? NULL : &fmt);
		/* Without a type they do as ever: it is load that asks. */
		setup.verb = CMD_FLAGS;
		WANT(&w, 0, world_command(&w, &setup));
		world_close(&w);
	}
}

/* Which element of a vector it is that fails, and why. */
IN_WORLD(vector_faults, &world_models[4])
{
	static const struct {
		struct cmd_reg reg;
		enum cmd_verb verb;
		int no;
		enum cmd_fault fault;
	} cases[] = {
		{{.num = 8}, CMD_WRITE, -ENOENT, FAULT_NOTAVAIL},
		{{.num = 8}, CMD_READ, -ENOENT, FAULT_NOTAVAIL},
		{{.pmd = true, .num = 200}, CMD_READ, -ENOENT, FAULT_NOTAVAIL},
		{{.pmd = true, .set = 7}, CMD_WRITE, -ENOENT, FAULT_NOSET},
		{{.pmd = true, .num = 200, .set = 7}, CMD_READ, -ENOENT, FAULT_NOSET},
		{{.pmd = true, .num = 256}, CMD_WRITE, -EACCES, FAULT_REFUSED},
		{{.pmd = true, .conf.reset.bits = {1ULL << 63}}, CMD_WRITE, -EINVAL, FAULT_REFUSED},
		{{.confer = PMD_NOTICE, .conf.smpl.bits = {1ULL << 63}}, CMD_WRITE, -EINVAL,
			FAULT_REFUSED},
	};

	for (unsigned i = 0; i < COUNT(cases); i++) {
		struct cmd_reg regs[] = {{.pmd = true, .num = 1}, cases[i].reg, {.num = 8}};
		struct command cmd = {
			.verb = cases[i].verb, .vector.regs = regs, .vector.nregs = 3};

		WANT(w, cases[i].no, world_command(w, &cmd));
		assert_int_equal(regs[0].fault, FAULT_NONE);
		assert_int_equal(regs[1].fault, cases[i].fault);
		assert_int_equal(regs[2].fault, FAULT_NONE);
	}
}

/* Elements before the failing one stay applied, and the sentence names its line. */
TEST(vector)
{
	struct cmd_reg regs[] = {
		{.num = 0, .value = 0x5300c0},
		{.pmd = true, .num = 0, .value = 11},
		{.pmd = true, .num = 200, .value = 12},
		{.pmd = true, .num = 1, .value = 13},
	};
	struct command write = {
		.verb = CMD_WRITE, .vector.regs = regs, .vector.nregs = 4, .vector.first_line = 5};
	struct world w;
	uint64_t value;

	for (int loaded = 0; loaded < 2; loaded++) {
		world_open(&w, &world_models[4]);
		if (loaded)
			WANT(&w, 0, world_do(&w, CMD_LOAD));
		WANT(&w, -ENOENT, world_command(&w, &write));
		want_sentence(&w, "line 7: ");
		WANT(&w, 0, world_read(&w, false, 0, &value));
		assert_int_equal(value, 0x4300c0);
		WANT_PMD(&w, 0, 11);
		WANT_PMD(&w, 1, 0);

		/* what could not be parsed is reported when what precedes it has been applied */
		write.vector.nregs = 2;
		regs[1].value = 21;
		err_set(&write.vector.cut, ERANGE, "line 7: too much");
		WANT(&w, -ERANGE, world_command(&w, &write));
		want_sentence(&w, "line 7: too much");
		WANT_PMD(&w, 0, 21);
		write.vector.nregs = 4;
		write.vector.cut.no = 0;
		regs[1].value = 11;

		/* a single element has no line */
		write.vector.first_line = 0;
		WANT(&w, -ENOENT, world_command(&w, &write));
		assert_null(strstr(w.err.text, "line"));
		write.vector.first_line = 5;
		world_unload(&w);
		world_close(&w);
	}
}

/* Looked at in time, every wrap is counted; later than that, no number is given. */
EACH_WORLD(wraps)
{
	uint64_t wrap, t, value;

	wrap = pmu_wrap_ns(w->pmu, ~0U);
	assert_true(pmu_poll_ns(w->pmu) && pmu_poll_ns(w->pmu) < wrap);
	run_measurement(w);
	t = hw_now(w->hw);
	for (int i = 0; i < 200; i++) {
		hw_advance(w->hw, wrap);
		WANT(w, 0, world_do(w, CMD_POLL));
	}
	if (!(events(w, m->pmd[0].select, t) >> w->pmu->counter_width))
		fail_msg("%s: no counter has wrapped", m->name);
	for (unsigned i = 0; i < w->model->npmd; i++)
		WANT_PMD(w, m->pmd[i].num, FROM + events(w, m->pmd[i].select, t));

	hw_advance(w->hw, wrap + 1);
	for (unsigned i = 0; i < w->model->npmd; i++)
		WANT(w, -EIO, world_read(w, true, m->pmd[i].num, &value));
	WANT(w, 0, world_write(w, true, m->pmd[0].num, FROM));
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	WANT_PMD(w, m->pmd[0].num, FROM + events(w, m->pmd[0].select, t));
	WANT(w, -EIO, world_read(w, true, m->pmd[1].num, &value));

	hw_advance(w->hw, wrap + 1);
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT(w, -EIO, world_read(w, true, m->pmd[0].num, &value));
	world_unload(w);
	WANT(w, -EIO, world_read(w, true, m->pmd[0].num, &value));
	WANT(w, 0, world_write(w, true, m->pmd[0].num, 1));
	WANT_PMD(w, m->pmd[0].num, 1);
}

/* The row of the selector behind the model's counter @i, and the enable bits that concern it. */
static unsigned selector_row(const struct world *w, unsigned i)
{
	return w->pmu->pmds[pmu_find_pmd(w->pmu, w->model->pmd[i].num)].pmc;
}

static uint64_t enabling(const struct world *w, unsigned i)
{
	const struct pmu_pmd *pmd = &w->pmu->pmds[pmu_find_pmd(w->pmu, w->model->pmd[i].num)];

	return w->pmu->pmcs[pmd->pmc].enable & pmd->field;
}

/* An enabled selector is in use: load fails, and releases what it has reserved before. */
TEST(in_use)
{
	struct world w;

	for (const struct world_model *m = world_all; m->name; m++) {
		for (unsigned i = 0; i < m->npmd; i++) {
			uint32_t sel = m->pmd[i].selector;
			uint64_t was;

			world_open(&w, m);
			was = world_rdmsr(&w, sel);
			if (!enabling(&w, i)) { /* P6's second counter hangs on the first
						   selector */
				world_close(&w);
				continue;
			}
			world_poke(&w, sel, was | enabling(&w, i));
			world_remember(&w);
			world_program(&w, FROM);
			WANT(&w, -EBUSY, world_do(&w, CMD_LOAD));
			assert_int_equal(state_of(&w), CTX_UNLOADED);
			world_restored(&w, 0, "held");
			world_poke(&w, sel, was);
			world_remember(&w);
			WANT(&w, 0, world_do(&w, CMD_LOAD));
			world_unload(&w);
			world_close(&w);
		}
	}
}

/* A tool that programs first and enables later: there are PMUs that tell it from a leftover. */
EACH_WORLD(programmed)
{
	if (m->shared)
		return;
	world_poke(w, m->pmd[0].selector, 0x300c0);
	world_remember(w);
	world_program(w, FROM);
	WANT(w, w->pmu->inuse ? -EBUSY : 0, world_do(w, CMD_LOAD));
	world_unload(w);
}

/* The NMI watchdog counts cycles with fixed counter 1: its part of the registers is not ours. */
EACH_WORLD(watchdog)
{
	enum { FIXED_CTRL = 0x38d, GLOBAL = 0x38f, FIXED_CTR1 = 0x30a };
	const uint64_t bit = 1ULL << 33;
	uint64_t t;

	if (pmu_find_pmc(w->pmu, 16) < 0) {
		return;
	}
	world_poke(w, GLOBAL, world_rdmsr(w, GLOBAL) | bit);
	world_poke(w, FIXED_CTRL, 0xb0);
	WANT(w, 0, world_write(w, false, 16, 0x3));
	WANT(w, 0, world_do(w, CMD_LOAD));
	assert_int_equal(world_rdmsr(w, FIXED_CTRL), 0xb0);
	WANT(w, 0, world_do(w, CMD_START));
	assert_int_equal(world_rdmsr(w, FIXED_CTRL), 0xb3);
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	/* it changes its own, as it does when it is turned off */
	world_poke(w, FIXED_CTRL, 0xa3);
	WANT_PMD(w, 16, events(w, 0x300c0, t));
	assert_int_equal(world_rdmsr(w, GLOBAL) & bit, bit);
	WANT(w, -EBUSY, world_write(w, false, 16, 0x33));
	WANT_PMD(w, 16, events(w, 0x300c0, t));
	WANT(w, 0, world_do(w, CMD_STOP));
	assert_int_equal(world_rdmsr(w, FIXED_CTRL), 0xa0);
	WANT(w, 0, world_do(w, CMD_START));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	assert_int_equal(world_rdmsr(w, FIXED_CTRL), 0xa0);
	assert_int_equal(world_rdmsr(w, GLOBAL) & bit, bit);
	world_poke(w, FIXED_CTRL, 0);
	world_poke(w, GLOBAL, world_rdmsr(w, GLOBAL) & ~bit);
	world_poke(w, FIXED_CTR1, w->before[WORLD_CPU][0]);
	for (unsigned i = 0; i < w->nregs; i++)
		if (w->regs[i] == FIXED_CTR1)
			world_poke(w, FIXED_CTR1, w->before[WORLD_CPU][i]);
	world_restored(w, 0, "beside the watchdog");
}

/* Whether the model's counter @i depends on the selector that is stolen for its counter @of. */
static bool depends(const struct world *w, unsigned i, unsigned of)
{
	unsigned row = selector_row(w, i);

	if (i == of)
		return true;
	return row != selector_row(w, of) && w->pmu->pmcs[row].gate == selector_row(w, of);
}

static void restore_stolen(struct world *w, unsigned of)
{
	for (unsigned i = 0; i < w->nregs; i++) {
		bool its = w->regs[i] == w->model->pmd[of].selector ||
			   w->regs[i] == w->pmu->global_ctrl;

		for (unsigned d = 0; d < w->model->npmd; d++) {
			int row = pmu_find_pmd(w->pmu, w->model->pmd[d].num);

			its = its || (depends(w, d, of) && w->regs[i] == w->pmu->pmds[row].addr);
		}
		if (its)
			world_poke(w, w->regs[i], w->before[WORLD_CPU][i]);
	}
}

static void stolen(struct world *w, unsigned of, bool reads)
{
	const struct world_model *m = w->model;
	int row = pmu_find_pmd(w->pmu, m->pmd[of].num);
	uint32_t sel = m->pmd[of].selector, counter = w->pmu->pmds[row].addr;
	/* what of the selector concerns this counter */
	uint64_t own = w->pmu->pmcs[selector_row(w, of)].shared ? enabling(w, of) : UINT64_MAX;
	uint64_t t, value;

	run_measurement(w);
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	world_poke(w, sel, m->pmd[of].thief);
	hw_advance(w->hw, NS);
	if (reads) {
		for (unsigned i = 0; i < w->model->npmd; i++) {
			if (depends(w, i, of))
				WANT(w, -EIO, world_read(w, true, m->pmd[i].num, &value));
			else
				WANT_PMD(w, m->pmd[i].num, FROM + events(w, m->pmd[i].select, t));
		}
		WANT(w, -EBUSY, world_write(w, true, m->pmd[of].num, 0));
		WANT(w, -EBUSY, world_write(w, false, w->pmu->pmcs[selector_row(w, of)].num, 0));
		WANT(w, -EIO, world_read(w, true, m->pmd[of].num, &value));
		WANT(w, 0, world_do(w, CMD_POLL));
	}
	WANT(w, 0, world_do(w, CMD_STOP));
	for (unsigned i = 0; i < w->model->npmd; i++) {
		/* The refused write had paused its neighbours in the selector for a moment. */
		if (depends(w, i, of) || (reads && m->pmd[i].selector == sel))
			WANT(w, -EIO, world_read(w, true, m->pmd[i].num, &value));
		else
			WANT_PMD(w, m->pmd[i].num, FROM + events(w, m->pmd[i].select, t));
	}
	assert_int_not_equal(w->ctx.count.stolen, 0);
	for (unsigned i = 0; i < m->npmd; i++)
		if (m->pmd[i].selector == sel)
			assert_int_equal(world_rdmsr(w, sel) & enabling(w, i),
				i == of ? m->pmd[i].thief & enabling(w, i) : 0);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	assert_int_equal(world_rdmsr(w, sel) & own, m->pmd[of].thief & own);
	/* its counter was left to it as well, and its bit in the global control */
	assert_int_not_equal(world_rdmsr(w, counter), 0x1230 + (unsigned)row);
	if (w->pmu->global_ctrl && !m->shared)
		assert_int_not_equal(
			world_rdmsr(w, w->pmu->global_ctrl) & 1ULL << w->pmu->pmds[row].global, 0);
	restore_stolen(w, of);
	world_restored(w, 0, "stolen");
}

/* Another program takes a running counter: its count is lost, the others' are not. */
TEST(stolen)
{
	struct world w;

	for (const struct world_model *m = world_all; m->name; m++) {
		for (unsigned i = 0; i < m->npmd; i++) {
			for (int reads = 0; reads < 2; reads++) {
				uint64_t t;

				world_open(&w, m);
				stolen(&w, i, reads);
				/* the thief is gone: it can start over */
				WANT(&w, 0, world_do(&w, CMD_LOAD));
				for (unsigned d = 0; d < w.model->npmd; d++)
					WANT(&w, 0, world_write(&w, true, m->pmd[d].num, 0));
				WANT(&w, 0, world_do(&w, CMD_START));
				t = hw_now(w.hw);
				hw_advance(w.hw, NS);
				for (unsigned d = 0; d < w.model->npmd; d++)
					WANT_PMD(
						&w, m->pmd[d].num, events(&w, m->pmd[d].select, t));
				world_unload(&w);
				world_close(&w);
			}
		}
	}
}

/* What another program leaves in a stopped counter is not counted, though nothing shows it. */
EACH_WORLD(used_while_stopped)
{
	uint64_t t;

	world_program(w, FROM);
	for (int again = 0; again < 2; again++) {
		if (!again)
			WANT(w, 0, world_do(w, CMD_LOAD));
		for (unsigned i = 0; i < m->npmd; i++) {
			int row = pmu_find_pmd(w->pmu, m->pmd[i].num);

			world_poke(w, w->pmu->pmds[row].waddr, 0x1234567);
			WANT(w, 0, world_write(w, true, m->pmd[i].num, FROM));
			world_poke(w, w->pmu->pmds[row].waddr, 0x1234567);
		}
		WANT(w, 0, world_do(w, CMD_START));
		t = hw_now(w->hw);
		hw_advance(w->hw, NS);
		WANT(w, 0, world_do(w, CMD_STOP));
		for (unsigned i = 0; i < m->npmd; i++)
			WANT_PMD(w, m->pmd[i].num, FROM + events(w, m->pmd[i].select, t));
	}
}

/* Another program's write to the global control has stopped a counter of the context. */
TEST(paused)
{
	struct world w;

	for (const struct world_model *m = world_all; m->name; m++) {
		for (int reads = 0; reads < 2; reads++) {
			uint64_t t, value, bit, global;
			int row;

			world_open(&w, m);
			if (!w.pmu->global_ctrl || m->shared) {
				world_close(&w);
				continue;
			}
			row = pmu_find_pmd(w.pmu, m->pmd[1].num);
			bit = 1ULL << w.pmu->pmds[row].global;
			run_measurement(&w);
			t = hw_now(w.hw);
			hw_advance(w.hw, NS);
			global = world_rdmsr(&w, w.pmu->global_ctrl);
			world_poke(&w, w.pmu->global_ctrl, global & ~bit);
			hw_advance(w.hw, NS);
			if (reads)
				WANT(&w, -EIO, world_read(&w, true, m->pmd[1].num, &value));
			WANT_PMD(&w, m->pmd[0].num, FROM + events(&w, m->pmd[0].select, t));
			WANT(&w, 0, world_do(&w, CMD_STOP));
			WANT(&w, -EIO, world_read(&w, true, m->pmd[1].num, &value));
			WANT_PMD(&w, m->pmd[0].num, FROM + events(&w, m->pmd[0].select, t));
			WANT(&w, 0, world_write(&w, true, m->pmd[1].num, FROM));
			WANT(&w, 0, world_do(&w, CMD_START));
			t = hw_now(w.hw);
			hw_advance(w.hw, NS);
			WANT_PMD(&w, m->pmd[1].num, FROM + events(&w, m->pmd[1].select, t));
			world_unload(&w);
			world_close(&w);
		}
	}
}

/* After a stop that fails, no count can be read or written until one has succeeded. */
EACH_WORLD(stop_fails)
{
	uint64_t t, value;

	run_measurement(w);
	hw_advance(w->hw, NS);
	world_fault(w, m->pmd[0].selector);
	WANT(w, -EIO, world_do(w, CMD_STOP));
	assert_int_equal(state_of(w), CTX_RUNNING);
	world_fault(w, 0);
	for (unsigned i = 0; i < m->npmd; i++) {
		WANT(w, -EIO, world_write(w, true, m->pmd[i].num, 0));
		WANT(w, -EIO, world_read(w, true, m->pmd[i].num, &value));
	}
	WANT(w, 0, world_do(w, CMD_STOP));
	world_stopped(w, "stopped in the end");
	for (unsigned i = 0; i < m->npmd; i++)
		WANT(w, 0, world_write(w, true, m->pmd[i].num, FROM));
	WANT(w, 0, world_do(w, CMD_START));
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	for (unsigned i = 0; i < m->npmd; i++)
		WANT_PMD(w, m->pmd[i].num, FROM + events(w, m->pmd[i].select, t));
}

static void start_faulting(struct world *w)
{
	world_fault(w, w->addr);
}

/*
 * Register @addr faults from operation @at of @verb on. Returns false when the command did not
 * touch it any more, so that a later operation makes no difference. Whatever came of it: unloaded,
 * all is as it was and nothing counts.
 */
static bool fault_in(const struct world_model *m, enum cmd_verb verb, uint32_t addr, unsigned at)
{
	static const enum cmd_verb before[] = {CMD_LOAD, CMD_START, CMD_STOP, CMD_UNLOAD};
	char what[96];
	struct world w;
	bool touched;
	int rc;

	snprintf(what, sizeof(what), "0x%" PRIx32 " faults from operation %u of verb %d", addr, at,
		verb);
	world_open(&w, m);
	world_program(&w, FROM);
	for (unsigned i = 0; i < 4 && before[i] != verb; i++)
		if (before[i] != CMD_STOP)
			WANT(&w, 0, world_do(&w, before[i]));
	w.addr = addr;
	w.at = at;
	w.intrude = start_faulting;
	rc = world_do(&w, verb);
	touched = w.touched;
	if (rc != 0 && rc != -EIO)
		fail_msg("%s: %s: %s", m->name, what, w.err.text);
	if (rc == 0 && verb != CMD_UNLOAD)
		assert_int_equal(state_of(&w), verb == CMD_START ? CTX_RUNNING : CTX_LOADED);
	if (rc != 0 && verb == CMD_LOAD)
		assert_int_equal(state_of(&w), CTX_UNLOADED);
	if (rc != 0 && verb == CMD_START)
		assert_int_equal(state_of(&w), CTX_LOADED);
	rc = world_do(&w, CMD_UNLOAD);
	assert_int_equal(state_of(&w), CTX_UNLOADED);
	if (rc != 0 && rc != -EIO)
		fail_msg("%s: %s: unload: %s", m->name, what, w.err.text);
	world_fault(&w, 0);
	world_restored(&w, addr, what);
	world_close(&w);
	return touched;
}

/* Each register in turn, from each operation on of each command that moves registers. */
TEST(faults)
{
	static const enum cmd_verb verbs[] = {CMD_LOAD, CMD_START, CMD_STOP, CMD_UNLOAD};
	struct world w;

	for (const struct world_model *m = world_all; m->name; m++) {
		uint32_t regs[WORLD_REGS + 1];
		unsigned n;

		world_open(&w, m);
		n = w.nregs;
		memcpy(regs, w.regs, sizeof(w.regs));
		if (w.pmu->inuse)
			regs[n++] = w.pmu->inuse;
		world_close(&w);
		for (unsigned i = 0; i < n; i++)
			for (unsigned v = 0; v < 4; v++)
				for (unsigned at = 0; fault_in(m, verbs[v], regs[i], at); at++)
					;
	}
}

/* Reading and writing with one counter that faults: the others go on. */
EACH_WORLD(fault_running)
{
	uint64_t t, value;
	uint32_t addr;

	addr = w->pmu->pmds[pmu_find_pmd(w->pmu, m->pmd[1].num)].addr;
	run_measurement(w);
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	world_fault(w, addr);
	WANT(w, 0, world_do(w, CMD_POLL));
	WANT(w, -EIO, world_read(w, true, m->pmd[1].num, &value));
	world_fault(w, 0);
	hw_advance(w->hw, NS);
	WANT(w, -EIO, world_read(w, true, m->pmd[1].num, &value));
	WANT_PMD(w, m->pmd[0].num, FROM + events(w, m->pmd[0].select, t));
	WANT(w, 0, world_write(w, true, m->pmd[1].num, 3));
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	WANT_PMD(w, m->pmd[1].num, 3 + events(w, m->pmd[1].select, t));
}

/* The counter that other users of the PMU have taken from a backend that can tell. */
static struct {
	struct world *w;
	struct pmd_state *pmd;
	uint32_t addr;
	unsigned reads;
} evicted;

static unsigned run_evicted(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	for (unsigned i = 0; i < n; i++) {
		if (ops[i].verb == REG_READ && ops[i].addr == evicted.addr) {
			evicted.reads++;
			err_set(e, EBUSY, "other users of the PMU have it");
			return i;
		}
		if (evicted.w->real->run(c, &ops[i], 1, e) < 1)
			return i;
	}
	return n;
}

static bool interrupt_one(enum interrupt_kind kind, struct interrupt *in)
{
	*in = (struct interrupt){.kind = kind, .n = 1};
	in->time = in->now = hw_now(evicted.w->hw);
	in->counter[0].addr = evicted.addr;
	return evicted.reads++ == 0;
}

static bool interrupt_evicted(struct backend_cpu *c, struct interrupt *in)
{
	(void)c;
	return interrupt_one(INTERRUPT_EVICTED, in);
}

/* With a group's leader, which is no counter, as its source. */
static bool interrupt_throttled(struct backend_cpu *c, struct interrupt *in)
{
	(void)c;
	return interrupt_one(INTERRUPT_THROTTLED, in);
}

static bool interrupt_none(struct backend_cpu *c, struct interrupt *in)
{
	(void)c, (void)in;
	return false;
}

/* A running context whose second counter is going to be taken. */
static struct pmd_state *begin_evicted(struct world *w)
{
	int row = pmu_find_pmd(w->pmu, w->model->pmd[1].num);

	evicted.w = w;
	evicted.reads = 0;
	evicted.addr = w->pmu->pmds[row].addr;
	evicted.pmd = &w->ctx.active->pmd[row];
	run_measurement(w);
	return evicted.pmd;
}

/* Its count is lost, the other is not, and it counts again when that is asked for. */
static void end_evicted(struct world *w, const struct pmd_state *s, enum lost reason)
{
	const struct world_model *m = w->model;
	uint64_t value, t;

	assert_int_equal(s->lost, reason);
	w->ops.run = w->real->run;
	WANT(w, -EIO, world_read(w, true, m->pmd[1].num, &value));
	WANT(w, 0, world_read(w, true, m->pmd[0].num, &value));
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT(w, 0, world_write(w, true, m->pmd[1].num, 3));
	WANT(w, 0, world_do(w, CMD_START));
	t = hw_now(w->hw);
	hw_advance(w->hw, NS);
	WANT_PMD(w, m->pmd[1].num, 3 + events(w, m->pmd[1].select, t));
	world_unload(w);
}

EACH_WORLD(evicted)
{
	struct pmd_state *s;
	uint64_t value;

	s = begin_evicted(w);
	w->ops.run = run_evicted;
	WANT(w, -EIO, world_read(w, true, m->pmd[1].num, &value));
	end_evicted(w, s, LOST_EVICTED);
}

static void check_interrupted(struct world *w,
	bool (*next)(struct backend_cpu *c, struct interrupt *in), enum lost reason)
{
	struct pmd_state *s = begin_evicted(w);

	w->ops.interrupt_next = next;
	w->ctx.samples.interrupts = true;
	WANT(w, 0, world_do(w, CMD_POLL));
	w->ctx.samples.interrupts = false;
	end_evicted(w, s, reason);
}

EACH_WORLD(evicted_interrupt)
{
	check_interrupted(w, interrupt_evicted, LOST_EVICTED);
}

EACH_WORLD(throttled_interrupt)
{
	check_interrupted(w, interrupt_throttled, LOST_THROTTLED);
}

static bool interrupt_nowhere(struct backend_cpu *c, struct interrupt *in)
{
	static const uint64_t frame = 0x1000;
	bool more = interrupt_one(INTERRUPT_OVERFLOW, in);

	(void)c;
	in->addr = evicted.addr;
	in->counter[0].value = evicted.pmd->hw;
	in->where = (pfm_smpl_where_t){.ip = 0x1000,
		.pid = UINT32_MAX,
		.cpu = 3,
		.precise = PFM_SMPL_INTERRUPT,
		.nframes = 1,
		.frames = &frame};
	return more;
}

/* Of an overflow that only a reading tells of, and of a thread that ends, the kernel gives no
 * numbers: its address may be another process's. */
TEST(unknown_thread)
{
	struct world w;

	for (int tid = 0; tid <= 77; tid += 77) {
		pfm_smpl_where_t where;

		world_open(&w, &world_all[0]);
		begin_evicted(&w);
		w.ops.interrupt_next = interrupt_nowhere;
		w.ctx.samples.interrupts = true;
		w.ctx.target.tid = tid;
		w.ctx.target.pid = tid ? 70 : 0;
		w.ctx.target.always_active = tid;
		WANT(&w, 0, world_do(&w, CMD_POLL));
		where = core_where(&w.exec.run);
		w.ctx.samples.interrupts = false;
		w.ctx.target.tid = w.ctx.target.pid = 0;
		w.ctx.target.always_active = false;
		assert_int_equal(where.known, tid != 0);
		assert_int_equal(where.tid, tid);
		assert_int_equal(where.pid, tid ? 70 : 0);
		assert_int_equal(where.cpu, 3);
		assert_int_equal(where.precise, PFM_SMPL_INTERRUPT);
		assert_int_equal(where.ip, 0);
		assert_true(where.nframes == 0 && !where.frames);
		world_unload(&w);
		world_close(&w);
	}
}

/* Polled, an overflow of a thread may have the address of the thread's earlier sample alone. */
IN_WORLD(earlier_address, &world_all[0])
{
	const pfm_smpl_where_t mine = {
		.ip = 0x1000, .pid = 70, .tid = 77, .cpu = 3, .known = 1, .precise = PFM_SMPL_POLL};
	const pfm_smpl_where_t others[] = {
		{.ip = 0x2000,
			.pid = 70,
			.tid = 78,
			.cpu = 3,
			.known = 1,
			.precise = PFM_SMPL_POLL},
		{.cpu = 3, .precise = PFM_SMPL_POLL},
	};
	pfm_smpl_where_t where, secret = mine;
	struct pfm_msg msg;

	w->ctx.target = (struct ctx_target){.pid = 70, .tid = 77, .cpu = 3};
	for (unsigned i = 0; i < COUNT(others); i++) {
		/* There is none yet. */
		w->ctx.samples.earlier_ip = 0;
		where = others[i];
		ctx_set_where(&w->ctx, &where);
		assert_true(where.known && where.pid == 70 && where.tid == 77 && where.cpu == 3);
		assert_true(!where.ip && where.precise == PFM_SMPL_POLL);
		where = mine;
		ctx_set_where(&w->ctx, &where);
		assert_true(where.ip == 0x1000 && where.precise == PFM_SMPL_POLL);
		/* In the kernel, it is secret, not unknown. */
		secret.ip = 0;
		where = secret;
		ctx_set_where(&w->ctx, &where);
		assert_true(!where.ip && where.precise == PFM_SMPL_POLL);
		where = others[i];
		ctx_set_where(&w->ctx, &where);
		assert_true(where.known && where.pid == 70 && where.tid == 77 && where.cpu == 3);
		assert_true(where.ip == 0x1000 && where.precise == PFM_SMPL_EARLIER);
	}
	assert_int_equal(messages_allocate(&w->ctx.messages, 2), 0);
	message_send(&w->ctx, PFM_MSG_OVFL, 1, &where);
	message_send(&w->ctx, PFM_MSG_OVFL, 1, &mine);
	for (unsigned i = 0; i < 2; i++) {
		messages_publish(&w->ctx.messages);
		assert_int_equal(messages_take(&w->ctx.messages, &msg, 1), 1);
		assert_true(msg.ip == 0x1000);
		assert_true(msg.pmds[PFM_MSG_BV - 1] == (i ? 0 : PFM_MSG_EARLIER));
	}
	w->ctx.target = (struct ctx_target){0};
}

/* They wait as long as there were none, however often the context was read meanwhile. */
IN_WORLD(interrupts_delay, &world_all[0])
{
	static const pfm_buffer_fmt_t format;
	uint64_t begun, delay;

	begin_evicted(w);
	w->ops.interrupt_next = interrupt_throttled;
	w->ctx.samples.interrupts = true;
	begun = nsec_now(CLOCK_MONOTONIC);
	for (unsigned i = 0; i < 10; i++)
		WANT(w, 0, world_do(w, CMD_INFO));
	assert_int_equal(interrupts_delay(&w->exec, &w->ctx), NSEC_PER_SEC);
	w->ctx.smpl.fmt = &format;
	delay = interrupts_delay(&w->exec, &w->ctx);
	assert_true(delay == 20000000 || delay <= nsec_now(CLOCK_MONOTONIC) - begun);
	w->exec.interrupts_taken -= 100000000;
	assert_true(interrupts_delay(&w->exec, &w->ctx) >= 100000000);
	w->exec.interrupts_taken -= NSEC_PER_SEC;
	assert_int_equal(interrupts_delay(&w->exec, &w->ctx), NSEC_PER_SEC);
	w->ctx.smpl.fmt = NULL;
	w->ctx.samples.interrupts = false;
	world_unload(w);
}

static void want_period(
	struct world *w, const struct pmd_state *s, uint64_t want_left, uint64_t want_period)
{
	uint64_t left, period;

	assert_true(ctx_period(&w->ctx, (unsigned)(s - w->ctx.active->pmd), &left, &period));
	assert_int_equal(left, want_left);
	assert_int_equal(period, want_period);
}

/* The kernel is not told to interrupt each few events as so few are left of a random period. */
IN_WORLD(period, &world_all[0])
{
	struct pmd_state *s;

	s = begin_evicted(w);
	s->short_reset = -2000ULL;
	s->n.last_reset = -1600ULL;
	s->n.value = -3ULL;
	want_period(w, s, 3, 2000);
	s->flags |= PMD_RANDOM;
	want_period(w, s, 3, 100);
	s->n.value = -99ULL;
	want_period(w, s, 99, 100);
	s->n.value = -101ULL;
	want_period(w, s, 101, 101);
	s->n.value = s->n.last_reset;
	want_period(w, s, 1600, 1600);
	/* Without a format, a notified overflow is followed by the long value. */
	s->flags = PMD_NOTIFY;
	s->short_reset = 0;
	s->long_reset = -3000ULL;
	want_period(w, s, 1600, 3000);
	s->long_reset = 0;
	want_period(w, s, 1600, 1600);
	s->long_reset = 1ULL << 63;
	want_period(w, s, 1600, 1600);
	world_unload(w);
}

/* Without interrupts for 100 ms, a poll reads the counters. */
EACH_WORLD(evicted_silent)
{
	struct pmd_state *s;

	s = begin_evicted(w);
	w->ops.run = run_evicted;
	w->ops.interrupt_next = interrupt_none;
	w->ctx.samples.interrupts = true;
	hw_advance(w->hw, 100000000 - NS);
	WANT(w, 0, world_do(w, CMD_POLL));
	assert_int_equal(evicted.reads, 0);
	hw_advance(w->hw, 2 * NS);
	WANT(w, 0, world_do(w, CMD_POLL));
	assert_int_equal(evicted.reads, 1);
	w->ctx.samples.interrupts = false;
	end_evicted(w, s, LOST_EVICTED);
}

/* A kernel that reads a counter while it interrupts adds 2^48 to its count. */
#define LEAP (1ULL << 48)

static unsigned run_leapt(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e)
{
	unsigned done = evicted.w->real->run(c, ops, n, e);

	for (unsigned i = 0; i < done; i++)
		if (ops[i].verb == REG_READ && ops[i].addr == evicted.addr)
			ops[i].value += LEAP;
	return done;
}

static bool interrupt_leapt(struct backend_cpu *c, struct interrupt *in)
{
	(void)c;
	*in = (struct interrupt){.kind = INTERRUPT_OVERFLOW, .addr = evicted.addr, .n = 1};
	in->time = in->now = hw_now(evicted.w->hw);
	in->counter[0].addr = evicted.addr;
	in->counter[0].value = evicted.pmd->hw + LEAP;
	return evicted.reads++ == 0;
}

/* Such a counter is one of 64 bits. */
static struct pmd_state *begin_leapt(struct world *w, struct pmu *wide)
{
	struct pmd_state *s = begin_evicted(w);

	*wide = *w->pmu;
	for (unsigned d = 0; d < wide->npmds; d++)
		wide->pmds[d].width = 64;
	w->ctx.pmu = wide;
	return s;
}

EACH_WORLD(leapt)
{
	struct pmd_state *s;
	struct pmu wide;
	uint64_t value;

	s = begin_leapt(w, &wide);
	w->ops.run = run_leapt;
	WANT(w, -EIO, world_read(w, true, m->pmd[1].num, &value));
	assert_int_equal(w->ctx.count.leapt, 1);
	end_evicted(w, s, LOST_LEAPT);
}

/* It is no overflow. */
EACH_WORLD(leapt_interrupt)
{
	struct pmd_state *s;
	struct pmu wide;

	s = begin_leapt(w, &wide);
	WANT(w, 0, world_write(w, true, m->pmd[1].num, (uint64_t)-FROM));
	w->ops.interrupt_next = interrupt_leapt;
	w->ctx.samples.interrupts = true;
	WANT(w, 0, world_do(w, CMD_POLL));
	w->ctx.samples.interrupts = false;
	assert_int_equal(s->overflows, 0);
	assert_int_equal(w->ctx.count.leapt, 1);
	end_evicted(w, s, LOST_LEAPT);
}

/* The events that a reading @ns after the last one may find: 138 each ns, by a clock that may lag
 * 100 ms. */
static uint64_t believed(uint64_t ns)
{
	return (ns + 100000000) * 138;
}

/* After a random time, @more events than are believed are found, or with 0 any that are. */
static uint64_t pass_and_happen(struct world *w, uint64_t *random, uint64_t more)
{
	const unsigned num = w->model->pmd[0].num;
	uint64_t t = hw_now(w->hw), own, limit;

	*random = *random * 6364136223846793005 + 1442695040888963407;
	hw_advance(w->hw, (*random >> 32) % ((*random >> 20) % 4 ? 3000000 : 3000000000));
	own = events(w, w->model->pmd[0].select, t);
	limit = believed(hw_now(w->hw) - t);
	assert_true(own < limit);
	world_happen(w, num, (more ? limit + more : *random % 8 ? *random % limit : limit) - own);
	return more ? limit + more : own;
}

/*
 * No rate that is possible is an alarm, however late the reading is; a count that is not possible
 * is one each time, and only of its own PMD.
 */
EACH_WORLD(written)
{
	uint64_t random = 1, is, value;
	const struct pmd_state *s;

	s = &w->ctx.active->pmd[pmu_find_pmd(w->pmu, m->pmd[0].num)];
	run_measurement(w);
	WANT(w, 0, world_read(w, true, m->pmd[0].num, &is));
	for (unsigned i = 0; i < 100; i++) {
		uint64_t happened = w->happened[s - w->ctx.active->pmd];

		is += pass_and_happen(w, &random, 0);
		is += w->happened[s - w->ctx.active->pmd] - happened;
		WANT_PMD(w, m->pmd[0].num, is);
		pass_and_happen(w, &random, 69 * 3);
		WANT(w, -EIO, world_read(w, true, m->pmd[0].num, &value));
		assert_int_equal(s->lost, LOST_WRITTEN);
		WANT(w, 0, world_read(w, true, m->pmd[1].num, &value));
		WANT(w, 0, world_write(w, true, m->pmd[0].num, is = i));
	}
	hw_advance(w->hw, NS);
	WANT(w, 0, world_read(w, true, m->pmd[0].num, &value));
	assert_int_equal(w->stats.leapt, 100);
	world_poke(w, w->pmu->pmds[s - w->ctx.active->pmd].addr, 0);
	hw_advance(w->hw, NS);
	WANT(w, -EIO, world_read(w, true, m->pmd[0].num, &value));
	assert_int_equal(s->lost, LOST_WRITTEN);
	world_unload(w);
}

static void offline_in(struct world *w, enum cmd_verb verb)
{
	uint64_t value;

	world_program(w, FROM);
	if (verb == CMD_LOAD) {
		world_offline(w, true);
		WANT(w, -ENXIO, world_do(w, CMD_LOAD));
		assert_int_equal(state_of(w), CTX_UNLOADED);
		world_offline(w, false);
		return;
	}
	WANT(w, 0, world_do(w, CMD_LOAD));
	if (verb == CMD_START) {
		world_offline(w, true);
		WANT(w, -ENXIO, world_do(w, CMD_START));
		assert_int_equal(state_of(w), CTX_LOADED);
		world_offline(w, false);
		return;
	}
	WANT(w, 0, world_do(w, CMD_START));
	hw_advance(w->hw, NS);
	world_offline(w, true);
	if (verb == CMD_READ) {
		for (unsigned i = 0; i < w->model->npmd; i++)
			WANT(w, -ENXIO, world_read(w, true, w->model->pmd[i].num, &value));
		assert_int_equal(state_of(w), CTX_RUNNING);
	}
	world_offline(w, false);
}

/* The CPU is gone at one command and back at the next. */
TEST(offline)
{
	static const enum cmd_verb verbs[] = {CMD_LOAD, CMD_START, CMD_READ};
	struct world w;
	uint64_t value;

	for (const struct world_model *m = world_all; m->name; m++) {
		for (unsigned i = 0; i < 3; i++) {
			world_open(&w, m);
			offline_in(&w, verbs[i]);
			/* Linux clears AMD's global control when a CPU comes online */
			if (w.pmu->global_ctrl == 0xc0000301)
				assert_int_equal(world_rdmsr(&w, w.pmu->global_ctrl), 0);
			world_unload(&w);
			if (verbs[i] == CMD_READ) {
				WANT(&w, -ENXIO, world_read(&w, true, m->pmd[0].num, &value));
				WANT(&w, 0, world_write(&w, true, m->pmd[0].num, 4));
				WANT_PMD(&w, m->pmd[0].num, 4);
			}
			world_close(&w);
		}
	}
}

static void go_offline(struct world *w)
{
	world_offline(w, true);
}

static void rewrite(struct world *w)
{
	const struct world_model *m = w->model;
	unsigned last = m->npmc - 1;

	for (unsigned i = 0; i < m->npmd; i++)
		WANT(w, 0, world_write(w, true, m->pmd[i].num, FROM));
	WANT(w, 0, world_write(w, false, m->pmc[last].num, 0));
	WANT(w, 0, world_write(w, false, m->pmc[last].num, m->pmc[last].value));
	WANT(w, 0, world_do(w, CMD_START));
}

/* True if the start has an operation number @at. */
static bool offline_from(const struct world_model *m, unsigned at, bool rewritten)
{
	struct world w;
	bool reached;
	int rc;

	world_open(&w, m);
	world_program(&w, FROM);
	WANT(&w, 0, world_do(&w, CMD_LOAD));
	w.at = at;
	w.intrude = go_offline;
	rc = world_do(&w, CMD_START);
	reached = w.nops > at;
	if (reached) {
		assert_int_equal(rc, -ENXIO);
		assert_int_equal(state_of(&w), CTX_LOADED);
	}
	world_offline(&w, false);
	if (reached && rewritten)
		rewrite(&w);
	world_unload(&w);
	world_close(&w);
	return reached;
}

/*
 * A start fails half-way, and cannot write the old values back: the registers are the context's all
 * the same, and unload restores them when the CPU is online again, also after others have been
 * written.
 */
TEST(offline_within_start)
{
	for (const struct world_model *m = world_all; m->name; m++)
		for (unsigned at = 0; offline_from(m, at, false); at++)
			offline_from(m, at, true);
}

/* As for another worker, when the CPU is online. */
static void reopen(struct world *w)
{
	w->ops.cpu_close(w->exec.cpu);
	world_offline(w, false);
	WANT(w, 0, w->ops.cpu_open(w->be, WORLD_CPU, &w->exec.cpu, &w->err));
}

/* True if the resumption has an operation number @at. */
static bool yielded_offline_from(const struct world_model *m, unsigned at)
{
	struct world w;
	bool reached;
	int rc;

	world_open(&w, m);
	run_measurement(&w);
	WANT(&w, 0, world_do(&w, CMD_YIELD));
	reopen(&w);
	world_restored(&w, 0, "after yield");
	w.at = at;
	w.intrude = go_offline;
	rc = world_do(&w, CMD_RESUME);
	reached = w.nops > at;
	if (reached) {
		assert_int_equal(rc, -ENXIO);
		assert_int_equal(state_of(&w), CTX_RUNNING);
		assert_true(w.ctx.yielded);
		reopen(&w);
		WANT(&w, 0, world_do(&w, CMD_RESUME));
	}
	assert_int_equal(state_of(&w), CTX_RUNNING);
	assert_false(w.ctx.yielded);
	for (unsigned i = 0; i < m->npmd; i++) {
		world_happen(&w, m->pmd[i].num, 5);
		WANT_PMD(&w, m->pmd[i].num, FROM + 5);
	}
	world_offline(&w, false);
	world_unload(&w);
	world_close(&w);
	return reached;
}

/* Its CPU goes offline half-way: the context stays yielded, and can resume later. */
TEST(offline_within_resume)
{
	for (const struct world_model *m = world_all; m->name; m++)
		for (unsigned at = 0; yielded_offline_from(m, at); at++)
			;
}

/* The CPU is gone and stays so: counts are lost, and unload is possible all the same. */
TEST(offline_end)
{
	struct world w;
	uint64_t value;

	for (const struct world_model *m = world_all; m->name; m++) {
		world_open(&w, m);
		run_measurement(&w);
		hw_advance(w.hw, NS);
		world_offline(&w, true);
		WANT(&w, -ENXIO, world_do(&w, CMD_STOP));
		assert_int_equal(state_of(&w), CTX_RUNNING);
		WANT(&w, -ENXIO, world_read(&w, true, m->pmd[0].num, &value));
		WANT(&w, 0, world_do(&w, CMD_UNLOAD));
		assert_int_equal(state_of(&w), CTX_UNLOADED);
		WANT(&w, -ENXIO, world_do(&w, CMD_LOAD));
		WANT(&w, -ENXIO, world_read(&w, true, m->pmd[0].num, &value));
		world_close(&w);

		world_open(&w, m);
		run_measurement(&w);
		world_offline(&w, true);
		WANT(&w, 0, world_do(&w, CMD_DESTROY));
		assert_int_equal(state_of(&w), CTX_UNLOADED);
		world_close(&w);
	}
}

/* P6: one bit, in the first selector, has both counters count. */
TEST(p6)
{
	struct world w;
	uint64_t t, value;

	/* counter 1 alone */
	world_open(&w, &world_models[0]);
	WANT(&w, 0, world_write(&w, false, 1, 0x5300c4));
	WANT(&w, 0, world_read(&w, false, 1, &value));
	assert_int_equal(value, 0x300c4);
	WANT(&w, 0, world_do(&w, CMD_LOAD));
	world_stopped(&w, "p6 loaded");
	WANT(&w, 0, world_do(&w, CMD_START));
	t = hw_now(w.hw);
	hw_advance(w.hw, NS);
	WANT_PMD(&w, 1, events(&w, 0x300c4, t));
	WANT_PMD(&w, 0, 0);
	assert_int_equal(world_rdmsr(&w, 0xc1), 0x1230);
	WANT(&w, 0, world_do(&w, CMD_STOP));
	world_unload(&w);

	/* counter 0, selected but not enabled, does not count because of counter 1 */
	WANT(&w, 0, world_write(&w, true, 1, 0));
	WANT(&w, 0, world_write(&w, false, 0, 0x300c0));
	WANT_RUN(&w);
	t = hw_now(w.hw);
	hw_advance(w.hw, NS);
	WANT_PMD(&w, 0, 0);
	WANT_PMD(&w, 1, events(&w, 0x300c4, t));
	/* until its user enables it */
	WANT(&w, 0, world_write(&w, false, 0, 0x4300c0));
	value = hw_now(w.hw);
	hw_advance(w.hw, NS);
	WANT_PMD(&w, 0, events(&w, 0x300c0, value));
	WANT_PMD(&w, 1, events(&w, 0x300c4, t));
	WANT(&w, 0, world_write(&w, false, 0, 0));
	value = events(&w, 0x300c0, value);
	hw_advance(w.hw, NS);
	WANT_PMD(&w, 0, value);
	WANT_PMD(&w, 1, events(&w, 0x300c4, t));
	world_unload(&w);

	/* nor, while it is not enabled, can it be stolen unnoticed */
	WANT(&w, 0, world_write(&w, false, 0, 0x300c0));
	WANT_RUN(&w);
	world_poke(&w, 0x186, 0x530079);
	world_poke(&w, 0xc1, 99);
	WANT(&w, -EBUSY, world_write(&w, false, 0, 0));
	WANT(&w, -EIO, world_read(&w, true, 0, &value));
	WANT(&w, -EIO, world_read(&w, true, 1, &value));
	WANT(&w, 0, world_do(&w, CMD_UNLOAD));
	assert_int_equal(world_rdmsr(&w, 0x186), 0x530079);
	world_close(&w);
}

/*
 * What a command costs in register accesses, reads and writes, for the measurement of world.c. A
 * rise has to be argued for. These are the fewest with which every register is seen to be ours
 * before it is written, every selector is read back once it is programmed, and no counter starts
 * from what another program may have left in it.
 */
static const struct cost {
	const char *model;
	unsigned load[2], start[2], read[2], stop[2], unload[2];
} costs[] = {
	{"p6", {6, 4}, {1, 3}, {4, 0}, {4, 1}, {2, 4}},
	{"intel_v1", {6, 4}, {2, 4}, {4, 0}, {4, 2}, {2, 4}},
	{"intel_v2", {13, 7}, {5, 8}, {8, 0}, {8, 4}, {5, 7}},
	{"intel_v3", {14, 9}, {5, 9}, {9, 0}, {9, 5}, {5, 9}},
	{"intel_v4", {15, 9}, {5, 9}, {9, 0}, {9, 5}, {5, 9}},
	{"intel_v5", {15, 9}, {5, 9}, {9, 0}, {9, 5}, {5, 9}},
	{"amd_legacy", {12, 8}, {4, 8}, {8, 0}, {8, 4}, {4, 8}},
	{"amd_ext", {12, 8}, {4, 8}, {8, 0}, {8, 4}, {4, 8}},
	{"amd_v2", {14, 8}, {5, 9}, {9, 0}, {9, 5}, {5, 8}},
};

/* NULL: a model without a row, to which no costs are stated. */
static const struct cost *cost_of(const struct world_model *m)
{
	for (unsigned i = 0; i < COUNT(costs); i++)
		if (strcmp(costs[i].model, m->name) == 0)
			return &costs[i];
	return NULL;
}

static void want_cost(
	struct world *w, struct command *cmd, const unsigned want[2], const char *what)
{
	unsigned long long reads = w->be->stats.reads, writes = w->be->stats.writes;

	WANT(w, 0, world_command(w, cmd));
	reads = w->be->stats.reads - reads;
	writes = w->be->stats.writes - writes;
	if (reads != want[0] || writes != want[1])
		fail_msg("%s: %s costs %llu reads and %llu writes, not %u and %u", w->model->name,
			what, reads, writes, want[0], want[1]);
}

TEST(accesses)
{
	unsigned known = 0;
	struct world w;

	for (const struct world_model *m = world_all; m->name; m++) {
		const struct cost *cost = cost_of(m);
		struct cmd_reg regs[WORLD_MAX];
		struct command load = {.verb = CMD_LOAD, .load.cpu = WORLD_CPU},
			       start = {CMD_START};
		struct command read = {
			.verb = CMD_READ, .vector.regs = regs, .vector.nregs = m->npmd};
		struct command stop = {.verb = CMD_STOP}, unload = {.verb = CMD_UNLOAD};

		if (!cost)
			continue;
		known++;
		world_open(&w, m);
		world_program(&w, FROM);
		for (unsigned i = 0; i < w.model->npmd; i++)
			regs[i] = (struct cmd_reg){.pmd = true, .num = m->pmd[i].num};
		want_cost(&w, &load, cost->load, "load");
		want_cost(&w, &start, cost->start, "start");
		hw_advance(w.hw, NS);
		want_cost(&w, &read, cost->read, "read");
		want_cost(&w, &stop, cost->stop, "stop");
		want_cost(&w, &unload, cost->unload, "unload");
		world_restored(&w, 0, "accesses");
		world_close(&w);
	}
	assert_int_equal(known, COUNT(costs));
}

/* Starts with event @value in the first PMC: the command's note. */
static const char *start_note(struct world *w, uint64_t value)
{
	static struct command start;

	start = (struct command){.verb = CMD_START};
	WANT(w, 0, world_write(w, false, w->model->pmc[0].num, value));
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, 0, world_command(w, &start));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	return start.note.text;
}

static void want_note(struct world *w, const char *note, const char *has)
{
	if (has ? !strstr(note, has) : note[0] != '\0')
		fail_msg("%s: the note '%s' is not about %s", w->model->name, note,
			has ? has : "nothing");
}

/* What a beginner forgets, on every model: the event, its enable bit, its level. */
EACH_WORLD(notes)
{
	const struct pmu_pmc *pmc;

	if (m->shared)
		return;

	pmc = &w->pmu->pmcs[pmu_find_pmc(w->pmu, m->pmc[0].num)];
	want_note(w, start_note(w, pmc->def), "no event");
	want_note(w, start_note(w, m->pmc[0].value), NULL);
	if (!pmc->shared) {
		want_note(w, start_note(w, m->pmc[0].value & ~pmc->enable),
			pmc->enable & ~(pmc->user | pmc->kernel) ? "enable" : "level");
		want_note(w, start_note(w, m->pmc[0].value & ~pmc->user & ~pmc->kernel), "level");
	}
}

/* The note of a start with a sampling format, PMD 0 counting from @value. */
static const char *sample_note(struct world *w, uint64_t value, const struct pmd_conf *conf)
{
	static struct command start;
	struct cmd_reg r = {
		.pmd = true, .num = w->model->pmd[0].num, .value = value, .conf = *conf};
	struct command write = {.verb = CMD_WRITE, .vector.regs = &r, .vector.nregs = 1};

	start = (struct command){.verb = CMD_START};
	WANT(w, 0, world_command(w, &write));
	WANT(w, 0, world_command(w, &start));
	WANT(w, 0, world_do(w, CMD_STOP));
	return start.note.text;
}

static int record_nothing(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	(void)buf, (void)arg, (void)tstamp, (void)data;
	return 0;
}

/* A period that holds for the first sample alone. */
TEST(note_samples)
{
	static const pfm_buffer_fmt_t recorder = {
		.fmt_api = PFM_FMT_API, .fmt_name = "recorder", .fmt_handler = record_nothing};
	const struct pmd_conf none = {0}, again = {.short_reset = -1000ULL},
			      narrow = {.flags = PMD_NO64};
	struct command format = {.verb = CMD_FORMAT, .setup.smpl = {.fmt = &recorder}};

	for (unsigned sampling = 0; sampling < 2; sampling++) {
		const char *never = sampling ? "no overflow" : NULL;
		struct world w;

		world_open(&w, &world_models[4]);
		world_program(&w, 0);
		if (sampling)
			WANT(&w, 0, world_command(&w, &format));
		WANT(&w, 0, world_do(&w, CMD_LOAD));
		want_note(&w, sample_note(&w, -1000ULL, &none), sampling ? "short=" : NULL);
		want_note(&w, sample_note(&w, -1000ULL, &again), NULL);
		want_note(&w, sample_note(&w, -1000ULL, &narrow), never);
		want_note(&w, sample_note(&w, 1000, &none), never);
		want_note(&w, sample_note(&w, 1ULL << 63, &again), NULL);
		want_note(&w, sample_note(&w, (1ULL << 63) - 1, &again), never);
		world_close(&w);
	}
}

/* Sets that do not start sample, too, when they are switched to. */
IN_WORLD(note_sets, &world_models[4])
{
	static const pfm_buffer_fmt_t recorder = {
		.fmt_api = PFM_FMT_API, .fmt_name = "recorder", .fmt_handler = record_nothing};
	const struct pmd_conf none = {0};
	struct command format = {.verb = CMD_FORMAT, .setup.smpl = {.fmt = &recorder}};
	struct command set = {.verb = CMD_EVTSET_NEW, .evtset.id = 1};
	struct cmd_reg regs[2] = {{.set = 1}, {.pmd = true, .set = 1, .value = -1000ULL}};
	struct command write = {.verb = CMD_WRITE, .vector.regs = regs, .vector.nregs = 2};

	world_program(w, 0);
	regs[0].num = w->model->pmc[0].num;
	regs[1].num = w->model->pmd[0].num;
	WANT(w, 0, world_command(w, &format));
	WANT(w, 0, world_command(w, &set));
	regs[0].value = w->pmu->pmcs[pmu_find_pmc(w->pmu, regs[0].num)].def;
	WANT(w, 0, world_command(w, &write));
	WANT(w, 0, world_do(w, CMD_LOAD));
	want_note(w, sample_note(w, 1000, &none), "no overflow");
	regs[0].value = w->model->pmc[0].value;
	WANT(w, 0, world_command(w, &write));
	want_note(w, sample_note(w, 1000, &none), NULL);
}

static const char *period_note(struct world *w, uint64_t value, unsigned flags)
{
	static struct command write;
	struct cmd_reg r = {.pmd = true, .num = w->model->pmd[0].num, .value = value};

	r.conf.flags = flags;
	write = (struct command){.verb = CMD_WRITE, .vector.regs = &r, .vector.nregs = 1};
	WANT(w, 0, world_command(w, &write));
	return write.note.text;
}

IN_WORLD(note_period, &world_models[0])
{
	want_note(w, period_note(w, 1000, PMD_NOTIFY), "write -1000");
	want_note(w, period_note(w, 0, PMD_NOTIFY), "write -N");
	want_note(w, period_note(w, -1000ULL, PMD_NOTIFY), NULL);
	want_note(w, period_note(w, 1000, 0), NULL);
}

/* The last rows that a description can have are in images, and "break" leaves them. */
TEST(last_rows)
{
	static struct pmu pmu = {.npmcs = PMU_MAX_PMCS, .npmds = PMU_MAX_PMDS};
	uint64_t pmc[PMU_MAX_PMCS] = {[PMU_MAX_PMCS - 1] = EVTSEL_EN | 0xc0};
	unsigned last = PMU_MAX_PMDS - 1, seen = 0;
	struct image im;

	for (unsigned i = 0; i < PMU_MAX_PMCS; i++) {
		pmu.pmcs[i] = (struct pmu_pmc){.gate = (uint16_t)i, .enable = EVTSEL_EN};
		pmu.pmds[i] = (struct pmu_pmd){
			.pmc = (uint16_t)i, .field = UINT64_MAX, .global = (int8_t)i};
	}
	image_of(&pmu, pmc, true, &im);
	assert_true(im.pmds == ROW(last));
	assert_true(im.pmcs == ROW(PMU_MAX_PMCS - 1));
	assert_true(im.global == 1ULL << last);
	assert_int_equal(im.sel[PMU_MAX_PMCS - 1], EVTSEL_EN | 0xc0);
	for_each_row (d, ROW(5) | ROW(40) | ROW(last)) {
		seen += d;
		if (d == 40)
			break;
	}
	assert_int_equal(seen, 45);
}
