// SPDX-License-Identifier: MIT
/* Making, deleting, modifying and examining event sets (specification 3.1.10 to 3.1.12). */
#include "daemon/core/core_i.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/core/random.h"

#define TIMEOUT_MAX 1000000000000000000 /* 31 years: sums with times stay far from 2^64 */

static int evtset_is_loaded(const struct context *ctx, struct err *e)
{
	if (ctx->target.tid)
		return err_set(e, EBUSY,
			"the context is loaded on thread %d: unload it before you change its event "
			"sets",
			ctx->target.tid);
	return err_set(e, EBUSY,
		"the context is loaded on CPU %u: unload it before you change its event sets",
		ctx->target.cpu);
}

static int evtset_missing(struct cmd_evtset *c, struct err *e)
{
	c->fault = FAULT_NOSET;
	return err_set(e, ENOENT, "no event set %u: make it first", c->id);
}

/* A thread's counts never include the idle thread; it cannot be excluded from a CPU's. */
static int evtset_check_idle(unsigned flags, unsigned id, struct err *e)
{
	if (!(flags & SET_EXCL_IDLE))
		return 0;
	return err_set(e, EINVAL,
		"set %u: excl_idle is for threads, as the idle thread of a CPU cannot be excluded: "
		"leave the flag out, and count at user level, where the idle thread never runs",
		id);
}

static int evtset_check_flags(const struct context *ctx, const struct cmd_evtset *c, struct err *e)
{
	const unsigned both = SET_OVFL_SWITCH | SET_TIME_SWITCH;

	if ((c->flags & both) == both)
		return err_set(e, EINVAL,
			"a set switches on overflow or by time, not both: write ovfl_switch or "
			"time_switch");
	return ctx->flags & CTX_SYSTEM_WIDE ? evtset_check_idle(c->flags, c->id, e) : 0;
}

static int evtset_check_change(const struct context *ctx, const struct cmd_evtset *c, struct err *e)
{
	if ((c->change & EVTSET_FLAGS) && evtset_check_flags(ctx, c, e) < 0)
		return -e->no;
	if (!(c->change & EVTSET_TIMEOUT))
		return 0;
	if (!c->timeout_ns)
		return err_set(e, EINVAL,
			"a timeout of 0 would never let the set count: clear time_switch in flags "
			"instead");
	if (c->timeout_ns > TIMEOUT_MAX)
		return err_set(e, ERANGE, "the timeout is too long: write at most %llu ns",
			(unsigned long long)TIMEOUT_MAX);
	return 0;
}

static uint64_t evtset_effective_ns(uint64_t ns, const struct limits *l)
{
	if (ns < l->tick_ns)
		ns = l->tick_ns;
	return l->timer_ns ? (ns + l->timer_ns - 1) / l->timer_ns * l->timer_ns : ns;
}

static void evtset_change(
	struct evtset *set, const struct cmd_evtset *c, const struct limits *limits)
{
	if (c->change & EVTSET_TIMEOUT)
		set->timeout_ns = evtset_effective_ns(c->timeout_ns, limits);
	if (c->change & EVTSET_FLAGS)
		set->flags = (uint8_t)c->flags;
	if (c->change & EVTSET_NEXT) {
		set->next_id = c->next;
		set->flags = (uint8_t)((set->flags & ~SET_EXPL_NEXT) |
				       (c->has_next ? SET_EXPL_NEXT : 0));
	}
}

/* Making a set defines all its properties: those that are not given have their defaults. */
static void evtset_clear_properties(struct evtset *set)
{
	set->flags = 0;
	set->next_id = 0;
	set->timeout_ns = 0;
}

/* Adds set @id; NULL: no memory. */
static struct evtset *evtset_insert(struct context *ctx, unsigned id)
{
	unsigned i = ctx_set_position(ctx, id);
	struct evtset *set;

