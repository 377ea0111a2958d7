/* SPDX-License-Identifier: MIT */
/* Programs to trace, whose real parent prints what it sees of them; and a tracer whose events are
 * recorded. */
#ifndef UNIT_TRACING_H
#define UNIT_TRACING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "daemon/ptrace/tracer.h"

/* Only failing tests wait this long. The clock of a virtual machine may leap by a minute. */
enum { TIMEOUT_MS = 120000 };

/* A program of tests/track/target.c. Its parent is another process than the test. */
struct target {
	pid_t watcher, pid;
	int to, from;
	size_t n;
	char read[256]; /* @n bytes that target_line() has not returned */
};

/* @argv: arguments of "target watch"; "@" is the target program itself. */
void target_start(struct target *t, const char *const argv[]);
/* Writes the line that it waits for. */
void target_go(const struct target *t);
void target_line(struct target *t, char *line, size_t size);
/* Fails unless this is the next line of it or its parent. */
void target_expect(struct target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The number on the next line, which must begin with @word. */
pid_t target_number(struct target *t, const char *word);
/* Kills it unless it has ended. */
void target_end(struct target *t);

/* The state in /proc/TID/stat; 0: no such thread. */
char state_of(pid_t tid);
bool await_state(pid_t tid, const char *letters);
pid_t tracer_pid(pid_t tid);
unsigned long long msec(void);
void nap_us(long us);

enum { NONE, BORN, EXEC, ENDED, LATE, JOINED };

struct trace_event {
	int kind;
	pid_t a, b;
};

struct trace {
	struct tracer *tr;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct trace_event *events;
	size_t n, size;
	bool keep_stopped; /* new threads and execs wait for tracer_cont() of the test */
	bool joined_later; /* the test handles joined() */
};

void trace_begin(struct trace *t);
void trace_end(struct trace *t);
/* Attaches, and waits for the outcome. */
int trace_seize(struct trace *t, pid_t tid, bool follow, struct err *e);
/* The same for a thread that waits for it (tracer_attach.by_itself). */
int trace_seize_by_itself(struct trace *t, pid_t tid, bool follow, struct err *e);
int trace_seize_process(struct trace *t, pid_t pid, struct err *e);
void trace_clear(struct trace *t);
void trace_keep_stopped(struct trace *t, bool keep_stopped);
/* Before a request to attach to a process, whose joined() the test handles from now on. */
void trace_joined_later(struct trace *t);
unsigned trace_count(struct trace *t, int kind);
/* Waits for an event; its index among all. @a, @b: 0: any. -1: none within @ms. */
int trace_find(struct trace *t, int kind, pid_t a, pid_t b, unsigned ms);
struct trace_event trace_at(struct trace *t, int place);

#endif
