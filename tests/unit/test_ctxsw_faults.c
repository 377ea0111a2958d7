// SPDX-License-Identifier: MIT
/*
 * Faults while contexts are switched and what they cost: before each register operation of a
 * sched-in or sched-out, on every CPU model, a register begins to fault, the CPU goes offline, or
 * another program takes a counter or stops all of them. Then each count is right, or an error; the
 * context is saved after its sched-out; and the next one on that CPU counts right. Time passes
 * between all register operations, so that a counter that counts too early, or too long, is found.
 */
#include "tests/unit/ctxsw_world.h"
#include "tests/unit/unit.h"

enum { US = 1000, MS = 1000 * US, STOLEN = 1 };

/* Tasks on the same CPU: the one that the fault happens to, and those after it. */
enum { VICTIM, NEXT, LIKE_VICTIM, ALL };
static const enum program programs[] = {COUNT_BOTH, COUNT_USER, COUNT_BOTH};

struct play {
	struct ctxsw_world c;
	char what[96];
	uint64_t value[ALL][WORLD_MAX]; /* what each task is to have counted */
	bool excused; /* stealing could not be noticed: that counter is not checked */
};

/* Something happens before register operation @at of the victim's @verb. */
struct mishap {
	void (*happen)(struct world *w);
	enum cmd_verb verb;
	unsigned at;
	uint32_t addr;
	bool mended;  /* right after that */
	bool reached; /* The command had that operation. */
	bool touched; /* It, or a later one of the command, was of addr. */
};

static void mend(struct play *p)
{
	world_fault(&p->c.w, 0);
	world_offline(&p->c.w, false);
}

static void arm(struct play *p, struct mishap *h, enum cmd_verb verb)
{
	if (!h || h->verb != verb)
		return;
	p->c.w.at = h->at;
	p->c.w.touched = false;
	p->c.w.addr = h->addr;
	p->c.w.intrude = h->happen;
}

static void disarm(struct play *p, struct mishap *h, enum cmd_verb verb)
{
	if (!h || h->verb != verb)
		return;
	h->reached = p->c.w.nops > h->at;
	h->touched = p->c.w.touched;
	if (h->mended)
		mend(p);
}

/* In and out, as far as it gets. */
static void run_window(struct play *p, unsigned i, uint64_t ns, struct mishap *h)
{
	const struct world_model *m = p->c.w.model;
	uint64_t from[WORLD_MAX];
	bool in;

	arm(p, h, CMD_SCHED_IN);
	in = line_sched_in(&p->c, 0, i);
	disarm(p, h, CMD_SCHED_IN);
	for (unsigned d = 0; d < m->npmd; d++)
		from[d] = line_stamp(&p->c, 0, d);
	hw_advance(p->c.w.hw, ns);
	arm(p, h, CMD_SCHED_OUT);
	if (in)
		line_sched_out(&p->c, 0);
	disarm(p, h, CMD_SCHED_OUT);
	for (unsigned d = 0; d < m->npmd; d++) {
		uint64_t select = program_select(&p->c, programs[i], d);

		p->value[i][d] += hw_truth(p->c.w.hw, select, line_stamp(&p->c, 0, d)) -
				  hw_truth(p->c.w.hw, select, from[d]);
	}
}

static void play_open(struct play *p, const struct world_model *m)
{
	*p = (struct play){0};
	ctxsw_open(&p->c, m);
	for (unsigned i = 0; i < ALL; i++)
		task_start(&p->c, i, programs[i], 0);
	p->c.pace = 1009;
	for (unsigned i = 0; i < ALL; i++)
		run_window(p, i, MS / 2, NULL);
}

/* Each count is right, or lost for that reason; returns how many are lost. */
static unsigned check(struct play *p, unsigned i, int expected)
{
	struct world *w = task(&p->c, i);
	unsigned lost = 0;

	assert_true(ctx_saved(&p->c.task[i]));
	assert_int_equal(p->c.task[i].state, CTX_RUNNING);
	for (unsigned d = 0; d < w->model->npmd; d++) {
		uint64_t value, want = p->value[i][d];
		int rc = world_read(w, true, w->model->pmd[d].num, &value);

		lost += rc != 0;
		if (rc != 0 && rc != expected)
			fail_msg("%s: %s: pmd%u of task %u: %s", w->model->name, p->what,
				w->model->pmd[d].num, i, w->err.text);
		if (rc == 0 && value != want && !(p->excused && d == STOLEN))
			fail_msg("%s: %s: pmd%u of task %u is %" PRIu64 ", not %" PRIu64,
				w->model->name, p->what, w->model->pmd[d].num, i, value, want);
	}
	return lost;
}

