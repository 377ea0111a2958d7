// SPDX-License-Identifier: MIT
/*
 * Event sets over every CPU model (specification 3.1.10 to 3.1.12, 3.7): what they are, in which
 * order and when they are switched, and what can go wrong then: what test_property.c does not
 * reach. Counts are held against the model's truth. Cases named by a figure are the
 * specification's.
 */
#include "tests/unit/unit.h"
#include "tests/unit/world_sets.h"

enum { MS = 1000000 };

static void want_sentence(struct world *w, const char *has)
{
	if (!strstr(w->err.text, has))
		fail_msg("%s: '%s' does not say '%s'", w->model->name, w->err.text, has);
}

static int set_info_fails(struct world *w, unsigned id)
{
	struct command cmd = {.verb = CMD_EVTSET_READ, .evtset.id = (uint16_t)id};

	return world_command(w, &cmd);
}

static uint64_t now(struct world *w)
{
	return hw_now(w->hw);
}

EACH_MODEL(existence)
{
	uint64_t value;

	WANT(w, -EEXIST, world_set(w, CMD_EVTSET_NEW, 0));
	WANT(w, -EINVAL, world_set(w, CMD_EVTSET_DELETE, 0));
	WANT(w, -ENOENT, world_set(w, CMD_EVTSET_DELETE, 7));
	WANT(w, -ENOENT, set_info_fails(w, 7));
	WANT(w, -ENOENT, world_set_flags(w, 7, 0));
	WANT(w, -ENOENT, world_write_in(w, 7, true, 0, 1));
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 7));
	WANT(w, -EEXIST, world_set(w, CMD_EVTSET_NEW, 7));
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 65535));
	WANT(w, 0, world_write_in(w, 7, true, 0, 12));
	WANT(w, 0, world_read(w, true, 0, &value));
	WANT_EQ(w, value, 0);
	WANT_IN(w, 7, 0, 12);
	WANT(w, 0, world_set(w, CMD_EVTSET_DELETE, 7));
	WANT(w, -ENOENT, set_info_fails(w, 7));
	WANT(w, -EINVAL, world_set(w, CMD_LOAD, 7));
	/* a set that is made again has default values */
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 7));
	WANT_IN(w, 7, 0, 0);
}

/* What a new set is, set 0 among them (3.1.10). */
static void want_new(struct world *w, unsigned id)
{
	struct cmd_evtset s = world_set_info(w, id);

	WANT_EQ(w, s.id, id);
	WANT_EQ(w, s.flags, 0);
	WANT_EQ(w, s.timeout_ns, 0);
	WANT_EQ(w, s.runs, 0);
	WANT_EQ(w, s.active_ns, 0);
	WANT_EQ(w, s.remaining_ns, 0);
	for (unsigned num = 0; num < PMU_MAX_NUM; num++) {
		assert_false(regset_has(&s.switch_pmds, num));
		assert_int_equal(regset_has(&s.pmcs, num), pmu_find_pmc(w->pmu, num) >= 0);
		assert_int_equal(regset_has(&s.pmds, num),
			pmu_find_pmd(w->pmu, num) >= 0 || pmu_find_virtual(w->pmu, num) >= 0);
	}
	for (unsigned i = 0; i < w->pmu->npmds; i++)
		WANT_IN(w, id, w->pmu->pmds[i].num, 0);
	for (unsigned i = 0; i < w->pmu->npmcs; i++) {
		struct cmd_reg reg = {.num = w->pmu->pmcs[i].num, .set = (uint16_t)id};
		struct command read = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};

		WANT(w, 0, world_command(w, &read));
		WANT_EQ(w, reg.value, w->pmu->pmcs[i].def);
	}
}

