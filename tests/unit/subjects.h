/* SPDX-License-Identifier: MIT */
/* Processes with all kinds of credentials, which trace and are traced in tests of the rights. */
#ifndef SUBJECTS_H
#define SUBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Ends a child of the test if it is not so. */
#define must(x) must_at((x), #x, __FILE__, __LINE__)
void must_at(bool ok, const char *what, const char *file, int line);

/* The user namespace that it is in. */
enum subject_ns {
	OURS,
	MADE,   /* its own, made by @maker, with @map */
	SHARED, /* one that several are in, its root being 100000 */
	NESTED, /* its own below that */
};

/* Where the daemon is stricter than the kernel. */
enum subject_strict { EXACT, STRICT_BEFORE_6_16, STRICT };

struct subject_kind {
	const char *name;
	uid_t uid[3]; /* real, effective, saved, within its namespace */
	gid_t gid[3];
	uint64_t permitted, effective; /* of the capabilities that it would have */
	bool undumpable;
	bool thread; /* one that is not the first of its process, and only that */
	bool exec;   /* its memory is its namespace's own, made by executing a program in it */
	enum subject_ns ns;
	uid_t maker;
	const char *map;
	enum subject_strict strict;
};

extern const struct subject_kind subject_kinds[];
extern const int subject_nkinds;

struct subject {
	const struct subject_kind *kind;
	pid_t pid, tid;
	int sock;
};

/* Runs a subject that has executed this program again: call it first in main(). */
void subject_main(int argc, char **argv);

/* false: this machine has no such namespaces. They end when the caller does. */
bool subject_new(int kind, struct subject *out);

/* The kernel's answer when the subject attaches to @tid: 0 or an errno. */
int subject_query(const struct subject *s, pid_t tid);

/* The capabilities of the daemon, and no other. */
void drop_capabilities(void);
#define CAP_BIT(c) (1ULL << (c))

void set_capabilities(uint64_t permitted, uint64_t effective);

#endif