	if (ctx->nsets == ctx->room) {
		struct evtset **more = realloc(ctx->sets, 2 * ctx->room * sizeof(struct evtset *));

		if (!more)
			return NULL;
		ctx->sets = more;
		ctx->room *= 2;
	}
	set = evtset_new((uint16_t)id, ctx->pmu);
	if (!set)
		return NULL;
	memmove(&ctx->sets[i + 1], &ctx->sets[i], (ctx->nsets++ - i) * sizeof(struct evtset *));
	ctx->sets[i] = set;
	return set;
}

static void evtset_remake(struct context *ctx, struct evtset *set)
{
	loss_end_set(ctx, set);
	evtset_renew(set, ctx->pmu);
}

static int evtset_make(
	struct context *ctx, struct cmd_evtset *c, const struct limits *limits, struct err *e)
{
	struct evtset *set = ctx_set(ctx, c->id);

	if (ctx->state != CTX_UNLOADED)
		return evtset_is_loaded(ctx, e);
	if (set && c->there == EVTSET_REFUSE)
		return err_set(e, EEXIST, "event set %u exists already", c->id);
	if (!set && ctx->smpl.fmt && (ctx->smpl.fmt->fmt_flags & PFM_FMTFL_NOSET))
		return err_set(e, EINVAL,
			"format %s cannot handle event sets: choose another format",
			ctx->smpl.fmt->fmt_name);
	if (evtset_check_change(ctx, c, e) < 0)
		return -e->no;
	c->fresh = !set;
	if (set && c->there == EVTSET_KEEP)
		evtset_clear_properties(set);
	else if (set)
		evtset_remake(ctx, set);
	else
		set = evtset_insert(ctx, c->id);
	if (!set)
		return err_set(e, ENOMEM, "no memory for an event set");
	ctx_needs_changed(ctx);
	evtset_change(set, c, limits);
	c->timeout_ns = set->timeout_ns;
	live_refresh(ctx, set);
	return 0;
}

int set_new(struct context *ctx, struct cmd_evtset *c, const struct limits *limits, struct err *e)
{
	int rc = evtset_make(ctx, c, limits, e);

	c->fault = rc < 0 ? FAULT_REFUSED : FAULT_NONE;
	return rc;
}

int set_delete(struct context *ctx, struct cmd_evtset *c, struct err *e)
{
	unsigned i = ctx_set_position(ctx, c->id);
	struct evtset *set = ctx_set(ctx, c->id);

	if (!set)
		return evtset_missing(c, e);
	c->fault = FAULT_REFUSED;
	if (!c->id)
		return err_set(e, EINVAL, "set 0 cannot be removed alone: remove the context");
	if (ctx->state != CTX_UNLOADED)
		return evtset_is_loaded(ctx, e);
	c->fault = FAULT_NONE;
	memmove(&ctx->sets[i], &ctx->sets[i + 1], (--ctx->nsets - i) * sizeof(struct evtset *));
	ctx_needs_changed(ctx);
	ctx->live.npages -= set->live != NULL;
	loss_end_set(ctx, set);
	free(set);
	return 0;
}

int set_write(
	struct context *ctx, const struct cmd_evtset *c, const struct limits *limits, struct err *e)
{
	struct evtset *set = ctx_set(ctx, c->id);

	if (!set)
		return err_set(e, ENOENT, "no event set %u: make it first", c->id);
	if (ctx->state != CTX_UNLOADED)
		return evtset_is_loaded(ctx, e);
	if (evtset_check_change(ctx, c, e) < 0)
		return -e->no;
	evtset_change(set, c, limits);
	return 0;
}

