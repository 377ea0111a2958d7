// SPDX-License-Identifier: MIT
/*
 * Random programs of commands against a slow and obvious reference: everything is exact while
 * nobody interferes, and with somebody who steals counters and breaks registers a count is exact
 * or an error, and in the end the registers are what they were.
 *
 * PROPERTY_SEEDS=N runs seeds 0 to N-1 instead of the first few.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/reference.h"

enum { SEEDS = 60, STEPS = 200 };

/* splitmix64: the same numbers everywhere. */
static uint64_t random_bits(uint64_t *s)
{
	uint64_t z = *s += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned below(uint64_t *s, unsigned n)
{
	return (unsigned)(random_bits(s) % n);
}

static unsigned seeds(void)
{
	const char *env = getenv("PROPERTY_SEEDS");

	return env ? (unsigned)strtoul(env, NULL, 10) : SEEDS;
}

/* A run of one program. */
struct play {
	struct world w;
	struct reference ref;
	uint64_t rnd;
	uint64_t wrap, since; /* how long it may be left alone, how long it has been */
	bool broken;          /* the CPU was gone: what it holds then is nobody's business */
	uint32_t touched[2 * PMU_MAX_PMDS]; /* registers that somebody wrote, or that fault */
	unsigned ntouched;
};

static uint64_t random_selector(struct play *p, unsigned row)
{
	static const uint64_t events[] = {0xc0, 0xc4, 0xc5, 0x3c, 0x76, 0xc2, 0x1234};
	uint64_t value = events[below(&p->rnd, 7)];

	if (below(&p->rnd, 6) == 0)
		return p->w.pmu->pmcs[row].def;
	if (p->w.pmu->pmcs[row].shared)
		return random_bits(&p->rnd);
	value |= (uint64_t)below(&p->rnd, 4) << 16; /* USR, OS */
	if (below(&p->rnd, 4))
		value |= EVTSEL_EN;
	if (below(&p->rnd, 2))
		value |= EVTSEL_INT; /* to be dropped */
	return value;
}

static uint64_t random_count(struct play *p, unsigned row)
{
	unsigned width = p->w.pmu->pmds[row].width;

	switch (below(&p->rnd, 5)) {
	case 0:
		return 0;
	case 1:
		return (1ULL << width) - 1 - below(&p->rnd, 100000);
	case 2:
		return (uint64_t) - (int64_t)below(&p->rnd, 100000);
	case 3:
		return 0x7fffffff - below(&p->rnd, 1000);
	default:
		return random_bits(&p->rnd);
	}
}

/* Everything that runs is looked at before it can wrap. */
static void random_advance(struct play *p)
{
	uint64_t ns =
		below(&p->rnd, 3) ? below(&p->rnd, 1000000) : random_bits(&p->rnd) % (p->wrap - 1);

	if (p->since + ns >= p->wrap) {
		reference_do(&p->ref, CMD_POLL);
		p->since = 0;
	}
	reference_advance(&p->ref, ns);
	p->since += ns;
}

static void random_command(struct play *p)
{
	static const enum cmd_verb verbs[] = {
		CMD_LOAD, CMD_LOAD, CMD_START, CMD_START, CMD_STOP, CMD_UNLOAD, CMD_POLL};
	const struct pmu *pmu = p->w.pmu;
	unsigned row;

	switch (below(&p->rnd, 8)) {
	case 0:
	case 1:
		row = below(&p->rnd, pmu->npmcs);
		reference_write(&p->ref, false, row, random_selector(p, row));
		break;
	case 2:
		row = below(&p->rnd, pmu->npmds);
		reference_write(&p->ref, true, row, random_count(p, row));
		break;
	case 3:
	case 4:
		random_advance(p);
		break;
	case 5:
		reference_check(&p->ref);
		p->since = 0;
		break;
	default:
		reference_do(&p->ref, verbs[below(&p->rnd, 7)]);
	}
}

static void play_open(struct play *p, const struct world_model *m, uint64_t seed, const char *what)
{
	*p = (struct play){.rnd = seed * 0x100000001b3};
	world_open(&p->w, m);
	reference_init(&p->ref, &p->w);
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
	for (unsigned step = 0; step < STEPS; step++) {
		say_step(&p, step);
		random_command(&p);
		if (p.ref.state == CTX_UNLOADED)
			world_restored(&p.w, 0, p.ref.seen);
	}
	reference_check(&p.ref);
	reference_do(&p.ref, CMD_UNLOAD);
	world_restored(&p.w, 0, p.ref.seen);
	world_close(&p.w);
}

static void test_undisturbed(void **state)
{
	(void)state;
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned seed = 0; seed < seeds(); seed++)
			play_undisturbed(m, seed);
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
 * Between another's looking at a register and writing it, which is one moment as far as anybody
 * can do about it. So is, without a global control, stopping a counter and reading it.
 */
static bool too_close(const struct world *w)
{
	if (w->verb == CMD_STOP || w->verb == CMD_UNLOAD)
		return w->nops && !w->pmu->global_ctrl;
	return w->nops && (w->verb == CMD_LOAD || w->verb == CMD_START || w->verb == CMD_WRITE);
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
	if (pmc->shared)
		value = (now & ~pmd->field) | 0xbULL << 4 * (pmd->num - 16);
	if (!((value ^ now) & (pmc->shared ? pmd->field : UINT64_MAX)))
		return; /* what it selects is what we do: nobody can tell */
	touch_selector(playing, pmd->pmc);
	if (pmu->global_ctrl)
		touch(playing, pmu->global_ctrl); /* its bit there is its new owner's */
	hw_wrmsr(w->hw, WORLD_CPU, pmc->addr, value);
	hw_wrmsr(w->hw, WORLD_CPU, pmd->waddr, below(&playing->rnd, 1000));
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

	if (i < w->pmu->npmcs)
		touch_selector(playing, i); /* what it holds may then not be told from a theft */
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
	static void (*const ways[])(struct world * w) = {
		steal, steal, pause_all, break_register, break_register, unplug};

	if (below(&p->rnd, 8) == 0)
		repair(p);
	if (below(&p->rnd, 10))
		return;
	p->w.at = below(&p->rnd, 30);
	p->w.intrude = ways[below(&p->rnd, 6)];
}

static bool was_touched(const struct play *p, uint32_t addr)
{
	for (unsigned i = 0; i < p->ntouched; i++)
		if (p->touched[i] == addr)
			return true;
	return p->broken;
}

/* What nobody touched is as it was; the rest is set so, as its new owner is gone as well. */
static void check_restored(struct play *p)
{
	struct world *w = &p->w;

	for (unsigned i = 0; i < w->nregs; i++) {
		if (was_touched(p, w->regs[i]))
			world_poke(w, w->regs[i], w->before[WORLD_CPU][i]);
	}
	world_restored(w, 0, p->ref.seen);
}

static void play_disturbed(const struct world_model *m, uint64_t seed)
{
	struct play p;

	play_open(&p, m, seed, "disturbed");
	playing = &p;
	for (unsigned step = 0; step < STEPS; step++) {
		say_step(&p, step);
		disturb(&p);
		random_command(&p);
		p.w.intrude = NULL;
	}
	repair(&p);
	reference_check(&p.ref);
	reference_do(&p.ref, CMD_UNLOAD);
	check_restored(&p);
	world_close(&p.w);
}

static void test_disturbed(void **state)
{
	(void)state;
	for (const struct world_model *m = world_models; m->name; m++)
		for (unsigned seed = 0; seed < seeds(); seed++)
			play_disturbed(m, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undisturbed),
		cmocka_unit_test(test_disturbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
