/* SPDX-License-Identifier: MIT */
/* What a row of counts is about, if it is not the sum of all. */
#ifndef TOOLS_PFM_STAT_SCOPE_H
#define TOOLS_PFM_STAT_SCOPE_H

#include <stdbool.h>
#include <sys/types.h>

/* How counts are summed. */
enum aggregate {
	AGGREGATE_ALL,  /* one sum */
	AGGREGATE_NONE, /* each CPU, thread or process for itself, a process with all its threads */
	AGGREGATE_THREAD, /* each thread of commands and processes */
	AGGREGATE_CORE,
	AGGREGATE_SOCKET,
};

enum scope_kind { SCOPE_CPU, SCOPE_THREAD, SCOPE_CORE, SCOPE_SOCKET };

struct scope {
	enum scope_kind kind;
	int id;     /* of the CPU or thread; a process has that of its first one */
	int socket; /* of a core or socket */
	/* Of a thread with a context of its own: the context's inode number, since threads may have
	 * the same number one after another. */
	ino_t context;
};

bool scope_same(const struct scope *a, const struct scope *b);

enum { SCOPE_LABEL = 24 }; /* bytes */
/* "CPU3" and the like, for people. */
void scope_label(const struct scope *s, char label[SCOPE_LABEL]);

#endif
