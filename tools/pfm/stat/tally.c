// SPDX-License-Identifier: MIT
#include "tools/pfm/stat/tally.h"

#include <errno.h>
#include <stdlib.h>

/* Whether @t is of @scope and @p in pass @pass. */
static bool tally_is(
	const struct tally *t, const struct scope *scope, const struct plan *p, unsigned pass)
{
	if (t->plan != p)
		return false;
	if (!scope || !t->scope)
		return scope == t->scope;
	return scope_same(scope, t->scope) ||
	       (t->pass != pass && scope_same_thread(scope, t->scope));
}

static struct tally *tally_make(struct tallies *t, uint64_t nruns, struct err *e)
{
	struct tally **all = realloc(t->all, (t->n + 1) * sizeof(struct tally *));
	struct tally *one = all ? calloc(1, sizeof(*one)) : NULL;

	t->all = all ? all : t->all;
	if (!one) {
		err_set(e, ENOMEM, "no memory for the counts of %u threads or CPUs", t->n + 1);
		return NULL;
	}
	t->all[t->n++] = one;
	return runs_init(&one->runs, (unsigned)nruns, e) < 0 ? NULL : one;
}

static struct tally *tally_find(struct tallies *t, const struct scope *scope, const struct plan *p,
	uint64_t nruns, struct err *e)
{
	/* A context is taken once in a pass, so that only tallies of earlier passes can have its
	 * thread. */
	unsigned n = scope && scope->context ? t->before : t->n;
	struct tally *one;

	for (unsigned i = 0; i < n; i++) {
		one = t->all[(t->next + i) % n];
		if (tally_is(one, scope, p, t->pass)) {
			t->next += i + 1;
			return one;
		}
	}
	one = tally_make(t, nruns, e);
	if (one)
		one->plan = p;
	if (one && scope)
		one->scope = &one->room;
	return one;
}

int tallies_take(struct tallies *t, const struct scope *scope, const struct counts *c,
	const struct plan *p, uint64_t elapsed_ns, uint64_t nruns, struct err *e)
{
	struct tally *one = tally_find(t, scope, p, nruns, e);

	if (!one)
		return -e->no;
	/* From here on, the thread has the context of this pass. */
	if (scope)
		one->room = *scope;
	one->pass = t->pass;
	one->counted = true;
	one->elapsed_ns = elapsed_ns;
	one->counts.counted_ns = c->counted_ns;
	one->counts.gaps = c->gaps;
	one->counts.uncertain_ns = c->uncertain_ns;
	for (unsigned i = 0; i < p->n; i++)
		if (c->all[i].counted)
			one->counts.all[i] = c->all[i];
	return 0;
}

void tallies_pass(struct tallies *t)
{
	t->pass++;
	t->before = t->n;
	t->next = 0;
}

void tallies_clear(struct tallies *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		t->all[i]->counted = false;
		t->all[i]->counts = (struct counts){0};
	}
}

void tallies_free(struct tallies *t)
{
	for (unsigned i = 0; i < t->n; i++) {
		runs_free(&t->all[i]->runs);
		free(t->all[i]);
	}
	free(t->all);
	*t = (struct tallies){0};
}
