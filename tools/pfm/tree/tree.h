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
	/* The mount that was there, if neither --mount nor PERFMONFS names it; otherwise "". */
	char found[PATH_MAX];
	pid_t daemon;  /* of the mount that tree_open() has made; 0 if it was there */
	bool users;    /* that daemon has the rights of a user other than root */
	bool fallback; /* that daemon is not the one of the msr backend, for @reason */
	struct err reason;
};

/*
 * Opens @mount; with NULL, the mount that PERFMONFS names, or else the first one that there is.
 * Without any, makes one that no other process sees and that ends with this process.
 */
int tree_open(struct tree *t, const char *mount, struct err *e);

/*
 * Says on stderr, for @command, what a reader of its numbers has to know: that the kernel's events
 * are counted, which @instead explains, or that numbers are simulated.
 */
void tree_tell(const struct tree *t, const char *command, const char *instead);

/* Whether counts are simulated, by a mount that the user has not named. */
bool tree_surprises(const struct tree *t);

/* Ends a mount that tree_open() has made. */
void tree_close(struct tree *t);

#endif