static void check_right(struct play *p, unsigned i)
{
	if (check(p, i, 0))
		fail_msg("%s: %s: task %u: %s", p->c.w.model->name, p->what, i, p->c.w.err.text);
}

/* Programmed again, all count right. */
static void recover(struct play *p)
{
	p->excused = false;
	for (unsigned i = 0; i < ALL; i++) {
		WANT(&p->c.w, 0, line_prepare(&p->c, 0, i));
		task_program(&p->c, 0, programs[i], 3);
		for (unsigned d = 0; d < WORLD_MAX; d++)
			p->value[i][d] = 3;
	}
	for (unsigned i = 0; i < 4; i++)
		run_window(p, i % ALL, MS / 3 + i, NULL);
	for (unsigned i = 0; i < ALL; i++)
		check_right(p, i);
}

static void play_close(struct play *p, uint32_t but)
{
	ctxsw_unload(&p->c);
	world_restored(&p->c.w, but, p->what);
	ctxsw_close(&p->c);
}

static void start_faulting(struct world *w)
{
	world_fault(w, w->addr);
}

/*
 * The register faults once, or until the next have been there. Returns false when the command did
 * not touch it any more, so that a later operation makes no difference.
 */
static bool fault(const struct world_model *m, struct mishap h)
{
	struct play p;

	play_open(&p, m);
	snprintf(p.what, sizeof(p.what), "0x%" PRIx32 " faults%s from operation %u of verb %d",
		h.addr, h.mended ? " once" : "", h.at, h.verb);
	h.happen = start_faulting;
	run_window(&p, VICTIM, MS, &h);
	check(&p, VICTIM, -EIO);
	if (h.mended) {
		run_window(&p, NEXT, MS, NULL);
		check_right(&p, NEXT);
		run_window(&p, LIKE_VICTIM, MS, NULL);
		check_right(&p, LIKE_VICTIM);
	} else {
		run_window(&p, NEXT, MS, NULL);
		check(&p, NEXT, -EIO);
		run_window(&p, VICTIM, MS, NULL);
		check(&p, VICTIM, -EIO);
		mend(&p);
		run_window(&p, LIKE_VICTIM, MS, NULL);
		check_right(&p, LIKE_VICTIM);
	}
	recover(&p);
	play_close(&p, 0);
	return h.touched;
}

TEST(faults)
{
	static const enum cmd_verb verbs[] = {CMD_SCHED_IN, CMD_SCHED_OUT};
	struct world w;

	for (const struct world_model *m = world_models; m->name; m++) {
		uint32_t regs[WORLD_REGS];
		unsigned n, touched = 0;

		world_open(&w, m);
		n = w.nregs;
		memcpy(regs, w.regs, sizeof(regs));
		world_close(&w);
		for (unsigned i = 0; i < 4 * n; i++) {
			struct mishap h = {
				.verb = verbs[i % 2], .mended = i / 2 % 2, .addr = regs[i / 4]};

			while (fault(m, h))
				h.at++;
			touched += h.at > 0;
		}
		assert_true(touched >= 4 * m->npmd);
	}
}

static unsigned row_of(const struct ctxsw_world *c, unsigned d)
{
	return (unsigned)pmu_find_pmd(c->w.pmu, c->w.model->pmd[d].num);
}

/* How many of the model's counters cannot be told without that register. */
static unsigned depend_on(const struct ctxsw_world *c, uint32_t addr)
{
	const struct pmu *pmu = c->w.pmu;
	unsigned n = 0;

	for (unsigned d = 0; d < c->w.model->npmd; d++) {
		const struct pmu_pmd *pmd = &pmu->pmds[row_of(c, d)];
		const struct pmu_pmc *pmc = &pmu->pmcs[pmd->pmc];

		n += addr == pmd->addr || addr == pmc->addr || addr == pmu->pmcs[pmc->gate].addr;
	}
	return addr == pmu->global_ctrl ? c->w.model->npmd : n;
}

/* When it leaves, a register that faults costs the counters that need it, and no others. */
TEST(cost_of_fault)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		unsigned n = 1;

		for (unsigned i = 0; i < n; i++) {
			struct mishap h = {.happen = start_faulting, .verb = CMD_SCHED_OUT};
			struct play p;

			play_open(&p, m);
			n = p.c.w.nregs;
			h.addr = p.c.w.regs[i];
			snprintf(p.what, sizeof(p.what), "0x%" PRIx32 " faults", h.addr);
			run_window(&p, VICTIM, MS, &h);
			WANT_EQ(&p.c.w, check(&p, VICTIM, -EIO), depend_on(&p.c, h.addr));
			mend(&p);
			play_close(&p, 0);
		}
	}
}

