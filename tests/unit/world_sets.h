/* SPDX-License-Identifier: MIT */
/*
 * Event sets, overflows and messages in a world: commands in short, time as the worker lets it
 * pass, and events that happen when the test wants.
 */
#ifndef TESTS_UNIT_WORLD_SETS_H
#define TESTS_UNIT_WORLD_SETS_H

#include "tests/unit/unit.h"
#include "tests/unit/world.h"

/* CMD_EVTSET_NEW, CMD_EVTSET_DELETE, CMD_LOAD, CMD_START for set @id: 0 or -errno. */
int world_set(struct world *w, enum cmd_verb verb, unsigned id);

int world_set_flags(struct world *w, unsigned id, unsigned flags);
int world_set_timeout(struct world *w, unsigned id, uint64_t ns);
int world_set_next(struct world *w, unsigned id, int next); /* below 0: the default order */

/* A set that is switched from after @ns. */
void world_set_timed(struct world *w, unsigned id, uint64_t ns);

/* What there is: fails the test if there is not. */
struct cmd_evtset world_set_info(struct world *w, unsigned id);
struct ctx_info world_info(struct world *w);
struct cmd_reg world_pmd(struct world *w, unsigned set, unsigned num);

int world_write_in(struct world *w, unsigned set, bool pmd, unsigned num, uint64_t value);
int world_write_pmd(
	struct world *w, unsigned set, unsigned num, uint64_t value, const struct pmd_conf *conf);

/* Takes up to @max messages; returns how many. */
unsigned world_messages(struct world *w, struct pfm_msg *msgs, unsigned max);
/* Takes one message: 0 or -EAGAIN. */
int world_message(struct world *w, struct pfm_msg *msg);

/* Whether the worker has something to do within @ns: what, and in how many ns. */
bool world_due(struct world *w, uint64_t ns, uint64_t *in, enum cmd_verb *verb);

/* Lets the worker do what is due now; then, lets @ns pass while it does what becomes due. */
void world_work(struct world *w);
void world_pass(struct world *w, uint64_t ns);

/* Lets time pass until a set is activated, another or the same; fails the test after @ns. */
void world_pass_switch(struct world *w, uint64_t ns);

/*
 * Selects, for pmd@i, @i below 2, events that never happen by themselves; world_happen() has them
 * happen.
 */
uint64_t world_idle_selector(const struct world *w, unsigned i);

/* The model's measurement in set @set: with @user only, at user level alone. PMDs start at 0. */
void world_program_set(struct world *w, unsigned set, bool user);

/* Events of the model's PMD @i as world_program_set() has them counted. */
uint64_t world_events(struct world *w, unsigned i, bool user, uint64_t from, uint64_t to);

/* Fails the test unless PMD @num of set @set reads @want. */
void world_want_in(struct world *w, unsigned set, unsigned num, uint64_t want, int line);
#define WANT_IN(w, set, num, want) world_want_in(w, set, num, want, __LINE__)

/* Fails the test unless the context is in @state with @set active. */
void world_want_state(struct world *w, enum ctx_state state, unsigned set, int line);
#define WANT_STATE(w, state, set) world_want_state(w, state, set, __LINE__)

/* Fails the test unless the next message is of @type, of @set, and names PMDs by the bits @pmds. */
void world_want_message(struct world *w, uint32_t type, unsigned set, uint64_t pmds, int line);
#define WANT_MESSAGE(w, type, set, pmds) world_want_message(w, type, set, pmds, __LINE__)
#define WANT_NO_MESSAGE(w)               WANT(w, -EAGAIN, world_message(w, &(struct pfm_msg){0}))

/* Fails the test unless @a is @b; both are printed, with the model. */
void world_want_equal(
	struct world *w, uint64_t a, uint64_t b, const char *what, const char *want, int line);
#define WANT_EQ(w, a, b) world_want_equal(w, a, b, #a, #b, __LINE__)

/* Runs @test in a world of each model, and unloads in the end. */
void world_each_model(void (*test)(struct world *w));

/* Begins the function @name, and has it be the test of that name. */
#define EACH_MODEL(name)                                                                           \
	static void name(struct world *w);                                                         \
	TEST(name)                                                                                 \
	{                                                                                          \
		world_each_model(name);                                                            \
	}                                                                                          \
	static void name(struct world *w)

#endif
