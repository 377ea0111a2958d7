/* SPDX-License-Identifier: MIT */
/* Programs to be traced, whose real parent says how they fare; and a tracer whose news is kept. */
#ifndef UNIT_TRACING_H
#define UNIT_TRACING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/track/tracer.h"

enum { PATIENCE_MS = 10000 };

/* A program of tests/track/target.c, as a child of another process than this one. */
struct target {
	pid_t watcher, pid;
	int to, from;
	size_t n;
	char read[256]; /* and not yet asked for */
};

/* @argv: as after "target watch"; "@" is the target program itself. */
void target_start(struct target *t, const char *const argv[]);
void target_go(const struct target *t); /* gives it the line that it waits for */
void target_line(struct target *t, char *line, size_t size);
/* The next line that it says, or its parent, must be this one. */
void target_expect(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The next line must be @word and a number. */
pid_t target_number(struct target *t, const char *word);
/* Kills it, if it has not ended. */
void target_end(struct target *t);

/* The letter in /proc/TID/stat; 0: there is none. */
char state_of(pid_t tid);
bool await_state(pid_t tid, const char *letters);
pid_t tracer_pid(pid_t tid);
unsigned open_files(void);
unsigned long long msec(void);
void nap_us(long us);

enum { NONE, BORN, EXEC, HELD, ENDED };

struct news {
	int kind;
	pid_t a, b;
};

struct trace {
	struct tracer *tr;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct news *news;
	size_t n, size;
	bool stands; /* no tracer_go() by itself */
};

void trace_begin(struct trace *t);
void trace_end(struct trace *t);
void trace_clear(struct trace *t);
void trace_stand(struct trace *t, bool stands);
unsigned trace_count(struct trace *t, int kind);
/* Waits for it, wherever in the news; its place. @a, @b: 0: any. -1: not within @ms. */
int trace_find(struct trace *t, int kind, pid_t a, pid_t b, unsigned ms);
struct news trace_at(struct trace *t, int place);

#endif