static void go_offline(struct world *w)
{
	world_offline(w, true);
}

/* Its registers are then as after a reset, whatever the core takes them to res. */
static bool offline(const struct world_model *m, struct mishap h)
{
	struct play p;

	play_open(&p, m);
	snprintf(p.what, sizeof(p.what), "offline%s from operation %u of verb %d",
		h.mended ? " for a moment" : "", h.at, h.verb);
	h.happen = go_offline;
	run_window(&p, VICTIM, MS, &h);
	if (h.reached)
		WANT_EQ(&p.c.w, check(&p, VICTIM, -ENXIO), m->npmd);
	else
		check_right(&p, VICTIM);
	run_window(&p, NEXT, MS, NULL);
	check(&p, NEXT, h.mended ? -EIO : -ENXIO);
	mend(&p);
	run_window(&p, LIKE_VICTIM, MS, NULL);
	check(&p, LIKE_VICTIM, -EIO);
	line_reopen(&p.c, 0);
	recover(&p);
	ctxsw_unload(&p.c);
	world_stopped(&p.c.w, p.what);
	ctxsw_close(&p.c);
	return h.reached;
}

TEST(offline)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned i = 0; i < 4; i++) {
			struct mishap h = {
				.verb = i % 2 ? CMD_SCHED_OUT : CMD_SCHED_IN, .mended = i / 2};

			while (offline(m, h))
				h.at++;
			assert_true(h.at > 0);
		}
}

/* Stops all counters, as perf does at times. */
static void pause_all(struct world *w)
{
	world_poke(w, w->pmu->global_ctrl, 0);
}

static bool paused(const struct world_model *m, struct mishap h)
{
	struct play p;
	uint32_t global;

	play_open(&p, m);
	global = p.c.w.pmu->global_ctrl;
	if (!global) {
		play_close(&p, 0);
		return false;
	}
	snprintf(p.what, sizeof(p.what), "paused before operation %u of verb %d", h.at, h.verb);
	h.happen = pause_all;
	run_window(&p, VICTIM, MS, &h);
	/* after the counters were stopped, and before they are started, it is no matter */
	if (h.verb == CMD_SCHED_OUT && !h.at)
		WANT_EQ(&p.c.w, check(&p, VICTIM, -EIO), m->npmd);
	else
		check_right(&p, VICTIM);
	for (unsigned i = NEXT; i < ALL; i++) {
		run_window(&p, i, MS, NULL);
		check_right(&p, i);
	}
	recover(&p);
	play_close(&p, global);
	return h.reached;
}

TEST(paused)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned i = 0; i < 2; i++) {
			struct mishap h = {.verb = i % 2 ? CMD_SCHED_OUT : CMD_SCHED_IN};

			while (paused(m, h))
				h.at++;
		}
}

/* Takes a counter as perf does: selector first, then where it is to count from, and starts it. */
static void steal(struct world *w)
{
	const struct pmu *pmu = w->pmu;
	const struct pmu_pmd *pmd = &pmu->pmds[pmu_find_pmd(pmu, w->model->pmd[STOLEN].num)];

	world_poke(w, pmu->pmcs[pmd->pmc].addr, w->model->pmd[STOLEN].thief);
	world_poke(w, pmd->waddr, 77);
	if (pmu->global_ctrl)
		world_poke(w, pmu->global_ctrl,
			world_rdmsr(w, pmu->global_ctrl) | 1ULL << pmd->global);
}

/* And leaves it, disabled. */
static void leave(struct world *w)
{
	const struct pmu *pmu = w->pmu;
	const struct pmu_pmd *pmd = &pmu->pmds[pmu_find_pmd(pmu, w->model->pmd[STOLEN].num)];

	world_poke(w, pmu->pmcs[pmd->pmc].addr, 0);
	if (pmu->global_ctrl)
		world_poke(w, pmu->global_ctrl,
			world_rdmsr(w, pmu->global_ctrl) & ~(1ULL << pmd->global));
}

static bool has_thief(struct play *p)
{
	const struct world_model *m = p->c.w.model;

	return world_rdmsr(&p->c.w, m->pmd[STOLEN].selector) == m->pmd[STOLEN].thief;
}

