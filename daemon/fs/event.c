// SPDX-License-Identifier: MIT
/*
 * What happens to a context, brought to those who wait for it: when whoever looks into its buffer
 * then finds what led to it. Where the buffer has to be fed to the kernel, that takes a while. So
 * what is known is not yet what clients may be told.
 */
#include "daemon/fs/fs_i.h"

static void note_known(struct fs_context *ctx)
{
	ctx->known_notified = atomic_load(&ctx->tenant.notified);
	ctx->known_changes = atomic_load(&ctx->tenant.changes);
}

static bool is_fed(const struct fs_context *ctx)
{
	return shared_is_fed(context_memory(ctx));
}

bool context_untold(struct fs_context *ctx)
{
	if (!is_fed(ctx))
		note_known(ctx);
	return ctx->known_notified != atomic_load(&ctx->tenant.notified) ||
	       ctx->known_changes != atomic_load(&ctx->tenant.changes);
}

static void tell(void *arg)
{
	struct fs_context *ctx = arg;

	ctx->known_notified = ctx->announced_notified;
	ctx->known_changes = ctx->announced_changes;
	ctx->announcing = false;
	messages_wake(ctx);
	pollers_wake(ctx);
	notifier_raise(ctx);
	if (!ctx->closed && context_untold(ctx))
		context_announce(ctx);
	context_unref(ctx);
}

void context_announce(struct fs_context *ctx)
{
	if (ctx->announcing)
		return; /* what is new by then follows */
	ctx->announcing = true;
	ctx->announced_notified = atomic_load(&ctx->tenant.notified);
	ctx->announced_changes = atomic_load(&ctx->tenant.changes);
	context_ref(ctx);
	ctx->announcement = (struct publication){.after = tell, .arg = ctx};
	shared_publish(context_memory(ctx), &ctx->announcement);
}

void context_watch(struct fs *fs, struct fs_context *ctx)
{
	if (!atomic_load(&ctx->tenant.watched))
		note_known(ctx);
	engine_watch(fs->eng, &ctx->tenant);
}

void context_event(struct tenant *t)
{
	context_announce(link_entry(t, struct fs_context, tenant));
}

void context_close(struct fs_context *ctx)
{
	ctx->closed = true;
	messages_close(ctx);
	pollers_close(ctx, ctx->self.serial);
	notifier_drop(ctx);
}
