// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/watermarks.h"

#include "daemon/fs/requests/smpl.h"

struct watermark watermark_now(const struct fs_context *ctx)
{
	return (struct watermark){
		.notified = atomic_load(&ctx->ec.status.notified),
		.changes = atomic_load(&ctx->ec.status.changes),
	};
}

bool watermark_is_behind(struct fs_context *ctx)
{
	const struct watermark *seen = &ctx->notify.visible;
	struct watermark now;

	if (!shared_is_synced(smpl_memory(ctx)))
		ctx->notify.visible = watermark_now(ctx);
	now = watermark_now(ctx);
	return seen->notified != now.notified || seen->changes != now.changes;
}

void watermark_watch(struct fs_context *ctx)
{
	if (!atomic_load(&ctx->ec.watched))
		ctx->notify.visible = watermark_now(ctx);
	engine_watch(ctx->objs->eng, &ctx->ec);
}