static void want_thief_counts(struct play *p)
{
	uint32_t addr = p->c.w.pmu->pmds[row_of(&p->c, STOLEN)].addr;
	uint64_t was = world_rdmsr(&p->c.w, addr);

	/* P6's second has no bit that tells whether it is in use, and needs our gate to count. */
	if (p->c.w.model->one_enable)
		return;
	if (!has_thief(p))
		fail_msg("%s: %s: it is taken back", p->c.w.model->name, p->what);
	hw_advance(p->c.w.hw, MS);
	if (world_rdmsr(&p->c.w, addr) == was)
		fail_msg("%s: %s: who has stolen it is stopped", p->c.w.model->name, p->what);
}

/* As its ctxsw thread has it do; true if that knows of the thief. */
static bool come_next(struct play *p)
{
	int rc = line_prepare(&p->c, 0, NEXT);

	if (rc == -EBUSY)
		ctx_lose(&p->c.task[NEXT], LOST_STOLEN);
	else
		WANT(&p->c.w, 0, rc);
	p->excused = has_thief(p) && rc == 0;
	run_window(p, NEXT, MS, NULL);
	return rc == -EBUSY;
}

/*
 * Stopping reads each selector, and so does a sched-in that changes it. Stealing between that read
 * and the write cannot be noticed, nor, without a global control, one between stopping a counter
 * and reading it. The other counters are still right, or an error.
 */
static bool stolen(const struct world_model *m, struct mishap h)
{
	struct play p;
	bool seen, known;
	unsigned lost;

	play_open(&p, m);
	snprintf(p.what, sizeof(p.what), "stolen before operation %u of verb %d", h.at, h.verb);
	h.happen = steal;
	run_window(&p, VICTIM, MS, &h);
	seen = has_thief(&p) && (p.c.w.pmu->global_ctrl || h.verb == CMD_SCHED_IN || !h.at);
	p.excused = h.reached && !seen;
	lost = check(&p, VICTIM, h.reached ? -EIO : 0);
	known = come_next(&p);
	check(&p, NEXT, h.reached ? -EIO : 0);
	if (h.verb == CMD_SCHED_OUT &&
		!h.at) { /* while it counted: that is seen, and costs no other */
		WANT_EQ(&p.c.w, lost, 1);
		assert_true(known || m->one_enable);
		want_thief_counts(&p);
	}
	leave(&p.c.w);
	/* Fails if the counter is wrongly taken as reserved again. */
	run_window(&p, LIKE_VICTIM, MS, NULL);
	check(&p, LIKE_VICTIM, -EIO);
	recover(&p);
	ctxsw_unload(&p.c);
	for (unsigned i = 0; i < p.c.w.nregs; i++)
		if (p.c.w.regs[i] == m->pmd[STOLEN].selector ||
			p.c.w.regs[i] == p.c.w.pmu->global_ctrl ||
			p.c.w.regs[i] == p.c.w.pmu->pmds[row_of(&p.c, STOLEN)].addr)
			world_poke(&p.c.w, p.c.w.regs[i], p.c.w.before[WORLD_CPU][i]);
	world_restored(&p.c.w, 0, p.what);
	ctxsw_close(&p.c);
	return h.reached;
}

TEST(stolen)
{
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned i = 0; i < 2; i++) {
			struct mishap h = {.verb = i % 2 ? CMD_SCHED_OUT : CMD_SCHED_IN};

			while (stolen(m, h))
				h.at++;
			assert_true(h.at > 0);
		}
}

/* Stolen while it counted, then released by the thief: the counter can be reserved again. */
TEST(left)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		struct mishap h = {.happen = steal, .verb = CMD_SCHED_OUT};
		struct play p;

		play_open(&p, m);
		run_window(&p, VICTIM, MS, &h);
		leave(&p.c.w);
		WANT_EQ(&p.c.w, check(&p, VICTIM, -EIO), 1);
		WANT(&p.c.w, 0, line_prepare(&p.c, 0, VICTIM));
		assert_true(ctx_has_reserved(&p.c.task[VICTIM], &p.c.line[0].scratch->own));
		recover(&p);
		ctxsw_unload(&p.c);
		ctxsw_close(&p.c);
	}
}

/* Stolen and released while no task counted: costs at most one counter's count, once. */
TEST(left_unseen)
{
	for (const struct world_model *m = world_models; m->name; m++) {
		struct play p;

		play_open(&p, m);
		steal(&p.c.w);
		leave(&p.c.w);
		run_window(&p, LIKE_VICTIM, MS, NULL);
		assert_true(check(&p, LIKE_VICTIM, -EIO) <= 1);
		recover(&p);
		ctxsw_unload(&p.c);
		ctxsw_close(&p.c);
	}
}
