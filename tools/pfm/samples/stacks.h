/* SPDX-License-Identifier: MIT */
/* All stacks of a recording as one tree. */
#ifndef TOOLS_PFM_SAMPLES_STACKS_H
#define TOOLS_PFM_SAMPLES_STACKS_H

#include <stdint.h>

#include "tools/pfm/samples/pairs.h"
#include "tools/pfm/samples/recording.h"

/* A command or a function, as trees show it. */
struct stack_name {
	char *name;
	const char *object; /* the first that has such a function; NULL: a command */
	uint32_t rank;      /* in the order of names */
	bool kernel;        /* executed at kernel level */
	bool inlined;       /* into its caller */
	bool command;
};

/* Nodes are numbers: parents precede their children, and 0 is the root, which is the child and the
 * next of none. */
struct stack_node {
	uint64_t weight; /* with the nodes below; stack_self(): without them */
	uint32_t parent;
	uint32_t child; /* the first child; 0: none */
	uint32_t next;  /* the next child of the same parent; 0: none */
	uint32_t name;  /* in stacks.names; not of the root */
};

/* Weights of a node in the first of two recordings. */
struct stack_before {
	uint64_t weight, self;
};

enum stacks_order {
	STACKS_BY_NAME,   /* The root, commands, then callers above what they call, by name. */
	STACKS_BY_WEIGHT, /* Like STACKS_BY_NAME, but the heaviest first. */
	STACKS_CALLERS,   /* The root, the interrupted functions, their callers, the command. */
};

struct stacks {
	struct stack_node *nodes;
	struct stack_before *before; /* by node; NULL: there is one recording */
	uint32_t n;
	uint32_t room;
	struct stack_name *names;
	uint32_t nnames;
	uint32_t names_room;
	bool by_object;           /* functions of the same name in other objects are others */
	struct pairs alike;       /* the samples of the last recording, by command and stack */
	uint32_t *leaves;         /* their nodes */
	uint32_t *commands;       /* the names of its threads */
	struct indexed by_parent; /* while the tree is built: nodes by parent and name */
	struct indexed by_name;   /* the names */
};

/* Returns 0 or -ENOMEM. */
int stacks_build(struct stacks *st, const struct recording *r, enum stacks_order order);
/* The same, where functions are shown with their objects. */
int stacks_build_by_object(struct stacks *st, const struct recording *r, enum stacks_order order);
/* The same, of two recordings: nodes have the weights of the second, and before those of the first.
 */
int stacks_build_diff(
	struct stacks *st, const struct recording *const r[2], enum stacks_order order);
void stacks_free(struct stacks *st);

/* The node of a sample of the last recording. */
uint32_t stacks_leaf(struct stacks *st, const struct recorded_sample *s);

/* A place in the tree, from {0} on, which is the root. The depth of the root is 0. */
struct stack_walk {
	uint32_t at;
	unsigned depth;
};

/* Goes on to the next node in the order of the tree: the first below, if @below, or the next beside
 * or above. Returns false, at the root, at the end. Stacks may be too deep for recursion. */
bool stacks_walk(const struct stacks *st, struct stack_walk *w, bool below);

/* The overflows of a node without those of the nodes below. */
uint64_t stack_self(const struct stacks *st, const struct stack_node *s);

static inline const struct stack_name *stack_name(
	const struct stacks *st, const struct stack_node *s)
{
	return &st->names[s->name];
}

#endif
