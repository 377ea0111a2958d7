/* SPDX-License-Identifier: MIT */
/*
 * A world in which contexts are carried: those of a few threads, its riders, which take turns in
 * the registers of two CPUs. Each of these has a scratch context, whose hold the riders get while
 * they are in. A rider that is out is memory: any register operation of its commands fails the
 * test, and so does going in or out if it does not end there.
 */
#ifndef TESTS_UNIT_CARRIAGE_H
#define TESTS_UNIT_CARRIAGE_H

#include "tests/unit/world_sets.h"

enum { RIDERS = 4, LINES = 2, RIDER_TID = 1000, RIDER_PID = 900 };

/* What a rider counts of its model's measurement. */
enum program {
	COUNT_BOTH,
	COUNT_USER,
	COUNT_FIRST,
	PROGRAMS
}; /* the first counter's, in the kernel */

struct line {
	unsigned cpu;
	struct executor *exec;
	struct context *scratch;
	struct context *in; /* who is in its registers */
	struct {
		uint32_t addr;
		uint64_t at; /* when it was written: last on the way in, first on the way out */
	} stamp[WORLD_REGS];
	unsigned nstamps;
};

struct carriage {
	struct world w; /* its context and its executor are the first line's */
	struct executor exec;
	struct context scratch; /* the second's */
	struct line line[LINES];
	struct line *now; /* whose registers may be accessed */
	struct context rider[RIDERS];
	uint64_t pace; /* ns that pass before each register operation of a rider */
	unsigned (*run)(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);
};

/* One at a time. The scratch contexts are loaded. */
void carriage_open(struct carriage *c, const struct world_model *model);

/* Unloads them, sees to it that all registers are what they were, and closes. */
void carriage_end(struct carriage *c);
/* Only the first of that, and only the last. */
void carriage_unload(struct carriage *c);
void carriage_close(struct carriage *c);

/* Commands are for rider @i from now on. */
struct world *rider(struct carriage *c, unsigned i);

/* Commands are for the line's scratch, until rider() is called again. */
struct world *line_scratch(struct carriage *c, unsigned line);

/* Loads rider @i on its thread. */
void rider_load(struct carriage *c, unsigned i);

/* Has set @set of the rider count by @program, PMDs from @from on, and what its PMD @i selects. */
void rider_program(struct carriage *c, unsigned set, enum program program, uint64_t from);
uint64_t program_select(const struct carriage *c, enum program program, unsigned i);

/*
 * As a carrier does: what the rider's sets use is claimed on the line, if need be by a scratch that
 * is loaded anew, as somebody else may have had it since, and be gone: 0, -errno.
 */
int line_prepare(struct carriage *c, unsigned line, unsigned i);

/* All of it, and CMD_START: programmed, loaded, and prepared on both lines. */
void rider_start(struct carriage *c, unsigned i, enum program program, uint64_t from);

/* Rider @i gets into the line's registers: true unless that fails; whoever is there leaves them. */
bool line_in(struct carriage *c, unsigned line, unsigned i);
void line_out(struct carriage *c, unsigned line);

/* In, @ns, and out. */
void line_ride(struct carriage *c, unsigned line, unsigned i, uint64_t ns);

/* When the model's PMD @i began to count there, or ceased to, if nothing went wrong. */
uint64_t line_stamp(const struct carriage *c, unsigned line, unsigned i);

/* Closes and opens the line's CPU, as after it was offline. */
void line_reopen(struct carriage *c, unsigned line);

/* Runs @test in a carriage of each model, and ends that. */
void carriage_each_model(void (*test)(struct carriage *c));

/* The test of that name. */
#define EACH_CARRIAGE(name)                                                                        \
	static void test_##name(void **state)                                                      \
	{                                                                                          \
		(void)state;                                                                       \
		carriage_each_model(name);                                                         \
	}

#endif