EACH_MODEL(flags_and_next)
{
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 7));
	WANT(w, 0, world_set_flags(w, 7, SET_OVFL_SWITCH));
	WANT(w, -EINVAL, world_set_flags(w, 7, SET_OVFL_SWITCH | SET_TIME_SWITCH));
	WANT_EQ(w, world_set_info(w, 7).flags, SET_OVFL_SWITCH);
	/* the flag for threads stays, and is refused on a CPU (3.1.10) */
	WANT(w, 0, world_set_flags(w, 7, SET_OVFL_SWITCH | SET_EXCL_IDLE));
	WANT_EQ(w, world_set_info(w, 7).flags, SET_OVFL_SWITCH | SET_EXCL_IDLE);
	WANT(w, -EINVAL, world_do(w, CMD_LOAD));
	want_sentence(w, "7");
	WANT(w, 0, world_set_flags(w, 7, SET_OVFL_SWITCH));
	/* it need not exist before load (3.1.10) */
	WANT(w, 0, world_set_next(w, 7, 12));
	WANT_EQ(w, world_set_info(w, 7).flags, SET_OVFL_SWITCH | SET_EXPL_NEXT);
	WANT_EQ(w, world_set_info(w, 7).next, 12);
	WANT_EQ(w, world_set_info(w, 0).flags, 0);
	WANT(w, -EINVAL, world_do(w, CMD_LOAD));
	want_sentence(w, "7");
	want_sentence(w, "12");
	WANT_STATE(w, CTX_UNLOADED, 0);
	world_restored(w, 0, "a link to nowhere");
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 12));
	WANT(w, 0, world_do(w, CMD_LOAD));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	/* and may be gone again */
	WANT(w, 0, world_set(w, CMD_EVTSET_DELETE, 12));
	WANT(w, -EINVAL, world_do(w, CMD_LOAD));
	WANT(w, -EINVAL, world_set_flags(w, 7, SET_EXCL_IDLE));
	WANT(w, 0, world_set_next(w, 7, -1));
	WANT_EQ(w, world_set_info(w, 7).flags, SET_OVFL_SWITCH);
	WANT(w, 0, world_do(w, CMD_LOAD));
}

static struct command making(unsigned id, struct cmd_evtset as)
{
	struct command cmd = {.verb = CMD_EVTSET_NEW, .evtset = as};

	cmd.evtset.id = (uint16_t)id;
	cmd.evtset.there = EVTSET_RENEW;
	return cmd;
}

/* A set is made with its properties; an existing one becomes as if just made. */
EACH_MODEL(renewed)
{
	const struct cmd_evtset as = {
		.change = EVTSET_FLAGS | EVTSET_TIMEOUT | EVTSET_NEXT,
		.flags = SET_TIME_SWITCH | SET_EXPL_NEXT,
		.timeout_ns = 5,
		.has_next = true,
		.next = 3,
	};
	struct command make = making(3, as);

	w->limits.tick_ns = MS;
	WANT(w, 0, world_command(w, &make));
	WANT_EQ(w, make.evtset.fresh, true);
	WANT_EQ(w, make.evtset.timeout_ns, MS);
	WANT_EQ(w, world_set_info(w, 3).timeout_ns, MS);
	WANT_EQ(w, world_set_info(w, 3).flags, SET_TIME_SWITCH | SET_EXPL_NEXT);
	WANT(w, 0, world_write_in(w, 3, true, 0, 12));
	WANT(w, 0, world_write_in(w, 3, false, 0, world_idle_selector(w, 0)));
	WANT(w, 0, world_set(w, CMD_LOAD, 3));
	WANT(w, 0, world_do(w, CMD_START));
	make = making(3, (struct cmd_evtset){0});
	WANT(w, -EBUSY, world_command(w, &make));
	WANT_EQ(w, make.evtset.fault, FAULT_REFUSED);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT_EQ(w, world_set_info(w, 3).runs, 1);
	make = making(3, as);
	make.evtset.flags = SET_TIME_SWITCH | SET_OVFL_SWITCH;
	WANT(w, -EINVAL, world_command(w, &make));
	WANT_IN(w, 3, 0, 12);
	make = making(3, (struct cmd_evtset){0});
	WANT(w, 0, world_command(w, &make));
	WANT_EQ(w, make.evtset.fresh, false);
	WANT_EQ(w, make.evtset.fault, FAULT_NONE);
	want_new(w, 3);
	make = making(4, as);
	make.evtset.timeout_ns = 0;
	WANT(w, -EINVAL, world_command(w, &make));
	WANT(w, -ENOENT, set_info_fails(w, 4));
}

