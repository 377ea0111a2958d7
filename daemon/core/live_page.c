// SPDX-License-Identifier: MIT
/*
 * Pages of live counts (include/perfmonfs/live.h). The page of the active set is marked as in
 * change before a command writes registers, and is valid again when the command is done. Two cases
 * need no mark, because the page is right all the same:
 *
 *   a counter that was stopped and not touched otherwise still adds up, so run->freeze may be run
 *   before the command
 *   so does a counter that is not started yet, so the page shows it as counting before the last
 *   plan enables it
 *
 * By its page, a set that is being switched to is not active until the command is done.
 */
#include "daemon/core/core_i.h"

_Static_assert((int)PMU_MAX_PMDS <= (int)PFM_LIVE_PMDS, "all PMDs have a place");
_Static_assert(sizeof(struct pfm_live) <= 4096, "it is one page");

/* Release stores: a reader that sees one of them sees seq odd, or newer. See pfm_live_read(). */
static void live_store(struct pfm_live_pmd *to, const struct pfm_live_pmd *from)
{
	__atomic_store_n(&to->value, from->value, __ATOMIC_RELEASE);
	__atomic_store_n(&to->hw, from->hw, __ATOMIC_RELEASE);
	__atomic_store_n(&to->index, from->index, __ATOMIC_RELEASE);
	__atomic_store_n(&to->num, from->num, __ATOMIC_RELEASE);
	__atomic_store_n(&to->width, from->width, __ATOMIC_RELEASE);
	__atomic_store_n(&to->flags, from->flags, __ATOMIC_RELEASE);
}

/* Only the context's owner writes its pages, so seq holds what it wrote last. */
static void live_begin_page(struct pfm_live *page)
{
	__atomic_store_n(&page->seq, page->seq | 1, __ATOMIC_RELAXED);
}

static void live_end_page(struct pfm_live *page)
{
	__atomic_store_n(&page->seq, page->seq + 1, __ATOMIC_RELEASE);
}

static uint8_t live_flags(const struct context *ctx, const struct evtset *set, unsigned d)
{
	const struct pmd_state *s = &set->pmd[d];
	unsigned flags = 0;

	if (set == ctx->active && (ctx->res->hw.pmds & ROW(d)))
		flags |= PFM_LIVE_COUNTS;
	if (ctx->pmu->pmds[d].rdpmc >= 0)
		flags |= ctx->live.rdpmc;
	if (pmd_lost(s))
		flags |= PFM_LIVE_LOST;
	if (s->flags & PMD_NO64)
		flags |= PFM_LIVE_NARROW;
	return (uint8_t)flags;
}

static void live_fill_pmd(
	const struct context *ctx, const struct evtset *set, unsigned d, struct pfm_live_pmd *to)
{
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[d];
	const struct pmd_state *s = &set->pmd[d];
	struct pfm_live_pmd p = {
		.value = pmd_value(ctx->pmu, set, d),
		.hw = s->hw,
		.num = pmd->num,
		.width = pmd->width,
		.flags = live_flags(ctx, set, d),
	};

	if (p.flags & (PFM_LIVE_RDPMC | PFM_LIVE_MAPPED))
		p.index = (uint32_t)pmd->rdpmc;
	live_store(to, &p);
}

static void live_fill(const struct context *ctx, const struct evtset *set, struct pfm_live *page)
{
	for (unsigned d = 0; d < ctx->pmu->npmds; d++)
		live_fill_pmd(ctx, set, d, &page->pmd[d]);
	__atomic_store_n(
		&page->active, set == ctx->active && ctx_time_passes(ctx), __ATOMIC_RELEASE);
	__atomic_store_n(&page->cpu, ctx->target.cpu, __ATOMIC_RELEASE);
	__atomic_store_n(&page->time, ctx->live.time, __ATOMIC_RELEASE);
}

void live_refresh(const struct context *ctx, const struct evtset *set)
{
	if (!set->live)
		return;
	live_begin_page(set->live);
	live_fill(ctx, set, set->live);
	live_end_page(set->live);
}

void live_begin(struct context *ctx)
{
	if (ctx->active->live)
		live_begin_page(ctx->active->live);
}

void live_end(struct context *ctx, struct evtset *was)
{
	live_refresh(ctx, was);
	if (ctx->active != was)
		live_refresh(ctx, ctx->active);
}

/* The page is no longer updated: it keeps the last values, and readers must not wait for it. */
static void live_leave(struct pfm_live *page)
{
	live_begin_page(page);
	__atomic_store_n(&page->active, 0, __ATOMIC_RELEASE);
	live_end_page(page);
}

static void live_describe(const struct context *ctx, struct pfm_live *page)
{
	page->version = PFM_LIVE_VERSION;
	page->npmds = ctx->pmu->npmds;
}

int cmd_live(struct context *ctx, const struct command *cmd, struct err *e)
{
	struct evtset *set = ctx_set(ctx, cmd->evtset.id);

	if (!set)
		return err_set(e, ENOENT, "no event set %u: mkdir it first", cmd->evtset.id);
	/* The same page may be set again: it must not be left marked as in change. */
	if (set->live == cmd->live_page.page)
		return 0;
	if (set->live)
		live_leave(set->live);
	ctx->live.npages += (cmd->live_page.page != NULL) - (set->live != NULL);
	set->live = cmd->live_page.page;
	if (!set->live)
		return 0;
	ctx->live.rdpmc = cmd->live_page.rdpmc;
	ctx->live.ticks = cmd->live_page.ticks;
	live_describe(ctx, set->live);
	live_refresh(ctx, set);
	return 0;
}

void live_show(const struct context *ctx, const struct evtset *set, struct pfm_live *page)
{
	bool changing = set == ctx->active;

	live_describe(ctx, page);
	live_fill(ctx, set, page);
	/* While a command is executed, the page of the active set is in change. */
	if (set->live)
		page->seq = (set->live->seq | changing) + changing;
}
