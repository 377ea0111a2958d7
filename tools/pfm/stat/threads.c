// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/slice.h"
#include "base/text.h"
#include "tools/pfm/tree/file.h"

/* The index of @context, or where to insert it: @all is sorted by inode numbers. */
static unsigned threads_search(const struct threads *t, ino_t context)
{
	unsigned low = 0, high = t->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (t->all[middle]->context < context)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct thread_counts *threads_insert(struct threads *t, unsigned at, struct err *e)
{
	struct thread_counts **all = realloc(t->all, (t->n + 1) * sizeof(struct thread_counts *));
	struct thread_counts *one = all ? calloc(1, sizeof(*one)) : NULL;

	t->all = all ? all : t->all;
	if (!one) {
		err_set(e, ENOMEM, "no memory for %u threads", t->n + 1);
		return NULL;
	}
	memmove(&t->all[at + 1], &t->all[at], (t->n - at) * sizeof(struct thread_counts *));
	t->all[at] = one;
	t->n++;
	return one;
}

/* Finds a thread by its context, as the kernel reuses thread numbers. */
static struct thread_counts *threads_find(struct threads *t, int dir, int tid, struct err *e)
{
	struct thread_counts *one;
	struct stat st;
	unsigned at;

	if (fstat(dir, &st) < 0) {
		err_set(e, errno, "the context of thread %d: %s", tid, err_name(errno));
		return NULL;
	}
	at = threads_search(t, st.st_ino);
	if (at < t->n && t->all[at]->context == st.st_ino)
		return t->all[at];
	one = threads_insert(t, at, e);
	if (one) {
		one->context = st.st_ino;
		one->tid = tid;
	}
	return one;
}

/* Reads the counts of a child, which has no children itself. */
static struct thread_counts *threads_read_one(
	struct threads *t, const struct plan *p, int dir, int tid, struct err *e)
{
	struct thread_counts *one = threads_find(t, dir, tid, e);

	if (!one)
		return NULL;
	one->now = (struct reading){0};
	return reading_add(&one->now, p, dir, e) < 0 ? NULL : one;
}

static int threads_read_child(
	void *arg, const struct plan *p, int child, int list, const char *name, struct err *e)
{
	(void)list;
	return threads_read_one(arg, p, child, atoi(name), e) ? 0 : -e->no;
}

int threads_read(struct threads *t, const struct plan *p, int dir, int tid, struct err *e)
{
	struct thread_counts *own = threads_find(t, dir, tid, e);

	if (!own)
		return -e->no;
	own->now = (struct reading){0};
	if (reading_add_own(&own->now, p, dir, e) < 0)
		return -e->no;
	return reading_each_child(t, p, dir, threads_read_child, e);
}

static int threads_read_line(struct threads *t, const struct plan *p, ino_t context, unsigned line,
	struct slice text, struct err *e)
{
	struct thread_counts *one = line < t->n ? t->all[line] : threads_insert(t, line, e);

	if (!one)
		return -e->no;
	one->context = context;
	one->line = line;
	one->now = (struct reading){0};
	return reading_add_thread(&one->now, p, text, &one->tid, &one->ended, e);
}

int threads_read_lines(struct threads *t, const struct plan *p, int dir, struct err *e)
{
	TEXT_CLEANUP struct text text = {0};
	struct slice rest, line;
	unsigned n = 0;
	struct stat st;
	int rc = file_read(dir, "threads", &text, e);

	if (rc == 0 && fstat(dir, &st) < 0)
		rc = err_set(e, errno, "the context: %s", err_name(errno));
	rest = (struct slice){text.p, text.n};
	while (rc == 0 && (line = slice_cut(&rest, '\n')).n)
		rc = threads_read_line(t, p, st.st_ino, n++, line, e);
	return rc;
}

static int threads_collect_child(
	void *arg, const struct plan *p, int child, int list, const char *name, struct err *e)
{
	struct thread_counts *one;
	int rc = reading_child_ended(child, e);

	if (rc <= 0)
		return rc;
	one = threads_read_one(arg, p, child, atoi(name), e);
	if (!one)
		return -e->no;
	one->ended = true;
	return reading_remove_child(list, name, e);
}

int threads_collect(struct threads *t, const struct plan *p, int dir, struct err *e)
{
	return reading_each_child(t, p, dir, threads_collect_child, e);
}

uint64_t threads_began(int tid)
{
	char path[32], line[1024];
	unsigned long long began = 0;
	CLEANUP_FCLOSE FILE *f = NULL;
	const char *p = NULL;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f))
		p = strrchr(line, ')'); /* the name before it may contain anything */
	/* Field 22; proc(5). */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && sscanf(p, "%llu", &began) == 1 ? began : 0;
}

void threads_find_began(struct threads *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (!t->all[i]->sure && !t->all[i]->ended)
			t->all[i]->began = threads_began(t->all[i]->tid);
}

void threads_keep_began(struct threads *t)
{
	for (unsigned i = 0; i < t->n; i++)
		t->all[i]->sure |= t->all[i]->began && !t->all[i]->ended;
}

void threads_free(struct threads *t)
{
	for (unsigned i = 0; i < t->n; i++)
		free(t->all[i]);
	free(t->all);
	*t = (struct threads){0};
}
