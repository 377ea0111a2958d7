// SPDX-License-Identifier: MIT
/* The sampling format of a context and its buffer (specification 3.5): made when a format is
 * written, ended when there is another or the context is gone. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/format/format.h"

static struct shared *memory_of(const struct smpl *s)
{
	return s ? s->mem : NULL;
}

struct shared *context_memory(const struct fs_context *ctx)
{
	return memory_of(ctx->smpl);
}

/* What a call-back returns: 0 or a positive errno. */
static int answered(const pfm_buffer_fmt_t *fmt, int rc, const char *to, struct err *e)
{
	if (!rc)
		return 0;
	return err_set(e, rc < 0 ? -rc : rc, "format %s refuses %s (%s): see its parameters",
		fmt->fmt_name, to, err_name(rc < 0 ? -rc : rc));
}

static int make_buffer(const struct call *call, unsigned flags, struct smpl *s, struct err *e)
{
	size_t size = 0;
	int rc = 0;

	if (s->fmt->fmt_getsize)
		rc = answered(s->fmt, s->fmt->fmt_getsize(flags, s->arg, &size), "that size", e);
	if (rc < 0 || !size)
		return rc;
	rc = memory_afford(call, shared_room(size), context_memory(call->ctx), e);
	if (rc == 0)
		rc = shared_new(&call->fs->memory, size, &call->ctx->owner->buffers, &s->mem, e);
	return rc;
}

static int prepare(const struct call *call, struct smpl *s, struct err *e)
{
	unsigned flags = atomic_load(&call->ctx->flags);
	const struct pmu *pmu = call->fs->be->pmu;
	uint16_t npmds = (uint16_t)(pmu->npmds + pmu->nvirtuals);
	int rc = 0;

	if (s->fmt->fmt_validate)
		rc = answered(
			s->fmt, s->fmt->fmt_validate(flags, npmds, s->arg), "its arguments", e);
	if (rc == 0)
		rc = make_buffer(call, flags, s, e);
	if (rc == 0 && s->fmt->fmt_init)
		rc = answered(s->fmt, s->fmt->fmt_init(flags, s->arg, s->mem ? s->mem->mem : NULL),
			"to begin", e);
	s->begun = rc == 0;
	return rc;
}

int smpl_new(const struct call *call, struct slice text, struct smpl **out, struct err *e)
{
	struct smpl *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	rc = format_parse(text, &s->fmt, &s->arg, e);
	if (rc == 0 && s->fmt)
		rc = prepare(call, s, e);
	if (rc < 0)
		smpl_free(s);
	else
		*out = s;
	return rc;
}

void smpl_free(struct smpl *s)
{
	if (!s)
		return;
	if (s->begun && s->fmt->fmt_exit)
		s->fmt->fmt_exit(s->mem ? s->mem->mem : NULL);
	shared_unref(s->mem);
	free(s->arg);
	free(s);
}

void smpl_install(struct fs *fs, struct fs_context *ctx, struct smpl *s)
{
	object_set_buffer(&fs->objects, ctx, s->mem && !ctx->closed);
	if (s->mem)
		s->mem->serial = ctx->buffer.serial;
	smpl_free(ctx->smpl);
	ctx->smpl = s;
}

void context_gone(struct fs_context *ctx)
{
	smpl_free(ctx->smpl);
	ctx->smpl = NULL;
	object_drop_live(ctx);
}