/* Made again with KEEP: its properties are the new ones alone, the rest is as it was. */
EACH_MODEL(made_again)
{
	struct command make =
		making(3, (struct cmd_evtset){
				  .change = EVTSET_FLAGS | EVTSET_TIMEOUT | EVTSET_NEXT,
				  .flags = SET_TIME_SWITCH | SET_EXPL_NEXT,
				  .timeout_ns = MS,
				  .has_next = true,
				  .next = 3,
			  });

	make.evtset.there = EVTSET_KEEP;
	WANT(w, 0, world_command(w, &make));
	WANT_EQ(w, make.evtset.fresh, true);
	WANT(w, 0, world_write_in(w, 3, true, 0, 12));
	WANT(w, 0, world_write_in(w, 3, false, 0, world_idle_selector(w, 0)));
	WANT(w, 0, world_set(w, CMD_LOAD, 3));
	make = making(3, (struct cmd_evtset){.change = EVTSET_FLAGS | EVTSET_NEXT});
	make.evtset.there = EVTSET_KEEP;
	WANT(w, -EBUSY, world_command(w, &make));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT(w, 0, world_command(w, &make));
	WANT_EQ(w, make.evtset.fresh, false);
	WANT_EQ(w, make.evtset.timeout_ns, 0);
	WANT_EQ(w, world_set_info(w, 3).flags, 0);
	WANT_EQ(w, world_set_info(w, 3).timeout_ns, 0);
	WANT_EQ(w, world_set_info(w, 3).runs, 1);
	WANT_IN(w, 3, 0, 12);
}

/* What is wrong with the element of a vector. */
EACH_MODEL(faults)
{
	struct command gone = {.verb = CMD_EVTSET_DELETE, .evtset.id = 9};
	struct command zero = {.verb = CMD_EVTSET_DELETE};
	struct command info = {.verb = CMD_EVTSET_READ, .evtset.id = 9};

	WANT(w, -ENOENT, world_command(w, &gone));
	WANT_EQ(w, gone.evtset.fault, FAULT_NOSET);
	WANT(w, -EINVAL, world_command(w, &zero));
	WANT_EQ(w, zero.evtset.fault, FAULT_REFUSED);
	WANT(w, -ENOENT, world_command(w, &info));
	WANT_EQ(w, info.evtset.fault, FAULT_NOSET);
	info.evtset.id = 0;
	WANT(w, 0, world_command(w, &info));
	WANT_EQ(w, info.evtset.fault, FAULT_NONE);
}

static void want_timeout(struct world *w, uint64_t asked, uint64_t given)
{
	WANT(w, 0, world_set_timeout(w, 0, asked));
	WANT_EQ(w, world_set_info(w, 0).timeout_ns, given);
}

/* Figure 3.35: 15 ms requested of a timer that ticks every 10 ms become 20 ms. */
IN_WORLD(figure_3_35, &world_models[4])
{
	const uint64_t most = 1000000000000000000;

	w->limits.tick_ns = 10 * MS;
	w->limits.timer_ns = 10 * MS;
	want_timeout(w, 15 * MS, 20 * MS);
	want_timeout(w, 20 * MS, 20 * MS);
	want_timeout(w, 20 * MS + 1, 30 * MS);
	want_timeout(w, 1, 10 * MS);
	/* the tick is the least, the timer's grain what it is a multiple of */
	w->limits.tick_ns = 7;
	w->limits.timer_ns = 4;
	want_timeout(w, 1, 8);
	want_timeout(w, 8, 8);
	want_timeout(w, 9, 12);
	w->limits.timer_ns = 1;
	want_timeout(w, 1, 7);
	want_timeout(w, 9, 9);
	WANT(w, -EINVAL, world_set_timeout(w, 0, 0));
	WANT(w, -ERANGE, world_set_timeout(w, 0, most + 1));
	WANT(w, -ERANGE, world_set_timeout(w, 0, UINT64_MAX));
	WANT_EQ(w, world_set_info(w, 0).timeout_ns, 9);
	want_timeout(w, most, most);
	/* what was granted stays so when the administrator changes the limits */
	w->limits.tick_ns = 10 * MS;
	want_timeout(w, 15 * MS, 15 * MS);
	w->limits.tick_ns = 20 * MS;
	WANT_EQ(w, world_set_info(w, 0).timeout_ns, 15 * MS);
}

