/* SPDX-License-Identifier: MIT */
/* All stacks of a recording as one tree. */
#ifndef TOOLS_PFM_SAMPLES_STACKS_H
#define TOOLS_PFM_SAMPLES_STACKS_H

#include <stdint.h>

#include "tools/pfm/samples/recording.h"

struct stack_node {
	struct hash_node node;
	struct stack_node *parent;
	struct stack_node *child; /* the first child */
	struct stack_node *next;  /* the next child of the same parent */
	char *name;
	const char *object; /* NULL: a command, or not known */
	bool kernel;        /* executed at kernel level */
	bool inlined;       /* into its caller */
	uint64_t weight;    /* with the nodes below */
	uint64_t self;      /* without the nodes below */
};

enum stacks_order {
	STACKS_BY_NAME,   /* The root, commands, then callers above what they call, by name. */
	STACKS_BY_WEIGHT, /* Like STACKS_BY_NAME, but the heaviest first. */
	STACKS_CALLERS,   /* The root, the interrupted functions, their callers, the command. */
};

struct stacks {
	struct stack_node root;
	struct hash nodes;
};

/* Returns 0 or -ENOMEM. */
int stacks_build(struct stacks *st, const struct recording *r, enum stacks_order order);
void stacks_free(struct stacks *st);

#endif
