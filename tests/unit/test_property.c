// SPDX-License-Identifier: MIT
/*
 * Random programs of commands against a slow and obvious reference: everything is exact while
 * nothing interferes. When counters are stolen and registers fault, a count is exact or an error.
 * In the end the registers are what they were.
 *
 * PROPERTY_SEEDS=N runs seeds 0 to N-1 instead of the first few; PROPERTY_SEED=N runs that one, and
 * tells what it does.
 */
#include "tests/unit/reference.h"
#include "tests/unit/unit.h"

enum { SEEDS = 8, STEPS = 200, POLLS = 12, FEW = 4 };

static bool tells(void)
{
	return getenv("PROPERTY_SEED");
}

static uint64_t first_seed(void)
{
	return tells() ? strtoul(getenv("PROPERTY_SEED"), NULL, 10) : 0;
}

static uint64_t last_seed(void)
{
	const char *env = getenv("PROPERTY_SEEDS");

	if (tells())
		return first_seed();
	return (env ? strtoul(env, NULL, 10) : SEEDS) - 1;
}

/* A run of one program. */
struct play {
	struct world w;
	struct reference ref;
	uint64_t rnd;
	uint64_t wrap;                      /* how long a counter may be left alone */
	bool plain;                         /* no overflow has consequences */
	bool is_other;                      /* of world_others */
	unsigned few[FEW];                  /* counters of such a model that most steps use */
	bool broken;                        /* the CPU was offline: its registers are not checked */
	uint32_t touched[2 * PMU_MAX_PMDS]; /* written by the disturbance, or faulting */
	unsigned ntouched;
};

static uint64_t pick(struct play *p, const uint64_t *from, unsigned n)
{
	return from[below(&p->rnd, n)];
}

static bool one_in(struct play *p, unsigned n)
{
	return below(&p->rnd, n) == 0;
}

static const struct ref_set *any_set(struct play *p)
{
	return &p->ref.sets[below(&p->rnd, p->ref.nsets)];
}

/* One that there is, or in one case of four perhaps not. */
static unsigned set_id(struct play *p)
{
	static const uint64_t ids[] = {0, 1, 2, 7, 300, 65535};

	return one_in(p, 4) ? (unsigned)pick(p, ids, REF_SETS) : any_set(p)->id;
}

/* A CCCR that is enabled, or not; an ESCR with levels, also those of the sibling, to be dropped. */
static uint64_t random_netburst(struct play *p, const struct pmu_pmc *pmc)
{
	static const uint64_t events[] = {
		0x13 << 25 | 1 << 9, 2 << 25 | 1 << 9, 4 << 25 | 0x1e << 9, 0x34 << 25 | 0x12 << 9};
	uint64_t bits = random_bits(&p->rnd), event = pick(p, events, 4);
	uint64_t choice = below(&p->rnd, one_in(p, 4) ? PMU_ESCRS : 2);

	if (!pmc->escr_select)
		return event | (bits & 0xf);
	bits &= ~(pmc->enable | pmc->escr_select);
	return bits | choice << 13 | (one_in(p, 4) ? 0 : pmc->enable);
}

/* Where the simulated program executes, and what it accesses; levels, and bits that differ. */
static uint64_t random_breakpoint(struct play *p, uint32_t addr)
{
	static const uint64_t starts[] = {
		0x4000000000000800, 0xa000000100000000, 0x6000000000004000, 0xe000000000004000};
	static const uint64_t levels[] = {0, 1, 8, 9};
	uint64_t start = pick(p, starts, 4), level = pick(p, levels, 4);

	if (addr & 1)
		return level << 56 | ((1ULL << 56) - (1ULL << below(&p->rnd, 10)));
	return start + 8 * below(&p->rnd, 16);
}

/*
 * Nothing is captured: test_itanium.c; nor is event 0x11 counted, the number of captured branches,
 * which is another one if PMC12 is stolen. Of what restricts, few bits differ from the default.
 */
static uint64_t random_itanium(struct play *p, const struct pmu_pmc *pmc)
{
	static const uint64_t events[] = {0x08, 0x12, 0x34, 0x50, 0xcd, 0xd1};
	static const uint64_t levels[] = {0, 1, 8, 9, 9};
	uint64_t bits = random_bits(&p->rnd), few = random_bits(&p->rnd);
	uint64_t event = pick(p, events, 6), level = pick(p, levels, 5);

	if (pmc->addr >= PMU_IPF_IBR)
		return random_breakpoint(p, pmc->addr);
	if (pmc->num == 0)
		return one_in(p, 4) ? bits : bits & ~1ULL;
	if (pmc->restricts)
		return pmc->def ^ (bits & few & random_bits(&p->rnd));
	if (pmc->num >= 10)
		return bits & ~pmc->enable;
	return (bits & 0xf) << 16 | event << 8 | level;
}