/* What happens in the six slices of figure 3.32; the worker switches between them. */
static void six_slices(struct world *w)
{
	static const unsigned a[] = {5, 4, 6, 1, 5, 4}, b[] = {10, 10, 15, 15, 10, 15};

	for (unsigned s = 0; s < 6; s++) {
		WANT_STATE(w, CTX_RUNNING, s % 2);
		world_pass(w, MS / 2);
		world_happen(w, 0, s % 2 ? b[s] : a[s]);
		world_pass(w, MS / 2);
	}
}

static uint64_t scaled(struct world *w, unsigned set)
{
	uint64_t own = world_set_info(w, set).active_ns;
	uint64_t all = world_set_info(w, 0).active_ns + world_set_info(w, 1).active_ns;

	WANT_EQ(w, own, 3 * MS);
	WANT_EQ(w, all, 6 * MS);
	return world_pmd(w, set, 0).value * all / own;
}

/* Figure 3.32: event A is counted in set 0, B in set 1, by the same counter. */
EACH_MODEL(figure_3_32)
{
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	for (unsigned set = 0; set < 2; set++) {
		world_set_timed(w, set, MS);
		WANT(w, 0, world_write_in(w, set, false, 0, world_idle_selector(w, 0)));
	}
	WANT_RUN(w);
	six_slices(w);
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT_IN(w, 0, 0, 16);
	WANT_IN(w, 1, 0, 40);
	WANT_EQ(w, scaled(w, 0), 32);
	WANT_EQ(w, scaled(w, 1), 80);
	WANT_EQ(w, world_set_info(w, 1).runs, 3);
}

/*
 * Figure 3.3 with sets: a count keeps what is above the hardware's width while another set has
 * the counter, and the carry gets there afterwards.
 */
EACH_MODEL(figure_3_3)
{
	const uint64_t edge = 1ULL << w->pmu->counter_width;

	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	for (unsigned set = 0; set < 2; set++) {
		world_set_timed(w, set, MS);
		WANT(w, 0, world_write_in(w, set, false, 0, world_idle_selector(w, 0)));
	}
	WANT(w, 0, world_write_in(w, 0, true, 0, edge - 10));
	WANT(w, 0, world_write_in(w, 1, true, 0, 7 * edge - 3));
	WANT_RUN(w);
	for (unsigned s = 0; s < 6; s++) {
		world_happen(w, 0, 5);
		world_pass_switch(w, 2 * MS);
	}
	WANT_IN(w, 0, 0, edge + 5);
	WANT_IN(w, 1, 0, 7 * edge + 12);
	WANT_EQ(w, world_pmd(w, 0, 0).overflows, 0);
}

/* Figure 3.36: the timeout pauses while monitoring is masked, and goes on with what was left. */
EACH_MODEL(figure_3_36)
{
	const struct pmd_conf notify = {.flags = PMD_NOTIFY, .long_reset = (uint64_t)-1000};

	w->limits.tick_ns = MS / 10;
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	world_set_timed(w, 0, 10 * MS);
	world_set_timed(w, 1, 10 * MS);
	WANT(w, 0, world_write_in(w, 0, false, 0, world_idle_selector(w, 0)));
	WANT(w, 0, world_write_pmd(w, 0, 0, (uint64_t)-1000, &notify));
	WANT_RUN(w);
	world_pass(w, 4 * MS);
	WANT_EQ(w, world_set_info(w, 0).remaining_ns, 6 * MS);
	world_happen(w, 0, 1000);
	WANT(w, 0, world_do(w, CMD_POLL));
	WANT_STATE(w, CTX_MASKED, 0);
	world_pass(w, 50 * MS);
	WANT_STATE(w, CTX_MASKED, 0);
	WANT_EQ(w, world_set_info(w, 0).remaining_ns, 6 * MS);
	WANT_EQ(w, world_set_info(w, 0).active_ns, 4 * MS);
	WANT(w, 0, world_do(w, CMD_RESTART));
	world_pass(w, 6 * MS - 1);
	WANT_STATE(w, CTX_RUNNING, 0);
	WANT_EQ(w, world_set_info(w, 0).remaining_ns, 1);
	world_pass(w, 1);
	WANT_STATE(w, CTX_RUNNING, 1);
	WANT_EQ(w, world_set_info(w, 0).active_ns, 10 * MS);
	WANT_EQ(w, world_set_info(w, 1).remaining_ns, 10 * MS);
	/* a stop pauses it as well */
	world_pass(w, 3 * MS);
	WANT(w, 0, world_do(w, CMD_STOP));
	world_pass(w, 50 * MS);
	WANT_EQ(w, world_set_info(w, 1).remaining_ns, 7 * MS);
	WANT(w, 0, world_do(w, CMD_START));
	world_pass(w, 7 * MS);
	WANT_STATE(w, CTX_RUNNING, 0);
	WANT_EQ(w, world_set_info(w, 1).active_ns, 10 * MS);
}

