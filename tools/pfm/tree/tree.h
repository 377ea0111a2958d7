/* SPDX-License-Identifier: MIT */
/* An open mount of perfmonfs. */
#ifndef TOOLS_PFM_TREE_TREE_H
#define TOOLS_PFM_TREE_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* The version of the tree's interface that pfm knows, as MNT/version has it. */
#define TREE_INTERFACE 3

struct tree {
	int dir;          /* the root of the mount */
	char backend[16]; /* pmu/backend: msr, perf or sim */
	char pmu[64];     /* pmu/name */
	/* The path of an existing mount that neither --mount nor PERFMONFS names; otherwise "". */
	char found[PATH_MAX];
	pid_t daemon;  /* of a mount that tree_open() created; 0: the mount existed */
	bool users;    /* that daemon has the rights of a non-root user */
	bool fallback; /* that daemon does not use the msr backend, for @reason */
	struct err reason;
};

/* Opens @mount; with NULL, the mount that PERFMONFS names, or else the first existing one. If there
 * is none, creates a mount that no other process sees and that ends with this process. */
int tree_open(struct tree *t, const char *mount, struct err *e);

/* Warns the user on stderr, for @command, if the kernel's events are counted, which @instead
 * explains, or if the numbers are simulated. */
void tree_tell(const struct tree *t, const char *command, const char *instead);

/* Whether counts are simulated by a mount that the user did not name. */
bool tree_surprises(const struct tree *t);

/* Closes the tree, and ends a mount that tree_open() created. */
void tree_close(struct tree *t);

#endif
