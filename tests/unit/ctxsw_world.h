/* SPDX-License-Identifier: MIT */
/*
 * A world in which contexts are switched: those of a few threads, its tasks, take turns in
 * the registers of two CPUs. Each of these has a scratch context, whose reservation the tasks get
 * while they are in. A task that is out is memory: any register operation of its commands fails the
 * test, and so does going in or out if it does not end there.
 */
#ifndef TESTS_UNIT_CTXSW_WORLD_H
#define TESTS_UNIT_CTXSW_WORLD_H

#include "tests/unit/world_sets.h"

enum { TASKS = 4, LINES = 2, TASK_TID = 1000, TASK_PID = 900 };

/* What a task counts of its model's measurement. */
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
	struct context *in; /* the context in its registers; NULL: none */
	struct {
		uint32_t addr;
		uint64_t at; /* when it was written: last on the way in, first on the way out */
	} stamp[WORLD_REGS];
	unsigned nstamps;
};

struct ctxsw_world {
	struct world w; /* its context and its executor are the first line's */
	struct executor exec;
	struct context scratch; /* the second's */
	struct line line[LINES];
	struct line *now; /* whose registers may be accessed */
	struct context task[TASKS];
	uint64_t pace; /* ns that pass before each register operation of a task */
	unsigned (*run)(struct backend_cpu *c, struct reg_op *ops, unsigned n, struct err *e);
};

/* One at a time. The scratch contexts are loaded. */
void ctxsw_open(struct ctxsw_world *c, const struct world_model *model);

/* Unloads them, sees to it that all registers are what they were, and closes. */
void ctxsw_end(struct ctxsw_world *c);
/* Only the first of that, and only the last. */
void ctxsw_unload(struct ctxsw_world *c);
void ctxsw_close(struct ctxsw_world *c);

/* Commands are for task @i from now on. */
struct world *task(struct ctxsw_world *c, unsigned i);

/* Commands are for the line's scratch, until task() is called again. */
struct world *line_scratch(struct ctxsw_world *c, unsigned line);

/* Loads task @i on its thread. */
void task_load(struct ctxsw_world *c, unsigned i);

/* Has set @set of the task count by @program, PMDs from @from on, and what its PMD @i selects. */
void task_program(struct ctxsw_world *c, unsigned set, enum program program, uint64_t from);
uint64_t program_select(const struct ctxsw_world *c, enum program program, unsigned i);

/*
 * As a ctxsw thread does: reserves what the task's sets use on the line. If the line has lost some
 * of it to another program, its scratch is unloaded and loaded again. Returns 0 or -errno.
 */
int line_prepare(struct ctxsw_world *c, unsigned line, unsigned i);

/* All of it, and CMD_START: programmed, loaded, and prepared on both lines. */
void task_start(struct ctxsw_world *c, unsigned i, enum program program, uint64_t from);

/* Task @i gets into the line's registers, where no task may be. False: that failed. */
bool line_sched_in(struct ctxsw_world *c, unsigned line, unsigned i);
void line_sched_out(struct ctxsw_world *c, unsigned line);

/* In, @ns, and out. */
void line_run_window(struct ctxsw_world *c, unsigned line, unsigned i, uint64_t ns);

/* When the model's PMD @i began to count there, or ceased to, if nothing went wrong. */
uint64_t line_stamp(const struct ctxsw_world *c, unsigned line, unsigned i);

/* Closes and opens the line's CPU, as after it was offline. */
void line_reopen(struct ctxsw_world *c, unsigned line);

/* Runs @test in a ctxsw_world of each model, and ends that. */
void ctxsw_each_model(void (*test)(struct ctxsw_world *c));

/* Begins the function @name, and has it be the test of that name. */
#define EACH_CTXSW(name)                                                                           \
	static void name(struct ctxsw_world *c);                                                   \
	TEST(name)                                                                                 \
	{                                                                                          \
		ctxsw_each_model(name);                                                            \
	}                                                                                          \
	static void name(struct ctxsw_world *c)

#endif