/* Another program enables or disables the selector of the model's second counter. */
static void enable_other(struct world *w, bool enable)
{
	uint32_t sel = w->model->pmd[1].selector;
	uint64_t value = world_rdmsr(w, sel);

	world_poke(w, sel, enable ? value | EVTSEL_EN : value & ~EVTSEL_EN);
}

/*
 * Load reserves what any set uses, so that a conflict shows at load; it restores all of it when it
 * fails, and unload does.
 */
EACH_MODEL(reserve_all)
{
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 3));
	WANT(w, 0, world_write_in(w, 0, false, 0, world_idle_selector(w, 0)));
	WANT(w, 0, world_write_in(w, 3, false, 1, world_idle_selector(w, 1)));
	world_set_timed(w, 0, MS);
	world_set_timed(w, 3, MS);
	/* P6 has no enable bit there: a selector in use looks like one that was left behind. */
	if (!w->model->one_enable) {
		enable_other(w, true);
		world_remember(w);
		WANT(w, -EBUSY, world_do(w, CMD_LOAD));
		WANT_STATE(w, CTX_UNLOADED, 0);
		world_restored(w, 0, "held for another set");
		enable_other(w, false);
		world_remember(w);
	}
	WANT(w, 0, world_do(w, CMD_LOAD));
	world_unload(w);
	WANT_RUN(w);
	world_pass_switch(w, 2 * MS);
	world_unload(w);
	WANT_RUN(w);
	world_pass_switch(w, 2 * MS);
	world_pass_switch(w, 2 * MS);
	WANT(w, 0, world_do(w, CMD_STOP));
	world_stopped(w, "stopped");
}

/* A PMC written in an inactive set while loaded is reserved then, not at the switch. */
EACH_MODEL(reserve_late)
{
	if (w->model->one_enable)
		return;
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 3));
	WANT(w, 0, world_write_in(w, 0, false, 0, world_idle_selector(w, 0)));
	world_set_timed(w, 0, MS);
	WANT(w, 0, world_do(w, CMD_LOAD));
	for (int running = 0; running < 2; running++) {
		enable_other(w, true);
		WANT(w, -EBUSY, world_write_in(w, 3, false, 1, world_idle_selector(w, 1)));
		enable_other(w, false);
		WANT(w, 0, world_do(w, CMD_START));
	}
	WANT(w, 0, world_write_in(w, 3, false, 1, world_idle_selector(w, 1)));
	world_pass_switch(w, 2 * MS);
	world_happen(w, 1, 12);
	WANT_IN(w, 3, 1, 12);
	world_unload(w);
}

enum { ALL_SETS = 65536 };

/* Two sets that measure, about to be switched between. */
static uint64_t about_to_switch(struct world *w)
{
	uint64_t t;

	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	for (unsigned set = 0; set < 2; set++) {
		world_program_set(w, set, set);
		world_set_timed(w, set, MS);
	}
	WANT_RUN(w);
	t = now(w);
	hw_advance(w->hw, MS);
	return t;
}

/* Reads the model's PMD @i of @set: right or not at all. */
static void want_or_error(
	struct world *w, unsigned set, unsigned i, uint64_t want, const char *what)
{
	struct cmd_reg reg = {.pmd = true, .num = w->model->pmd[i].num, .set = (uint16_t)set};
	struct command read = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};
	int rc = world_command(w, &read);

	if (rc == 0 && reg.value != want)
		fail_msg("%s: %s: pmd%u of set %u is %" PRIu64 ", not %" PRIu64, w->model->name,
			what, reg.num, set, reg.value, want);
	if (rc < 0 && rc != -EIO && rc != -ENXIO)
		fail_msg("%s: %s: %s", w->model->name, what, w->err.text);
}

