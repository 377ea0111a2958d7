// SPDX-License-Identifier: MIT
#include "daemon/percpu/budget.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A set that another context has reserved, and the identity of that context. It is a copy, as the
 * reservation may end. */
struct budget_rival {
	struct budget_set set;
	unsigned uid, cpu;
	int tid;
	char name[65];
};

struct budget_rivals {
	unsigned n, max;
	struct budget_rival of[BUDGET_TRIALS];
};

void budget_init(struct budget *b, struct backend *be)
{
	b->be = be;
	pthread_mutex_init(&b->lock, NULL);
	list_init(&b->reservations);
}

static bool budget_same(const struct budget_set *a, const struct budget_set *b)
{
	return a->n == b->n && memcmp(a->sel, b->sel, a->n * sizeof(a->sel[0])) == 0;
}

static bool budget_takes(
	const struct backend *be, const struct context *ctx, const struct evtset *set, unsigned pmc)
{
	return set->pmc[pmc] & ctx->pmu->pmcs[pmc].enable && be->ops->takes_counter(set->pmc[pmc]);
}

bool budget_takes_counters(const struct backend *be, const struct context *ctx)
{
	for (unsigned i = 0; be->ops->takes_counter && i < ctx->nsets; i++)
		for (unsigned p = 0; p < ctx->pmu->npmcs; p++)
			if (budget_takes(be, ctx, ctx->sets[i], p))
				return true;
	return false;
}

static void budget_events(const struct backend *be, const struct context *ctx,
	const struct evtset *set, struct budget_set *out)
{
	out->n = 0;
	for (unsigned p = 0; p < ctx->pmu->npmcs && out->n < BUDGET_EVENTS; p++)
		if (budget_takes(be, ctx, set, p))
			out->sel[out->n++] = set->pmc[p];
}

static bool budget_has(const struct budget_reservation *c, const struct budget_set *set)
{
	for (unsigned i = 0; i < c->nsets; i++)
		if (budget_same(&c->sets[i], set))
			return true;
	return false;
}

static void budget_list_sets(const struct budget *b, struct budget_reservation *c)
{
	const struct context *ctx = &c->ec->ctx;

	c->nsets = 0;
	for (unsigned i = 0; i < ctx->nsets && c->nsets < BUDGET_SETS; i++) {
		struct budget_set *set = &c->sets[c->nsets];

		budget_events(b->be, ctx, ctx->sets[i], set);
		if (set->n && !budget_has(c, set))
			c->nsets++;
	}
}

/* True if thread @tid may run on @cpu. False if the thread has ended. */
static bool budget_may_run(int tid, unsigned cpu)
{
	struct cpus affinity = {{0}};

	return syscall(SYS_sched_getaffinity, tid, sizeof(affinity), &affinity) >= 0 &&
	       cpus_has(&affinity, cpu);
}

static bool budget_meet(const struct budget_reservation *a, const struct budget_reservation *b)
{
	const struct budget_reservation *thread = a->tid ? a : b, *cpu = a->tid ? b : a;

	return budget_may_run(atomic_load(thread->tid), cpu->cpu);
}

static bool budget_is_rival(const struct budget_rivals *r, const struct budget_set *set)
{
	for (unsigned i = 0; i < r->n; i++)
		if (budget_same(&r->of[i].set, set))
			return true;
	return false;
}

static bool budget_has_new(const struct budget_reservation *c, const struct budget_rivals *r)
{
	for (unsigned i = 0; i < c->nsets; i++)
		if (!budget_is_rival(r, &c->sets[i]))
			return true;
	return false;
}

static void budget_add_rivals(const struct budget_reservation *c, struct budget_rivals *r)
{
	for (unsigned i = 0; i < c->nsets && r->n < r->max; i++) {
		struct budget_rival *rival = &r->of[r->n];

		if (budget_is_rival(r, &c->sets[i]))
			continue;
		rival->set = c->sets[i];
		rival->uid = c->ec->uid;
		rival->cpu = c->cpu;
		rival->tid = c->tid ? atomic_load(c->tid) : 0;
		strncpy(rival->name, c->ec->name, sizeof(rival->name) - 1);
		r->n++;
	}
}