static uint64_t random_selector(struct play *p, unsigned row)
{
	static const uint64_t events[] = {0xc0, 0xc4, 0xc5, 0x3c, 0x76, 0xc2, 0x1234};
	const struct pmu *pmu = p->w.pmu;
	uint64_t value = pick(p, events, 7);

	if (one_in(p, 6))
		return pmu->pmcs[row].def;
	if (p->is_other)
		return pmu->space == PMU_SPACE_IPF ? random_itanium(p, &pmu->pmcs[row])
						   : random_netburst(p, &pmu->pmcs[row]);
	if (pmu->pmcs[row].shared)
		return random_bits(&p->rnd);
	value |= (uint64_t)below(&p->rnd, 4) << 16; /* USR, OS */
	if (below(&p->rnd, 4))
		value |= EVTSEL_EN;
	if (below(&p->rnd, 2))
		value |= EVTSEL_INT; /* to be dropped */
	return value;
}

static uint64_t random_period(struct play *p)
{
	static const uint64_t upto[] = {1, 2, 1000, 100000, 1000000, 1000000000};
	uint64_t bits = random_bits(&p->rnd);

	return one_in(p, 8) ? bits : -(bits % pick(p, upto, 6));
}

static uint64_t random_count(struct play *p, unsigned row)
{
	unsigned width = p->w.pmu->pmds[row].width;

	if (width == 64)
		return random_bits(&p->rnd);
	switch (below(&p->rnd, p->plain ? 5 : 9)) {
	case 0:
		return 0;
	case 1:
		return (1ULL << width) - 1 - below(&p->rnd, 100000);
	case 2:
		return (uint64_t) - (int64_t)below(&p->rnd, 100000);
	case 3:
		return 0x7fffffff - below(&p->rnd, 1000);
	case 4:
		return random_bits(&p->rnd);
	default:
		return random_period(p);
	}
}

static struct regset random_list(struct play *p)
{
	struct regset list = {0};

	for (unsigned d = 0; d < p->w.pmu->npmds; d++)
		if (one_in(p, 4))
			regset_add(&list, p->w.pmu->pmds[d].num);
	return list;
}

/* What happens when it overflows: some of them just wrap around. */
static struct pmd_conf random_conf(struct play *p)
{
	static const uint64_t masks[] = {0, 1, 0xff, 0xffff, 0x7fffffff, 0xf00000000f, UINT64_MAX};
	static const uint64_t seeds_[] = {0, 1, 42, 0x7fffffff, 0xffffffff};
	struct pmd_conf conf = {0};

	if (p->plain || one_in(p, 4))
		return conf;
	conf.short_reset = random_period(p);
	conf.long_reset = random_period(p);
	conf.thresh = one_in(p, 3) ? 0 : 1 + below(&p->rnd, 4);
	conf.flags = one_in(p, 3) ? PMD_NOTIFY : 0;
	conf.flags |= one_in(p, 3) ? PMD_RANDOM : 0;
	conf.flags |= one_in(p, 12) ? PMD_NO64 : 0;
	conf.mask = pick(p, masks, 7);
	conf.seed = (uint32_t)pick(p, seeds_, 5);
	conf.eventid = random_bits(&p->rnd);
	conf.smpl = random_list(p);
	conf.reset = one_in(p, 2) ? random_list(p) : conf.reset;
	return conf;
}

static unsigned any_counter(struct play *p)
{
	return p->is_other && !one_in(p, 4) ? p->few[below(&p->rnd, FEW)]
					    : below(&p->rnd, p->w.pmu->npmds);
}

static unsigned any_selector(struct play *p)
{
	return p->is_other && !one_in(p, 4) ? p->w.pmu->pmds[any_counter(p)].pmc
					    : below(&p->rnd, p->w.pmu->npmcs);
}

static uint64_t write_selector(struct play *p, unsigned set, unsigned row)
{
	struct cmd_reg reg = {.num = p->w.pmu->pmcs[row].num, .set = (uint16_t)set};

	reg.value = random_selector(p, row);
	reference_write(&p->ref, &reg);
	return reg.value;
}

