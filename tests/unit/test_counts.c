// SPDX-License-Identifier: MIT
/* CMD_COUNTS: counts of several event sets in one command, where a lost one fails no other. */
#include "tests/unit/unit.h"
#include "tests/unit/world.h"
#include "tests/unit/world_sets.h"

enum { FROM = 1000, SET = 3, NO_SET = 4, NO_PMD = PMU_MAX_NUM - 1, SECOND = 1000000000 };

static struct cmd_count count_of(unsigned set, unsigned num)
{
	return (struct cmd_count){.set = (uint16_t)set, .num = (uint16_t)num};
}

static void read_counts(struct world *w, struct cmd_count *counts, unsigned n)
{
	struct command cmd = {.verb = CMD_COUNTS, .counts = {.count = counts, .n = n}};

	WANT(w, 0, world_command(w, &cmd));
	WANT_EQ(w, cmd.counts.gaps, 0);
}

/* A count of the active set is as of now, that of another as it was left. */
EACH_MODEL(sets)
{
	unsigned num = w->model->pmd[0].num;
	struct cmd_count counts[] = {
		count_of(SET, num), count_of(NO_SET, num), count_of(0, num), count_of(0, NO_PMD)};

	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, SET));
	world_program(w, FROM);
	WANT(w, 0, world_write_in(w, SET, true, num, 5));
	WANT_RUN(w);
	hw_advance(w->hw, SECOND);
	read_counts(w, counts, 4);
	WANT_EQ(w, counts[0].state, COUNT_KNOWN);
	WANT_EQ(w, counts[0].value, 5);
	WANT_EQ(w, counts[1].state, COUNT_ABSENT);
	WANT_EQ(w, counts[2].state, COUNT_KNOWN);
	assert_true(counts[2].value > FROM);
	WANT_PMD(w, num, counts[2].value);
	WANT_EQ(w, counts[3].state, COUNT_ABSENT);
}

EACH_MODEL(lost)
{
	const struct world_model *m = w->model;
	struct cmd_count counts[] = {count_of(0, m->pmd[0].num), count_of(0, m->pmd[1].num)};

	world_program(w, FROM);
	WANT_RUN(w);
	hw_advance(w->hw, SECOND);
	world_poke(w, m->pmd[1].selector, m->pmd[1].thief);
	read_counts(w, counts, 2);
	WANT_EQ(w, counts[1].state, COUNT_LOST);
	/* The first selector of some models enables all. */
	if (!m->one_enable) {
		WANT_EQ(w, counts[0].state, COUNT_KNOWN);
		WANT_PMD(w, m->pmd[0].num, counts[0].value);
	}
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	world_remember(w); /* the other program goes on */
}

/* Counters that are not asked for are not read. */
EACH_MODEL(named)
{
	struct cmd_count counts[WORLD_MAX];
	unsigned all;

	for (unsigned i = 0; i < w->model->npmd; i++)
		counts[i] = count_of(0, w->model->pmd[i].num);
	world_program(w, FROM);
	WANT_RUN(w);
	read_counts(w, counts, w->model->npmd);
	all = w->nops;
	read_counts(w, counts, 1);
	assert_true(w->nops > 0 && w->nops < all);
	read_counts(w, counts, 0);
	WANT_EQ(w, w->nops, 0);
}
