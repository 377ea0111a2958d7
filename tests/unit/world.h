/* SPDX-License-Identifier: MIT */
/*
 * A world to test the core in: one context on one CPU of the hardware model, and a way to have
 * something happen between any two register operations of a command. The registers hold what
 * others left in them before anything begins, so that restoring differs from clearing.
 */
#ifndef TESTS_UNIT_WORLD_H
#define TESTS_UNIT_WORLD_H

#include "daemon/core/context.h"
#include "daemon/percpu/exec.h"
#include "perfmonfs/backend.h"
#include "perfmonfs/sim.h"
#include "tests/unit/hw_truth.h"
#include "tests/unit/unit.h"

enum {
	WORLD_CPU = 1,
	WORLD_CPUS = 4,
	WORLD_MAX = 4,
	WORLD_MODELS = 64,
	WORLD_REGS = 2 * PMU_MAX_PMCS + 2,
};

/* A measurement that uses four counters of a model, or two if it has no more. */
struct world_model {
	const char *name;
	/* Its counters are those of a core, CCX or package, without levels and global control. */
	bool shared;
	unsigned nshared; /* Counters of a core, CCX or package that the model has. */
	bool one_enable;  /* The first selector's enable bit is that of both, as on P6. */
	unsigned npmc, npmd;
	struct {
		uint16_t num;
		uint64_t value; /* as it reads back */
	} pmc[WORLD_MAX];
	struct {
		uint16_t num;
		uint64_t select; /* for hw_truth() */
		uint32_t selector;
		uint64_t thief; /* the value by which another program takes its selector */
	} pmd[WORLD_MAX];
};
/* Those of models whose selectors are event selects, in the order of hw_model_name(); ends with
 * name NULL. PMCs and PMDs begin at 0. With MODELS=all in the environment, those of all such
 * models. */
extern struct world_model world_models[];
/* Those of the models whose selectors are others, NetBurst and Itanium 2: without a measurement. */
extern struct world_model world_others[];
/* Both except NetBurst; after each model its shared counters, if it has any. */
extern struct world_model world_all[];

struct world {
	const struct world_model *model;
	struct backend *be;
	struct hw *hw;
	const struct pmu *pmu;
	struct executor exec;
	struct exec_stats stats;
	struct context ctx;
	struct rights rights;
	struct limits limits; /* of every command */
	struct err err;       /* of the last command */

	/* The context that commands are for, and what executes them; NULL: the world's own. */
	struct context *other;
	struct executor *other_exec;

	/* Called once, before register operation @at of the next command. */
	void (*intrude)(struct world *w);
	unsigned at;
	uint32_t addr; /* for the intruder */
	bool touched;  /* addr was operated on with nothing left to intrude */
	unsigned nops; /* operations of the last command */
	enum cmd_verb verb;

	/* Events that each counter has counted besides the model's, since it was written. */
	uint64_t happened[PMU_MAX_PMDS];
	uint64_t wrapped; /* bits of the overflow status that are set because of them */

	unsigned nregs;
	uint32_t regs[WORLD_REGS];
	uint64_t before[WORLD_CPUS][WORLD_REGS];

	struct backend_ops ops;
	const struct backend_ops *real;
};

/* One world at a time. */
void world_open(struct world *w, const struct world_model *model);
void world_close(struct world *w);

/* Unloads and fails the test unless all registers are what they were. */
void world_unload(struct world *w);

/* Runs @test in a world of @model, and of each model of @models, and unloads in the end. */
void world_in(const struct world_model *model,
	void (*test)(struct world *w, const struct world_model *m));
void world_each(const struct world_model *models,
	void (*test)(struct world *w, const struct world_model *m));

/* Begins a test in a world of that model, and of all models and their shared counters. */
#define IN_WORLD(name, model) IN_WORLDS(name, world_in, model)
#define EACH_WORLD(name)      IN_WORLDS(name, world_each, world_all)
#define IN_WORLDS(name, in, models)                                                                \
	static void in_##name(struct world *w, const struct world_model *m);                       \
	TEST(name)                                                                                 \
	{                                                                                          \
		in(models, in_##name);                                                             \
	}                                                                                          \
	static void in_##name(struct world *w, const struct world_model *m __attribute__((unused)))

/* Takes the present values of all registers as those to be restored in the end. */
void world_remember(struct world *w);

/* Fails the test if a register other than @but (0: none) holds another value. */
void world_restored(struct world *w, uint32_t but, const char *what);

/* Fails the test if something counts on the CPU. */
void world_stopped(struct world *w, const char *what);

uint64_t world_rdmsr(struct world *w, uint32_t addr);
void world_poke(struct world *w, uint32_t addr, uint64_t value);
void world_knob(struct world *w, const char *knob, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void world_fault(struct world *w, uint32_t addr); /* 0: none */
void world_offline(struct world *w, bool offline);

/* @n events happen in PMD @num, which has to be counting. */
void world_happen(struct world *w, unsigned num, uint64_t n);

/* Commands: 0 or -errno, the sentence in w->err. */
int world_do(struct world *w, enum cmd_verb verb);
int world_command(struct world *w, struct command *cmd);
int world_write(struct world *w, bool pmd, unsigned num, uint64_t value);
int world_read(struct world *w, bool pmd, unsigned num, uint64_t *value);

/* The model's measurement, from PMCs on; the PMDs start at @from. */
void world_program(struct world *w, uint64_t from);

/* Fails the test with model, place and sentence unless @rc is @want. */
void world_want(struct world *w, int rc, int want, const char *what, int line);
#define WANT(w, want, call) world_want(w, call, want, #call, __LINE__)
/* Loads and starts. */
#define WANT_RUN(w)                                                                                \
	do {                                                                                       \
		WANT(w, 0, world_do(w, CMD_LOAD));                                                 \
		WANT(w, 0, world_do(w, CMD_START));                                                \
	} while (0)

/* Fails the test unless PMD @num of set 0 reads @want. */
void world_want_pmd(struct world *w, unsigned num, uint64_t want, int line);
#define WANT_PMD(w, num, want) world_want_pmd(w, num, want, __LINE__)

#endif
