// SPDX-License-Identifier: MIT
/* Tells the format where samples come from, for the header of the sampling buffer. */
#include "daemon/core/core_i.h"

void source_tell(struct context *ctx)
{
	if (ctx->smpl.fmt && ctx->smpl.fmt->fmt_source)
		ctx->smpl.fmt->fmt_source(ctx->smpl.buf, &ctx->samples.source);
}

void ctx_set_source(struct context *ctx, bool interrupts, uint32_t skew_ns)
{
	ctx->samples.interrupts = interrupts;
	ctx->samples.source.precise = interrupts ? PFM_SMPL_INTERRUPT : PFM_SMPL_POLL;
	ctx->samples.source.skew_ns = skew_ns;
	source_tell(ctx);
}