/* After a switch that went wrong at @at: each set has what it counted, or an error. */
static void want_counts(struct world *w, uint64_t from, uint64_t at, const char *what)
{
	struct ctx_info info = world_info(w);
	uint64_t end[2] = {at, at};

	if (info.state == CTX_RUNNING)
		end[info.set] = now(w);
	for (unsigned i = 0; i < w->model->npmd; i++) {
		want_or_error(w, 0, i, world_events(w, i, false, from, end[0]), what);
		want_or_error(w, 1, i, world_events(w, i, true, at, end[1]), what);
	}
}

/* A command that has failed is not due again at once, which would be for ever. */
static void want_no_retry(struct world *w, const char *what)
{
	enum cmd_verb verb;
	uint64_t in;

	if (world_due(w, 0, &in, &verb))
		fail_msg("%s: %s: ctx_wake() wants a command again at once", w->model->name, what);
}

static void start_faulting(struct world *w)
{
	world_fault(w, w->addr);
}

/* Returns false if the switch did not touch the register from operation @at on. */
static bool fault_in_switch(const struct world_model *m, uint32_t addr, unsigned at)
{
	char what[96];
	struct world w;
	uint64_t from, t;
	bool touched;
	int rc;

	snprintf(
		what, sizeof(what), "0x%" PRIx32 " faults from operation %u of a switch", addr, at);
	world_open(&w, m);
	from = about_to_switch(&w);
	w.addr = addr;
	w.at = at;
	w.intrude = start_faulting;
	t = now(&w);
	rc = world_do(&w, CMD_SWITCH);
	touched = w.touched;
	if (rc != 0 && rc != -EIO)
		fail_msg("%s: %s: %s", m->name, what, w.err.text);
	want_no_retry(&w, what);
	hw_advance(w.hw, MS / 2);
	want_counts(&w, from, t, what);
	world_fault(&w, 0);
	hw_advance(w.hw, MS / 4);
	want_counts(&w, from, t, what);
	world_fault(&w, addr);
	rc = world_do(&w, CMD_UNLOAD);
	if (rc != 0 && rc != -EIO)
		fail_msg("%s: %s: unload: %s", m->name, what, w.err.text);
	WANT_STATE(&w, CTX_UNLOADED, 0);
	world_fault(&w, 0);
	world_restored(&w, addr, what);
	world_close(&w);
	return touched;
}

/* Each register in turn, from each operation of a switch on up to the last one on it. */
TEST(faults_in_switch)
{
	struct world w;

	for (const struct world_model *m = world_models; m->name; m++) {
		uint32_t regs[WORLD_REGS];
		unsigned n;

		world_open(&w, m);
		n = w.nregs;
		memcpy(regs, w.regs, sizeof(regs));
		world_close(&w);
		for (unsigned i = 0; i < n; i++)
			for (unsigned at = 0; fault_in_switch(m, regs[i], at); at++)
				;
	}
}

static void go_offline(struct world *w)
{
	world_offline(w, true);
}

static bool offline_in_switch(const struct world_model *m, unsigned at)
{
	char what[64];
	struct world w;
	uint64_t from, t;
	bool reached;

	snprintf(what, sizeof(what), "offline from operation %u of a switch on", at);
	world_open(&w, m);
	from = about_to_switch(&w);
	w.at = at;
	w.intrude = go_offline;
	t = now(&w);
	world_do(&w, CMD_SWITCH);
	reached = w.nops > at;
	want_no_retry(&w, what);
	if (reached)
		want_counts(&w, from, t, what);
	world_offline(&w, false);
	if (reached)
		want_counts(&w, from, t, what);
	WANT(&w, 0, world_do(&w, CMD_UNLOAD));
	WANT_STATE(&w, CTX_UNLOADED, 0);
	world_stopped(&w, what);
	world_close(&w);
	return reached;
}

TEST(offline_in_switch)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned at = 0; offline_in_switch(m, at); at++)
			;
}

/* Takes a counter as perf does: selector first, then where it is to count from. */
static void steal(struct world *w)
{
	const struct pmu_pmd *pmd = &w->pmu->pmds[pmu_find_pmd(w->pmu, w->model->pmd[1].num)];
	const struct pmu_pmc *pmc = &w->pmu->pmcs[pmd->pmc];
	uint64_t thief = w->model->pmd[1].thief;

	world_poke(w, pmc->addr, thief);
	world_poke(w, pmd->waddr, 77);
}

