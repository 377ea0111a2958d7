// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The one of @tid that has not ended, as numbers of those that have are used again. */
static struct thread_counts *threads_find(struct threads *t, int tid, struct err *e)
{
	struct thread_counts **all, *one;

	for (unsigned i = 0; i < t->n; i++)
		if (t->all[i]->tid == tid && !t->all[i]->ended)
			return t->all[i];
	all = realloc(t->all, (t->n + 1) * sizeof(struct thread_counts *));
	t->all = all ? all : t->all;
	one = all ? calloc(1, sizeof(*one)) : NULL;
	if (!one) {
		err_set(e, ENOMEM, "no memory for %u threads", t->n + 1);
		return NULL;
	}
	one->tid = tid;
	t->all[t->n++] = one;
	return one;
}

static struct thread_counts *threads_read_one(
	struct threads *t, const struct plan *p, int dir, int tid, struct err *e)
{
	struct thread_counts *one = threads_find(t, tid, e);

	if (!one)
		return NULL;
	one->now = (struct reading){0};
	return reading_add_own(&one->now, p, dir, e) < 0 ? NULL : one;
}

static int threads_read_child(
	void *arg, const struct plan *p, int child, int list, const char *name, struct err *e)
{
	(void)list;
	return threads_read_one(arg, p, child, atoi(name), e) ? 0 : -e->no;
}

int threads_read(struct threads *t, const struct plan *p, int dir, int tid, struct err *e)
{
	if (!threads_read_one(t, p, dir, tid, e))
		return -e->no;
	return reading_each_child(t, p, dir, threads_read_child, e);
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

void threads_free(struct threads *t)
{
	for (unsigned i = 0; i < t->n; i++)
		free(t->all[i]);
	free(t->all);
	*t = (struct threads){0};
}
