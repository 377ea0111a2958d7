// SPDX-License-Identifier: MIT
/* What happens to a context, brought to those who wait for it. */
#include "daemon/fs/fs_i.h"

void context_event(struct tenant *t)
{
	struct fs_context *ctx = link_entry(t, struct fs_context, tenant);

	messages_wake(ctx);
	pollers_wake(ctx);
	notifier_raise(ctx);
}

void context_close(struct fs_context *ctx)
{
	ctx->closed = true;
	messages_close(ctx);
	pollers_close(ctx, ctx->self.serial);
	notifier_drop(ctx);
}
