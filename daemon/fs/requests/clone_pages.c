// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/clone_pages.h"

#include <errno.h>

#include "daemon/fs/requests/command_request.h"
#include "daemon/fs/requests/quota.h"
#include "daemon/fs/requests/rdpmc.h"
#include "perfmonfs/live.h"

static size_t clone_page_size(void)
{
	return shared_room(sizeof(struct pfm_live));
}

/* Whether sets can get live pages. Sets are made while the context is unloaded; a set that arrives
 * when it is loaded again gets no page. */
static bool clone_can_map(const struct fs_context *ctx)
{
	return ctx->map.region && ctx->map.map_sets && !ctx->ec.worker && !ctx->ec.task;
}

/* Offset 0 has no live page: it has the buffer, or an empty page. */
static int clone_begin_pages(struct fs_context *ctx, struct err *e)
{
	size_t at;

	if (ctx->map.first)
		return 0;
	if (!ctx->map.region->length && shared_grow(ctx->map.region, clone_page_size(), &at, e) < 0)
		return -e->no;
	ctx->map.first = ctx->map.region->length;
	return 0;
}

static int clone_add_page(struct fs *fs, struct fs_context *ctx)
{
	const size_t page = clone_page_size();
	struct err ignored;
	size_t at;

	if (quota_check_memory(fs, ctx, ctx->map.memlock, page, NULL, &ignored) < 0 ||
		clone_begin_pages(ctx, &ignored) < 0 ||
		shared_grow(ctx->map.region, page, &at, &ignored) < 0)
		return -ignored.no;
	ctx->map.npages++;
	return 0;
}

/* Takes a free page and returns its offset; 0 if there is none. */
static size_t clone_get_page(struct fs *fs, struct fs_context *ctx)
{
	unsigned i = 0;

	while (i < MAPPED_SETS && ctx->map.used[i])
		i++;
	if (i == MAPPED_SETS || (i == ctx->map.npages && clone_add_page(fs, ctx) < 0))
		return 0;
	ctx->map.used[i] = true;
	return ctx->map.first + i * clone_page_size();
}

static void clone_put_page(struct fs_context *ctx, size_t at)
{
	ctx->map.used[(at - ctx->map.first) / clone_page_size()] = false;
}

/* Returns false if no page is left. That is no error, because counts can be read without one. */
static bool clone_try_map(struct fs *fs, struct fs_context *ctx, struct object *set)
{
	struct command cmd = {
		.verb = CMD_LIVE,
		.evtset.id = (uint16_t)set->set,
		.live_page.rdpmc = rdpmc_permits(fs),
		.live_page.ticks = !fs->be->ops->rdpmc,
	};
	struct err ignored;
	size_t at;

	if (set->cookie || set->live)
		return true;
	at = clone_get_page(fs, ctx);
	if (!at)
		return false;
	cmd.live_page.page = (struct pfm_live *)((char *)ctx->map.region->mem + at);
	if (command_exec(ctx, &cmd, &ignored) == 0)
		set->cookie = at;
	else
		clone_put_page(ctx, at);
	return true;
}

void clone_map_set(struct fs_context *ctx, struct object *set)
{
	if (clone_can_map(ctx))
		clone_try_map(fs_of(ctx), ctx, set);
}

void clone_map_sets(struct fs_context *ctx)
{
	struct fs *fs = fs_of(ctx);
	bool mapped;

	if (!clone_can_map(ctx))
		return;
	mapped = clone_try_map(fs, ctx, &ctx->set0);
	for (unsigned i = 0; mapped && i < ctx->sets.n; i++)
		mapped = clone_try_map(fs, ctx, ctx->sets.set[i]);
}

void clone_unmap_set(struct fs_context *ctx, const struct object *set)
{
	if (set->cookie)
		clone_put_page(ctx, set->cookie);
}