/* Contexts on threads of users except root keep only their user's own contexts from a CPU: beside
 * contexts of others, they lose their counts. */
static bool budget_gives_way(const struct budget_reservation *other, const struct engine_ctx *to)
{
	return other->tid && other->ec->uid && other->ec->uid != to->uid;
}

/* Contexts on threads do not meet each other: each thread has one, and they take turns on a CPU. */
static void budget_find_rivals(
	const struct budget *b, const struct budget_reservation *c, struct budget_rivals *r)
{
	const struct budget_reservation *other;

	list_for_each_entry (other, &b->reservations, entry)
		if (!other->tid != !c->tid && !budget_gives_way(other, c->ec) && r->n < r->max &&
			budget_has_new(other, r) && budget_meet(c, other))
			budget_add_rivals(other, r);
}

static bool budget_fit(struct backend *be, const struct budget_set *a, const struct budget_set *b)
{
	uint64_t both[2 * BUDGET_EVENTS];

	memcpy(both, a->sel, a->n * sizeof(both[0]));
	memcpy(both + a->n, b->sel, b->n * sizeof(both[0]));
	return be->ops->events_fit(be, both, a->n + b->n);
}

/* A set that does not fit alone is no conflict: its own start is refused, with a sentence about
 * that. */
static bool budget_conflict(
	struct backend *be, const struct budget_set *a, const struct budget_set *b)
{
	return !budget_fit(be, a, b) && be->ops->events_fit(be, a->sel, a->n) &&
	       be->ops->events_fit(be, b->sel, b->n);
}

static int budget_refuse(const struct budget_rival *r, struct err *e)
{
	return err_set(e, EBUSY,
		"the PMU has too few counters for these events beside those of context '%s' of uid "
		"%u on %s %d: count fewer hardware events, or stop that context",
		r->name, r->uid, r->tid ? "thread" : "CPU", r->tid ? r->tid : (int)r->cpu);
}

static int budget_try(struct backend *be, const struct budget_reservation *c,
	const struct budget_rivals *r, struct err *e)
{
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned k = 0; k < c->nsets; k++)
			if (budget_conflict(be, &c->sets[k], &r->of[i].set))
				return budget_refuse(&r->of[i], e);
	return 0;
}

/*
 * Reserves first and tries then, without the lock: of two contexts that start at the same moment,
 * the later one finds the other. Only this thread changes @c.
 */
int budget_reserve(
	struct budget *b, const struct engine_ctx *ec, struct budget_reservation *c, struct err *e)
{
	struct budget_rivals rivals = {0};
	int rc;

	if (!b->be->ops->events_fit || c->reserved)
		return 0;
	pthread_mutex_lock(&b->lock);
	c->ec = ec;
	budget_list_sets(b, c);
	rivals.max = c->nsets ? BUDGET_TRIALS / c->nsets : 0;
	budget_find_rivals(b, c, &rivals);
	list_add_tail(&c->entry, &b->reservations);
	c->reserved = true;
	pthread_mutex_unlock(&b->lock);
	rc = budget_try(b->be, c, &rivals, e);
	if (rc < 0)
		budget_release(b, c);
	return rc;
}

void budget_update(struct budget *b, struct budget_reservation *c)
{
	if (!c->reserved)
		return;
	pthread_mutex_lock(&b->lock);
	budget_list_sets(b, c);
	pthread_mutex_unlock(&b->lock);
}

void budget_release(struct budget *b, struct budget_reservation *c)
{
	if (!c->reserved)
		return;
	pthread_mutex_lock(&b->lock);
	list_del(&c->entry);
	c->reserved = false;
	pthread_mutex_unlock(&b->lock);
}
