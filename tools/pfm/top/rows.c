// SPDX-License-Identifier: MIT
#include "tools/pfm/top/rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "tools/pfm/tree/ctx.h"

/* --- Places */

/* Finds a place that has not ended: the number of an ended one may be another thread's. */
static struct top_place *top_find(struct top *t, int id)
{
	for (unsigned i = 0; i < t->nplaces; i++)
		if (t->places[i].place.id == id && !t->places[i].place.ended)
			return &t->places[i];
	return NULL;
}

static struct top_place *top_new_place(struct top *t)
{
	struct top_place *places = realloc(t->places, (t->nplaces + 1) * sizeof(*places));

	if (places)
		t->places = places;
	return places ? &places[t->nplaces] : NULL;
}

/* Loads a context on a thread or CPU. A thread that has ended meanwhile is left out; other failures
 * are kept. */
static int top_add(struct top *t, enum place_kind kind, int id, struct err *e)
{
	struct top_place *p = top_new_place(t);

	if (!p)
		return err_set(e, ENOMEM, "no memory for %u contexts", t->nplaces + 1);
	*p = (struct top_place){
		.place = {.kind = kind, .id = id, .plan = t->plan, .ctx = TREE_CTX_NONE},
		.pid = kind == PLACE_CPU ? 0 : proc_of_thread(id),
		.seen = true};
	if (place_load(&p->place, t->tree, &p->refused) == 0)
		ctx_command(&p->place.ctx, "start", &p->refused);
	if (p->refused.no)
		ctx_close(&p->place.ctx);
	if (p->refused.no == ESRCH)
		return 0;
	t->nplaces++;
	return 0;
}

static int top_see_thread(void *arg, int tid, struct err *e)
{
	struct top *t = arg;
	struct top_place *p = top_find(t, tid);

	if (!p)
		return top_add(t, PLACE_THREAD, tid, e);
	p->seen = true;
	return 0;
}

static int top_see(struct top *t, const struct place *wanted, struct err *e)
{
	if (wanted->kind == PLACE_PROCESS)
		return proc_threads(wanted->id, top_see_thread, t, e);
	if (wanted->kind == PLACE_THREAD)
		return proc_of_thread(wanted->id)
			       ? top_see_thread(t, wanted->id, e)
			       : err_set(e, ESRCH, "there is no thread %d: `ps -eL` lists threads",
					 wanted->id);
	if (!top_find(t, wanted->id))
		return top_add(t, PLACE_CPU, wanted->id, e);
	return 0;
}

/* Removes the threads that have ended. */
static void top_drop(struct top *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->nplaces; i++) {
		if (t->places[i].seen || t->places[i].place.kind == PLACE_CPU)
			t->places[n++] = t->places[i];
		else
			ctx_close(&t->places[i].place.ctx);
	}
	t->nplaces = n;
}

/* Adds new places and removes ended ones. -ESRCH: all have ended. */
static int top_update(struct top *t, struct err *e)
{
	struct err gone = {0}, now;
	int rc = 0;

	for (unsigned i = 0; i < t->nplaces; i++)
		t->places[i].seen = false;
	for (unsigned i = 0; rc == 0 && i < t->wanted.n; i++) {
		rc = top_see(t, &t->wanted.all[i], &now);
		if (rc == -ESRCH) {
			gone = now;
			rc = 0;
		}
	}
	if (rc < 0)
		return err_copy(e, &now);
	top_drop(t);
	if (t->nplaces)
		return 0;
	return gone.no ? err_copy(e, &gone) : err_set(e, ESRCH, "all threads have ended");
}

int top_open(struct top *t, struct err *e)
{
	int rc = places_add_list(&t->wanted, t->tree, &t->where, e);
	bool counted = false;

	ctx_raise_limit();
	if (rc == 0)
		rc = top_update(t, e);
	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < t->nplaces; i++)
		counted |= !t->places[i].refused.no;
	return counted ? 0 : err_copy(e, &t->places[0].refused);
}

/* --- Rows */

static struct top_row *top_row_of(struct top *t, int id)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->rows[i].id == id)
			return &t->rows[i];
	t->rows[t->n] = (struct top_row){.id = id};
	return &t->rows[t->n++];
}

static void top_add_rates(struct top_row *row, const struct plan *plan, const struct reading *r)
{
	bool timed = !r->torn && r->counted_ns;

	for (unsigned i = 0; i < plan->n; i++) {
		double rate = (double)r->values[i] * (double)NSEC_PER_SEC / (double)r->counted_ns;

		row->rates[i] += r->lost[i] || !timed ? NAN : rate;
	}
}

/* Reads a place into its row. A thread that has ended, or may no longer be counted, is not shown
 * again. */
static int top_read_place(struct top *t, struct top_place *p, struct err *e)
{
	bool sum = t->by_process && p->pid;
	struct reading now, since;
	struct top_row *row;
	int rc = place_read(&p->place, &now, e);

	if (rc < 0)
		return rc;
	since = now;
	reading_since(&since, &p->place.last);
	row = top_row_of(t, sum ? p->pid : p->place.id);
	if (p->place.kind != PLACE_CPU)
		proc_name(row->id, row->name);
	top_add_rates(row, t->plan, &since);
	p->place.last = now;
	return p->place.kind == PLACE_CPU ? place_revive(&p->place, t->tree, &since, e)
					  : place_check(&p->place, e);
}

static int top_read_places(struct top *t, struct err *e)
{
	int rc = 0;

	t->n = t->nrefused = 0;
	for (unsigned i = 0; rc == 0 && i < t->nplaces; i++) {
		if (!t->places[i].refused.no) {
			rc = top_read_place(t, &t->places[i], e);
			continue;
		}
		t->nrefused++;
		t->refused = t->places[i].refused;
	}
	return rc;
}

int top_read(struct top *t, struct err *e)
{
	struct top_row *rows = realloc(t->rows, t->nplaces * sizeof(*rows));
	int rc;

	if (!rows)
		return err_set(e, ENOMEM, "no memory for %u rows", t->nplaces);
	t->rows = rows;
	rc = top_read_places(t, e);
	return rc < 0 ? rc : top_update(t, e);
}

void top_close(struct top *t)
{
	for (unsigned i = 0; i < t->nplaces; i++)
		ctx_close(&t->places[i].place.ctx);
	free(t->places);
	free(t->rows);
	places_free(&t->wanted);
}