static void write_pmc(struct play *p)
{
	unsigned row = any_selector(p), set = any_set(p)->id;
	int escr = pmu_escr_of(p->w.pmu, row, write_selector(p, set, row));

	if (escr >= 0 && !one_in(p, 3))
		write_selector(p, set, (unsigned)escr);
	/* It has perhaps stopped and read counters; what they have found is told now. */
	if (p->ref.state == CTX_RUNNING)
		reference_do(&p->ref, CMD_POLL, -1);
}

/*
 * Polls first if the PMD has an overflow that no reading has found: whether a write drops it is not
 * specified. Nor is the outcome of a switch whose trigger is written before restart.
 */
static void write_pmd(struct play *p)
{
	unsigned row = any_counter(p);
	struct cmd_reg reg = {.pmd = true, .num = p->w.pmu->pmds[row].num, .set = any_set(p)->id};

	reg.value = random_count(p, row);
	reg.conf = random_conf(p);
	if (reg.set == p->ref.active && reference_unseen(&p->ref, row))
		reference_do(&p->ref, CMD_POLL, -1);
	if (p->ref.due >> row & 1)
		return;
	reference_write(&p->ref, &reg);
	if (p->ref.state == CTX_RUNNING && one_in(p, 2))
		reference_do(&p->ref, CMD_POLL, -1);
}

static uint64_t random_time(struct play *p)
{
	const uint64_t upto[] = {1000, 100000, 1000000, 30 * p->w.limits.tick_ns};
	uint64_t bits = random_bits(&p->rnd);

	return bits % (one_in(p, 20) ? p->wrap / 2 : pick(p, upto, 4));
}

/* The worker polls late, but before a counter wraps twice. */
static void come_late(struct play *p)
{
	uint64_t ns = random_time(p), now = hw_now(p->w.hw);

	if (now - p->ref.read_at + ns >= p->wrap)
		reference_do(&p->ref, CMD_POLL, -1);
	reference_advance(&p->ref, ns);
}

static void write_set(struct play *p)
{
	static const unsigned flags[] = {0, SET_TIME_SWITCH, SET_TIME_SWITCH, SET_OVFL_SWITCH,
		SET_OVFL_SWITCH | SET_TIME_SWITCH};
	const struct ref_set *s = any_set(p);
	struct cmd_evtset set = {.id = s->id};

	switch (below(&p->rnd, 3)) {
	case 0:
		set.change = EVTSET_FLAGS;
		set.flags = flags[below(&p->rnd, p->plain ? 3 : 5)];
		if (!one_in(p, 4))
			set.flags |= s->flags & SET_EXPL_NEXT;
		break;
	case 1:
		set.change = EVTSET_TIMEOUT;
		set.timeout_ns = 1 + random_bits(&p->rnd) % (20 * p->w.limits.tick_ns);
		break;
	default:
		set.change = EVTSET_NEXT;
		set.has_next = one_in(p, 2);
		set.next = one_in(p, 20) ? (uint16_t)set_id(p) : any_set(p)->id;
	}
	reference_set_write(&p->ref, &set);
}

static void change_sets(struct play *p)
{
	unsigned id = set_id(p);

	if (p->ref.state != CTX_UNLOADED && !one_in(p, 8))
		return;
	switch (below(&p->rnd, 6)) {
	case 0:
	case 1:
		reference_set_new(&p->ref, id);
		break;
	case 2:
		reference_set_delete(&p->ref, id);
		break;
	default:
		write_set(p);
	}
}

static void start(struct play *p)
{
	int set = one_in(p, 3) ? (int)set_id(p) : -1;

	if (set < 0 || p->ref.state != CTX_MASKED)
		reference_do(&p->ref, CMD_START, set);
}

static void any_verb(struct play *p)
{
	static const enum cmd_verb verbs[] = {CMD_STOP, CMD_UNLOAD, CMD_POLL, CMD_RESTART};

	switch (below(&p->rnd, 4)) {
	case 0:
		reference_do(&p->ref, CMD_LOAD, one_in(p, 2) ? (int)set_id(p) : -1);
		break;
	case 1:
		start(p);
		break;
	default:
		reference_do(&p->ref, verbs[below(&p->rnd, 4)], -1);
	}
}

static void read_all(struct play *p)
{
	struct pfm_msg msg;

	reference_check_each(&p->ref);
	for (unsigned i = 0; i < p->ref.nsets; i++)
		world_set_info(&p->w, p->ref.sets[i].id);
	if (one_in(p, 2))
		world_message(&p->w, &msg);
	reference_work(&p->ref);
}

