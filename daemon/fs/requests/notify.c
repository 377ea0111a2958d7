// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/notify.h"

#include "daemon/fs/requests/msg_reader.h"
#include "daemon/fs/requests/notifier.h"
#include "daemon/fs/requests/poller.h"
#include "daemon/fs/requests/smpl.h"
#include "daemon/fs/requests/watermarks.h"

static void notify_deliver(void *arg)
{
	struct fs_context *ctx = arg;

	ctx->notify.visible = ctx->notify.pending;
	ctx->notify.under_way = false;
	messages_wake(ctx);
	pollers_wake(ctx);
	notifier_raise(ctx);
	if (!ctx->closed && watermark_is_behind(ctx))
		notify_begin(ctx);
	context_unref(ctx);
}

void notify_begin(struct fs_context *ctx)
{
	if (ctx->notify.under_way)
		return; /* notify_deliver() will begin again for newer events */
	ctx->notify.under_way = true;
	ctx->notify.pending = watermark_now(ctx);
	context_ref(ctx);
	ctx->notify.fence = (struct sync_fence){.after = notify_deliver, .arg = ctx};
	shared_fence(smpl_memory(ctx), &ctx->notify.fence);
}

void notify_event(struct engine_ctx *ec)
{
	notify_begin(container_of(ec, struct fs_context, ec));
}