int set_read(const struct context *ctx, struct cmd_evtset *c, uint64_t now, struct err *e)
{
	const struct evtset *set = ctx_set(ctx, c->id);
	const struct pmu *pmu = ctx->pmu;
	uint64_t ns;

	if (!set)
		return evtset_missing(c, e);
	ns = evtset_running_ns(ctx, set, now);
	*c = (struct cmd_evtset){
		.id = set->id,
		.flags = set->flags,
		.timeout_ns = set->timeout_ns,
		.next = set->next_id,
		.has_next = set->flags & SET_EXPL_NEXT,
		.runs = set->runs,
		.active_ns = set->active_ns + ns,
	};
	if ((set->flags & SET_TIME_SWITCH) && ns < set->remaining_ns)
		c->remaining_ns = set->remaining_ns - ns;
	for (unsigned p = 0; p < pmu->npmcs; p++)
		if (!(pmu->by_type.lacks_pmcs & ROW(p)))
			regset_add(&c->pmcs, pmu->pmcs[p].num);
	for (unsigned d = 0; d < pmu->npmds; d++) {
		if (!(pmu->by_type.lacks_pmds & ROW(d)))
			regset_add(&c->pmds, pmu->pmds[d].num);
		if (set->triggers & ROW(d))
			regset_add(&c->switch_pmds, pmu->pmds[d].num);
	}
	for (unsigned i = 0; i < pmu->nvirtuals; i++)
		regset_add(&c->pmds, pmu->virtuals[i].num);
	return 0;
}

static int evtset_check(
	const struct context *ctx, const struct evtset *set, bool thread, struct err *e)
{
	if (!thread && evtset_check_idle(set->flags, set->id, e) < 0)
		return -e->no;
	if ((set->flags & SET_EXPL_NEXT) && !ctx_set(ctx, set->next_id))
		return err_set(e, EINVAL,
			"set %u is followed by set %u, which does not exist: mkdir it, or write "
			"another to set/%u/next",
			set->id, set->next_id, set->id);
	if ((set->flags & SET_TIME_SWITCH) && !set->timeout_ns)
		return err_set(e, EINVAL,
			"set %u switches by time but has no timeout: write one to "
			"set/%u/timeout_ns",
			set->id, set->id);
	return 0;
}

/* A copy counts from the value last loaded: a sampling period begins. */
static void evtset_copy_pmd(struct pmd_state *to, const struct pmd_state *from)
{
	*to = *from;
	to->n.value = from->n.last_reset;
	to->n.thresh_left = from->thresh;
	to->n.random = random_seed(from->seed);
	to->lost = LOST_NOT;
	to->dropped = false;
	to->overflows = 0;
	to->gaps = (struct gaps){0};
}

static void evtset_copy(struct evtset *to, const struct evtset *from, const struct pmu *pmu)
{
	to->next_id = from->next_id;
	to->flags = from->flags;
	to->calibrated = from->calibrated;
	to->virtuals = from->virtuals;
	to->timeout_ns = from->timeout_ns;
	memcpy(to->pmc, from->pmc, pmu->npmcs * sizeof(to->pmc[0]));
	for (unsigned d = 0; d < pmu->npmds; d++)
		evtset_copy_pmd(&to->pmd[d], &from->pmd[d]);
}

int sets_copy(struct context *to, const struct context *from, struct err *e)
{
	to->past.kernel_pmcs = from->past.kernel_pmcs;
	to->past.notify = from->past.notify;
	for (unsigned i = 0; i < from->nsets; i++) {
		unsigned id = from->sets[i]->id;
		struct evtset *set = ctx_set(to, id);

		if (!set)
			set = evtset_insert(to, id);
		if (!set)
			return err_set(e, ENOMEM, "no memory for an event set");
		evtset_copy(set, from->sets[i], from->pmu);
		ctx_needs_changed(to);
	}
	return 0;
}

int sets_check(const struct context *ctx, bool thread, struct err *e)
{
	for (unsigned i = 0; i < ctx->nsets; i++)
		if (evtset_check(ctx, ctx->sets[i], thread, e) < 0)
			return -e->no;
	return 0;
}

void sets_link(struct context *ctx)
{
	for (unsigned i = 0; i < ctx->nsets; i++) {
		struct evtset *set = ctx->sets[i];

		set->next = set->flags & SET_EXPL_NEXT ? ctx_set(ctx, set->next_id)
						       : ctx->sets[(i + 1) % ctx->nsets];
		set->triggers = set->due = 0;
	}
}