static void check(struct play *p)
{
	if (p->ref.blind) {
		read_all(p);
		return;
	}
	if (p->plain) {
		reference_check_each(&p->ref);
		p->ref.read_at = hw_now(p->w.hw);
		return;
	}
	reference_check(&p->ref, below(&p->rnd, 1000));
	/* With nothing left to be found, it is the same one by one. */
	if (one_in(p, 4))
		reference_check_each(&p->ref);
	reference_check_sets(&p->ref);
	if (one_in(p, 4))
		reference_messages(&p->ref, 1 + below(&p->rnd, one_in(p, 4) ? REF_QUEUE + 1 : 3));
}

/* On with it, from whatever state it is in. */
static void go_on(struct play *p)
{
	static const enum cmd_verb verbs[] = {
		[CTX_UNLOADED] = CMD_LOAD,
		[CTX_LOADED] = CMD_START,
		[CTX_RUNNING] = CMD_POLL,
		[CTX_MASKED] = CMD_RESTART,
	};

	reference_do(&p->ref, verbs[p->ref.state], -1);
	reference_pass(&p->ref, random_time(p), POLLS);
}

/* Some sets that count and are switched between, before anything goes wrong. */
static void set_up(struct play *p)
{
	for (unsigned i = below(&p->rnd, 4); i; i--)
		reference_set_new(&p->ref, set_id(p));
	for (unsigned i = 0; i < p->ref.nsets; i++) {
		struct cmd_evtset set = {
			.id = p->ref.sets[i].id, .change = EVTSET_TIMEOUT, .timeout_ns = 1};

		reference_set_write(&p->ref, &set);
	}
	for (unsigned i = 0; i < 4 * p->ref.nsets; i++)
		write_set(p);
	for (unsigned i = 0; i < 4 * p->ref.nsets; i++) {
		write_pmc(p);
		write_pmd(p);
	}
}

static void random_command(struct play *p)
{
	for (unsigned i = one_in(p, 50) ? 50 : 0; i; i--)
		go_on(p);
	switch (below(&p->rnd, 13)) {
	case 0:
		write_pmc(p);
		break;
	case 1:
		write_pmd(p);
		break;
	case 2:
	case 3:
	case 4:
	case 5:
		go_on(p);
		break;
	case 6:
		reference_pass(&p->ref, random_time(p), POLLS);
		break;
	case 7:
		come_late(p);
		break;
	case 8:
		check(p);
		break;
	case 9:
		check(p);
		break;
	case 10:
		change_sets(p);
		break;
	default:
		any_verb(p);
	}
}

static void no_messages(struct play *p)
{
	struct command cmd = {.verb = CMD_FLAGS, .setup.flags = CTX_OVFL_NO_MSG};

	WANT(&p->w, 0, world_command(&p->w, &cmd));
	p->ref.no_messages = true;
}

/* NetBurst: any; Itanium: those that count, PMD4 to 7. */
static void choose_few(struct play *p)
{
	const struct pmu *pmu = p->w.pmu;

	p->is_other = pmu->space == PMU_SPACE_IPF || pmu->pmcs[pmu->pmds[0].pmc].escr_select;
	for (unsigned i = 0; p->is_other && i < FEW; i++)
		p->few[i] = pmu->space == PMU_SPACE_IPF ? FEW + i : below(&p->rnd, pmu->npmds);
}

static void play_open(struct play *p, const struct world_model *m, uint64_t seed, const char *what)
{
	static const uint64_t ticks[] = {1, 1009, 50021, 1000003};
	static const uint64_t timers[] = {1, 17, 1009};
	static const uint64_t rates[] = {5, 100, 20000};

	*p = (struct play){.rnd = seed * 0x100000001b3};
	world_open(&p->w, m);
	p->w.limits.tick_ns = pick(p, ticks, 4);
	p->w.limits.timer_ns = pick(p, timers, 3);
	p->w.limits.overflow_rate_max = pick(p, rates, 3);
	choose_few(p);
	reference_init(&p->ref, &p->w);
	p->ref.tell = tells();
	if (one_in(p, 8))
		no_messages(p);
	p->wrap = pmu_wrap_ns(p->w.pmu, ~0U);
	snprintf(p->ref.seen, sizeof(p->ref.seen), "%s %s, seed %" PRIu64, m->name, what, seed);
}

