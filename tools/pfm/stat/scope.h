/* SPDX-License-Identifier: MIT */
/* The CPU, thread, core or socket that a row of counts is about, unless it is the sum of all. */
#ifndef TOOLS_PFM_STAT_SCOPE_H
#define TOOLS_PFM_STAT_SCOPE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* How counts are summed. */
enum aggregate {
	AGGREGATE_ALL,    /* one sum */
	AGGREGATE_NONE,   /* each CPU, thread or process; a process includes all its threads */
	AGGREGATE_THREAD, /* each thread of commands and processes */
	AGGREGATE_CORE,
	AGGREGATE_SOCKET,
};

enum scope_kind { SCOPE_CPU, SCOPE_THREAD, SCOPE_CORE, SCOPE_SOCKET };

struct scope {
	enum scope_kind kind;
	int id;     /* of the CPU, thread or core; of a process, its first thread */
	int socket; /* of a core or socket */
	/* For a thread with its own context, the inode number of that context, since thread numbers
	 * are reused. */
	ino_t context;
	/* For one of several threads that have that context together, its line there. */
	unsigned line;
	/* When that thread began, in clock ticks since the boot; 0: not known. Contexts of several
	 * passes and runs differ, but the thread is the same. */
	uint64_t began;
};

bool scope_same(const struct scope *a, const struct scope *b);
/* Whether both are the same thread, in different contexts. */
bool scope_same_thread(const struct scope *a, const struct scope *b);

enum { SCOPE_LABEL = 24 }; /* bytes */
/* Writes a label for people, such as "CPU3". */
void scope_label(const struct scope *s, char label[SCOPE_LABEL]);

#endif