/*
 * The second counter is taken over before operation @at. That cannot be noticed between reading its
 * selector and writing it, nor, without a global control, between stopping and reading it.
 */
static bool steal_in_switch(const struct world_model *m, unsigned at)
{
	char what[64];
	struct world w;
	uint64_t from, t;
	bool reached;
	int rc;

	snprintf(what, sizeof(what), "stolen before operation %u of a switch", at);
	world_open(&w, m);
	from = about_to_switch(&w);
	w.at = at;
	w.intrude = steal;
	t = now(&w);
	rc = world_do(&w, CMD_SWITCH);
	reached = w.nops > at;
	if (rc != 0 && rc != -EIO && rc != -EBUSY)
		fail_msg("%s: %s: %s", m->name, what, w.err.text);
	want_no_retry(&w, what);
	hw_advance(w.hw, MS / 2);
	if (reached && (!at || w.pmu->global_ctrl) &&
		world_rdmsr(&w, m->pmd[1].selector) == m->pmd[1].thief)
		want_counts(&w, from, t, what);
	WANT(&w, 0, world_do(&w, CMD_UNLOAD));
	if (reached && at == 0)
		WANT_EQ(&w, world_rdmsr(&w, m->pmd[1].selector), m->pmd[1].thief);
	for (unsigned i = 0; i < w.nregs; i++)
		if (w.regs[i] == m->pmd[1].selector || w.regs[i] == w.pmu->global_ctrl ||
			w.regs[i] == w.pmu->pmds[pmu_find_pmd(w.pmu, m->pmd[1].num)].addr)
			world_poke(&w, w.regs[i], w.before[WORLD_CPU][i]);
	world_restored(&w, 0, what);
	world_close(&w);
	return reached;
}

TEST(stolen_in_switch)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned at = 0; steal_in_switch(m, at); at++)
			;
}

/* Stolen while another set is active: that set's counts are right, the stolen one's is an error. */
EACH_MODEL(stolen_inactive)
{
	uint64_t t;
	bool running;

	if (w->model->one_enable)
		return;
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	WANT(w, 0, world_write_in(w, 0, false, w->model->pmc[0].num, w->model->pmc[0].value));
	world_program_set(w, 1, true);
	world_set_timed(w, 0, MS);
	world_set_timed(w, 1, MS);
	WANT_RUN(w);
	t = now(w);
	hw_advance(w->hw, MS / 2);
	steal(w);
	hw_advance(w->hw, MS / 2);
	WANT_IN(w, 0, w->model->pmd[0].num, world_events(w, 0, false, t, now(w)));
	t = now(w);
	world_do(w, CMD_SWITCH);
	hw_advance(w->hw, MS / 4);
	running = world_info(w).state == CTX_RUNNING && world_info(w).set == 1;
	for (unsigned i = 0; i < w->model->npmd; i++)
		want_or_error(w, 1, i, running ? world_events(w, i, true, t, now(w)) : 0,
			"stolen while inactive");
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT_EQ(w, world_rdmsr(w, w->model->pmd[1].selector), w->model->pmd[1].thief);
	world_remember(w); /* the other program goes on */
}

/* Stolen while it ran: it does not come back with its set, whatever is written to it. */
EACH_MODEL(stolen_comes_back)
{
	const uint16_t num = w->model->pmd[1].num;
	uint64_t t;

	about_to_switch(w);
	steal(w);
	world_do(w, CMD_SWITCH);
	world_set(w, CMD_START, 0);
	hw_advance(w->hw, MS / 4);
	t = now(w);
	if (world_write_in(w, 0, true, num, 0) == 0) {
		hw_advance(w->hw, MS / 4);
		want_or_error(w, 0, 1, world_events(w, 1, false, t, now(w)), "stolen before");
	}
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	/* P6 has no bit there that tells it from a leftover. */
	if (!w->model->one_enable)
		WANT_EQ(w, world_rdmsr(w, w->model->pmd[1].selector), w->model->pmd[1].thief);
	world_remember(w); /* the other program goes on */
}