static void say_step(struct play *p, unsigned step)
{
	char *at = strstr(p->ref.seen, ", step");
	size_t n = at ? (size_t)(at - p->ref.seen) : strlen(p->ref.seen);

	snprintf(p->ref.seen + n, sizeof(p->ref.seen) - n, ", step %u", step);
}

static void play_undisturbed(const struct world_model *m, uint64_t seed)
{
	struct play p;

	play_open(&p, m, seed, "alone");
	set_up(&p);
	for (unsigned step = 0; step < STEPS; step++) {
		say_step(&p, step);
		random_command(&p);
		if (p.ref.state == CTX_UNLOADED)
			world_restored(&p.w, 0, p.ref.seen);
	}
	reference_check(&p.ref, 0);
	reference_check_sets(&p.ref);
	reference_do(&p.ref, CMD_UNLOAD, -1);
	reference_messages(&p.ref, REF_QUEUE);
	world_restored(&p.w, 0, p.ref.seen);
	world_close(&p.w);
}

/* All models with less counters of a package than @nshared. */
static void each_model(void (*play)(const struct world_model *m, uint64_t seed), unsigned nshared)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (uint64_t seed = first_seed(); m->nshared < nshared && seed <= last_seed();
			seed++)
			play(m, seed);
	/* More often, as these are few, and have more that can be taken over. */
	for (const struct world_model *m = world_others; m->name; m++)
		for (uint64_t seed = first_seed(); seed <= last_seed() * (tells() ? 1 : 3); seed++)
			play(m, seed);
}

TEST(undisturbed)
{
	/* The reference has no counters of a package: test_core and test_units do. */
	each_model(play_undisturbed, 1);
}

static struct play *playing; /* for intruders */

static void touch(struct play *p, uint32_t addr)
{
	p->ref.excused = true;
	for (unsigned i = 0; i < p->ntouched; i++)
		if (p->touched[i] == addr)
			return;
	p->touched[p->ntouched++] = addr;
}

/* A selector, and with it the counters that depend on it. */
static void touch_selector(struct play *p, unsigned row)
{
	const struct pmu *pmu = p->w.pmu;

	touch(p, pmu->pmcs[row].addr);
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (pmu->pmds[d].pmc == row || pmu->pmcs[pmu->pmds[d].pmc].gate == row)
			touch(p, pmu->pmds[d].addr);
}

/*
 * The command is between reading a register and writing it, where stealing cannot be noticed. Nor
 * can, without a global control, one between stopping a counter and reading it.
 */
static bool too_close(const struct world *w)
{
	switch (w->verb) {
	case CMD_STOP:
	case CMD_UNLOAD:
		return w->nops && !w->pmu->global_ctrl;
	case CMD_LOAD:
	case CMD_START:
	case CMD_WRITE:
	case CMD_SWITCH:
		return w->nops;
	case CMD_POLL:
		return w->nops && reference_time_over(&playing->ref);
	default:
		return false;
	}
}

/* Takes a counter as perf does: programs it, has it count from somewhere. */
static void steal(struct world *w)
{
	const struct pmu *pmu = w->pmu;
	const struct pmu_pmd *pmd = &pmu->pmds[below(&playing->rnd, pmu->npmds)];
	const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];
	uint64_t now, value = pmc->enable | 0x1300c5;

	if (too_close(w))
		return;
	hw_rdmsr(w->hw, WORLD_CPU, pmc->addr, &now);
	if (playing->is_other)
		value = pmc->enable | (now ^ (random_bits(&playing->rnd) & ~pmc->rsvd));
	if (pmc->shared)
		value = (now & ~pmd->field) | 0xbULL << 4 * (pmd->num - 16);
	if (!((value ^ now) & (pmc->shared ? pmd->field : UINT64_MAX)))
		return; /* it selects what the context does: cannot be noticed */
	touch_selector(playing, pmd->pmc);
	if (pmu->global_ctrl)
		touch(playing, pmu->global_ctrl); /* its bit there is its new owner's */
	hw_wrmsr(w->hw, WORLD_CPU, pmc->addr, value);
	hw_wrmsr(w->hw, WORLD_CPU, pmd->waddr, below(&playing->rnd, 1000));
}

/* Another register that counters depend on: the ESCR of one, or one that restricts all; -1: none.
 */
