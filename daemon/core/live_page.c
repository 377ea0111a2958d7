// SPDX-License-Identifier: MIT
/*
 * Pages of live counts (include/perfmonfs/live.h). The page of the active set is told to be in
 * change before any register of that set is, and shows what is true again when the command is
 * through. Two things are true all the same, and need no telling:
 *
 *   a counter that has been stopped, and not been touched besides, still adds up: the plan that
 *   stops the counters runs first, as it is counted
 *   so does one that is not started yet: if a plan is left that starts the counters, the page may
 * as well say that they count
 *
 * A set that is being switched to is not active, by its page, until that is through.
 */
#include "daemon/core/core_i.h"

_Static_assert((int)PMU_MAX_PMDS <= (int)PFM_LIVE_PMDS, "all PMDs have a place");
_Static_assert(sizeof(struct pfm_live) <= 4096, "it is one page");

/* Each by a release: who sees it sees seq odd, or newer, afterwards. See pfm_live_read(). */
static void store(struct pfm_live_pmd *to, const struct pfm_live_pmd *from)
{
	__atomic_store_n(&to->value, from->value, __ATOMIC_RELEASE);
	__atomic_store_n(&to->hw, from->hw, __ATOMIC_RELEASE);
	__atomic_store_n(&to->index, from->index, __ATOMIC_RELEASE);
	__atomic_store_n(&to->num, from->num, __ATOMIC_RELEASE);
	__atomic_store_n(&to->width, from->width, __ATOMIC_RELEASE);
	__atomic_store_n(&to->flags, from->flags, __ATOMIC_RELEASE);
}

/* Only a context's owner writes its pages, so seq is what it last wrote. */
static void begin(struct pfm_live *page)
{
	__atomic_store_n(&page->seq, page->seq | 1, __ATOMIC_RELAXED);
}

static void end(struct pfm_live *page)
{
	__atomic_store_n(&page->seq, page->seq + 1, __ATOMIC_RELEASE);
}

static uint8_t flags_of(const struct context *ctx, const struct evtset *set, unsigned d)
{
	const struct pmd_state *s = &set->pmd[d];
	unsigned flags = 0;

	if (set == ctx->active && (ctx->hold->hw.pmds & ROW(d)))
		flags |= PFM_LIVE_COUNTS;
	if (ctx->rdpmc && ctx->pmu->pmds[d].rdpmc >= 0)
		flags |= PFM_LIVE_RDPMC;
	if (s->lost)
		flags |= PFM_LIVE_LOST;
	if (s->flags & PMD_NO64)
		flags |= PFM_LIVE_NARROW;
	return (uint8_t)flags;
}

static void fill_pmd(
	const struct context *ctx, const struct evtset *set, unsigned d, struct pfm_live_pmd *to)
{
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[d];
	const struct pmd_state *s = &set->pmd[d];
	struct pfm_live_pmd p = {
		.value = s->n.value,
		.hw = s->hw,
		.num = pmd->num,
		.width = pmd->width,
		.flags = flags_of(ctx, set, d),
	};

	if (p.flags & PFM_LIVE_RDPMC)
		p.index = (uint32_t)pmd->rdpmc;
	if (p.flags & PFM_LIVE_NARROW)
		p.value &= pmd_width_mask(pmd);
	store(to, &p);
}

static void fill(const struct context *ctx, const struct evtset *set, struct pfm_live *page)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		fill_pmd(ctx, set, d, &page->pmd[d]);
	__atomic_store_n(&page->active, set == ctx->active && ctx_counts(ctx), __ATOMIC_RELEASE);
	__atomic_store_n(&page->cpu, ctx->cpu, __ATOMIC_RELEASE);
}

void live_refresh(const struct context *ctx, const struct evtset *set)
{
	if (!set->live)
		return;
	begin(set->live);
	fill(ctx, set, set->live);
	end(set->live);
}

void ctx_live_begin(struct context *ctx)
{
	if (ctx->active->live)
		begin(ctx->active->live);
}

void ctx_live_end(struct context *ctx, struct evtset *was)
{
	live_refresh(ctx, was);
	if (ctx->active != was)
		live_refresh(ctx, ctx->active);
}

/* Nobody keeps it any more: what it shows is the past, and must not be waited for to change. */
static void leave(struct pfm_live *page)
{
	begin(page);
	__atomic_store_n(&page->active, 0, __ATOMIC_RELEASE);
	end(page);
}

static void describe(const struct context *ctx, struct pfm_live *page)
{
	page->version = PFM_LIVE_VERSION;
	page->npmds = ctx->pmu->npmds;
}

int live_set(struct context *ctx, const struct command *cmd, struct err *e)
{
	struct evtset *set = ctx_set(ctx, cmd->evtset.id);

	if (!set)
		return err_set(e, ENOENT, "no event set %u: mkdir it first", cmd->evtset.id);
	/* The same page may be given again: its readers have it already. */
	if (set->live == cmd->live)
		return CORE_DONE;
	if (set->live)
		leave(set->live);
	ctx->nlive += (cmd->live != NULL) - (set->live != NULL);
	set->live = cmd->live;
	if (!set->live)
		return CORE_DONE;
	ctx->rdpmc = cmd->rdpmc;
	describe(ctx, set->live);
	live_refresh(ctx, set);
	return CORE_DONE;
}

int step_live_read(
	struct context *ctx, struct command *cmd, struct step *st, struct plan *plan, struct err *e)
{
	struct evtset *set = ctx_set(ctx, cmd->evtset.id);

	if (!set)
		return err_set(e, ENOENT, "no event set %u: mkdir it first", cmd->evtset.id);
	if (set == ctx->active) {
		if (look_at(ctx, st, plan, live_rows(ctx, ~0U)) == CORE_RUN)
			return CORE_RUN;
		overflow_settle(ctx, plan);
	}
	describe(ctx, cmd->shown);
	fill(ctx, set, cmd->shown);
	/* The page is in change just now; what it will be at when this is through. */
	if (set->live)
		cmd->shown->seq = (set->live->seq | (set == ctx->active)) + (set == ctx->active);
	return CORE_DONE;
}