static int other_register(struct play *p)
{
	const struct pmu *pmu = p->w.pmu;
	unsigned row = pmu->pmds[p->few[below(&p->rnd, FEW)]].pmc;

	if (pmu->space != PMU_SPACE_IPF)
		return pmu_escr_of(pmu, row, reference_active(&p->ref)->pmc[row]);
	row = below(&p->rnd, pmu->npmcs);
	return pmu->pmcs[row].restricts || pmu->pmcs[row].with ? (int)row : -1;
}

static void steal_other(struct world *w)
{
	int row = other_register(playing);
	uint64_t now, change = random_bits(&playing->rnd);
	const struct pmu_pmc *pmc;

	if (row < 0 || too_close(w))
		return;
	pmc = &w->pmu->pmcs[row];
	touch(playing, pmc->addr);
	hw_rdmsr(w->hw, WORLD_CPU, pmc->addr, &now);
	hw_wrmsr(w->hw, WORLD_CPU, pmc->addr, now ^ (change & ~pmc->rsvd));
}

/* Stops all counters, as perf does at times; that it may start them again is not noticed. */
static void pause_all(struct world *w)
{
	if (!w->pmu->global_ctrl)
		return;
	touch(playing, w->pmu->global_ctrl);
	hw_wrmsr(w->hw, WORLD_CPU, w->pmu->global_ctrl, 0);
}

static void break_register(struct world *w)
{
	unsigned i = below(&playing->rnd, w->nregs);

	/* What a selector holds may then not be told from a theft. */
	if (i < w->pmu->npmcs) {
		touch_selector(playing, i);
		if (playing->ref.blind && w->pmu->global_ctrl)
			touch(playing, w->pmu->global_ctrl);
	}
	touch(playing, w->regs[i]);
	world_fault(w, w->regs[i]);
}

static void unplug(struct world *w)
{
	playing->ref.excused = playing->broken = true;
	playing->ref.offline = true;
	world_offline(w, true);
}

static void repair(struct play *p)
{
	world_fault(&p->w, 0);
	world_offline(&p->w, false);
	p->ref.offline = false;
}

static void disturb(struct play *p)
{
	static void (*const ways[])(struct world * w) = {steal, steal, pause_all, break_register,
		break_register, unplug, steal_other, steal_other};

	if (below(&p->rnd, 8) == 0)
		repair(p);
	if (below(&p->rnd, 10))
		return;
	p->w.at = below(&p->rnd, 30);
	p->w.intrude = ways[below(&p->rnd, p->is_other ? 8 : 6)];
	if (p->w.intrude == steal_other && !one_in(p, 4))
		p->w.at = 0;
}

static bool was_touched(const struct play *p, uint32_t addr)
{
	for (unsigned i = 0; i < p->ntouched; i++)
		if (p->touched[i] == addr)
			return true;
	return p->broken;
}

/* Registers that were not touched are as before; the others are first set so by their new owner. */
static void check_restored(struct play *p)
{
	struct world *w = &p->w;

	for (unsigned i = 0; i < w->nregs; i++) {
		if (was_touched(p, w->regs[i]))
			world_poke(w, w->regs[i], w->before[WORLD_CPU][i]);
	}
	world_restored(w, 0, p->ref.seen);
}

static void disturbed_steps(struct play *p)
{
	playing = p;
	set_up(p);
	for (unsigned step = 0; step < STEPS; step++) {
		say_step(p, step);
		disturb(p);
		random_command(p);
		p->w.intrude = NULL;
	}
	repair(p);
	reference_check_each(&p->ref);
	reference_do(&p->ref, CMD_UNLOAD, -1);
	check_restored(p);
	world_close(&p->w);
}

/* Nothing that overflows has consequences: so every count is right, or an error. */
static void play_disturbed(const struct world_model *m, uint64_t seed)
{
	struct play p;

	play_open(&p, m, seed, "disturbed");
	p.plain = true;
	p.w.limits.overflow_rate_max = UINT64_MAX;
	disturbed_steps(&p);
}

TEST(disturbed)
{
	/* The reference has no counters of a package: test_core and test_units do. */
	each_model(play_disturbed, 1);
}

/*
 * Everything at once. Which overflow a disturbance hides cannot be predicted, but commands fail
 * only with the errors that they may, and registers are restored.
 */
static void play_wild(const struct world_model *m, uint64_t seed)
{
	struct play p;

	play_open(&p, m, seed, "wild");
	p.ref.blind = true;
	disturbed_steps(&p);
}

TEST(wild)
{
	each_model(play_wild, 16);
}
