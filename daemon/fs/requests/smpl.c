// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/smpl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/command/command.h"
#include "daemon/format/format.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/clone_pages.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/quota.h"
#include "perfmonfs/smpl_stack.h"

void smpl_free(struct smpl *s)
{
	if (!s)
		return;
	if (s->begun && s->fmt->fmt_exit)
		s->fmt->fmt_exit(s->mem ? s->mem->mem : NULL);
	format_put(s->use);
	shared_unref(s->mem);
	free(s->arg);
	charge_clear(&s->charge);
	free(s);
}

/* Converts a callback's result, 0 or an errno of either sign, to an error. */
static int smpl_check_result(const pfm_buffer_fmt_t *fmt, int rc, const char *to, struct err *e)
{
	if (!rc)
		return 0;
	return err_set(e, rc < 0 ? -rc : rc,
		"format %s refuses %s (%s): choose another size or other parameters", fmt->fmt_name,
		to, err_name(rc < 0 ? -rc : rc));
}

/* A format's errno does not tell that its buffer is too small, so the sentence does. */
static int smpl_validate(const struct smpl *s, unsigned flags, uint16_t npmds, struct err *e)
{
	int rc = smpl_check_result(
		s->fmt, s->fmt->fmt_validate(flags, npmds, s->arg), "its arguments", e);
	uint64_t least = rc < 0 ? format_least_size(s->fmt, s->arg, flags, npmds) : 0;

	if (!least)
		return rc;
	return err_set(e, e->no,
		"the buffer is too small for format %s, which needs room for its header and one "
		"sample: write size=%" PRIu64 " or more",
		s->fmt->fmt_name, least);
}

static int smpl_make_buffer(
	struct fs *fs, const struct fs_context *ctx, unsigned flags, struct smpl *s, struct err *e)
{
	size_t size = 0;
	int rc = 0;

	if (s->fmt->fmt_getsize)
		rc = smpl_check_result(
			s->fmt, s->fmt->fmt_getsize(flags, s->arg, &size), "that size", e);
	if (rc < 0 || !size)
		return rc;
	rc = quota_check_memory(fs, ctx, s->memlock, shared_room(size), smpl_memory(ctx), e);
	if (rc < 0)
		return rc;
	return shared_new(&fs->memory, size, &ctx->id.quota->buffers, &s->mem, e);
}

static int smpl_charge(struct smpl *s, const struct fs_context *ctx, struct err *e)
{
	s->charge = (struct charge){.quota = ctx->id.quota, .leaves = QUOTA_SPARE};
	return charge_set(&s->charge,
		sizeof(*s) + s->fmt->fmt_arg_size +
			s->fmt->fmt_msgq_depth * sizeof(struct message_slot) +
			sizeof(struct shared) + 4 * CHARGE_PIECE,
		e);
}

static uint32_t smpl_user_stack(const struct smpl *s)
{
	return s->fmt && s->fmt->fmt_user_stack ? s->fmt->fmt_user_stack(s->arg) : 0;
}

static bool smpl_waits(const struct smpl *s)
{
	return s->fmt && s->fmt->fmt_event && s->fmt->fmt_waits && s->fmt->fmt_waits(s->arg);
}

static int smpl_check_waits(const struct fs *fs, const struct smpl *s, struct err *e)
{
	if (!smpl_waits(s) || (fs->be->opens_threads && fs->be->interrupts))
		return 0;
	if (fs->be->interrupts)
		return err_set(e, EOPNOTSUPP,
			"waits: the kernel does not switch the counters with the threads, because "
			"of perfmonfs --threads=ctxsw or CPUs of several types: mount without that "
			"option, or leave waits out");
	return err_set(e, EOPNOTSUPP,
		"waits: only perfmonfs --backend=perf records how long threads wait: leave it out");
}

static int smpl_check_user_stack(const struct fs *fs, const struct smpl *s, struct err *e)
{
	uint32_t bytes = smpl_user_stack(s);

	if (!bytes)
		return 0;
	if (bytes > PFM_STACK_USER_STACK_MAX || bytes % 8 ||
		!(s->fmt->fmt_flags & PFM_FMTFL_STACKS))
		return err_set(e, EINVAL,
			"the format asks for %u bytes of stack: it needs PFM_FMTFL_STACKS, and a "
			"multiple of 8 up to %d",
			bytes, PFM_STACK_USER_STACK_MAX);
	if (fs->be->user_stacks)
		return 0;
	return err_set(e, EOPNOTSUPP,
		"user_stack: only perfmonfs --backend=perf, on x86-64, records the registers and "
		"stacks of threads: leave it out");
}

static int smpl_prepare(
	struct fs *fs, const struct fs_context *ctx, unsigned flags, struct smpl *s, struct err *e)
{
	const struct pmu *pmu = fs->be->pmu;
	uint16_t npmds = (uint16_t)(pmu->npmds + pmu->nvirtuals);
	int rc;

	s->use = format_get(s->fmt);
	rc = smpl_charge(s, ctx, e);
	if (rc == 0 && s->fmt->fmt_validate)
		rc = smpl_validate(s, flags, npmds, e);
	if (rc == 0)
		rc = smpl_check_user_stack(fs, s, e);
	if (rc == 0)
		rc = smpl_check_waits(fs, s, e);
	if (rc == 0)
		rc = smpl_make_buffer(fs, ctx, flags, s, e);
	if (rc == 0 && s->fmt->fmt_init)
		rc = smpl_check_result(s->fmt,
			s->fmt->fmt_init(flags, s->arg, s->mem ? s->mem->mem : NULL), "to begin",
			e);
	s->begun = rc == 0;
	return rc;
}

/* Gives @s, for @ctx with @flags, to @out, or frees it. */
static int smpl_complete(const struct fs_context *ctx, unsigned flags, struct smpl *s,
	struct smpl **out, struct err *e)
{
	int rc = s->fmt ? smpl_prepare(fs_of(ctx), ctx, flags, s, e) : 0;

	if (rc < 0)
		smpl_free(s);
	else
		*out = s;
	return rc;
}

int smpl_new(const struct call *call, struct slice text, struct smpl **out, struct err *e)
{
	struct smpl *s = calloc(1, sizeof(*s));

	if (!s)
		return err_set(e, ENOMEM, "no memory");
	s->memlock = call->file->memlock;
	if (format_parse(text, &s->fmt, &s->arg, e) < 0) {
		smpl_free(s);
		return -e->no;
	}
	return smpl_complete(call->ctx, atomic_load(&call->ctx->flags), s, out, e);
}

/* Makes @fmt with a copy of @arg. NULL: no memory. */
static struct smpl *smpl_make(const pfm_buffer_fmt_t *fmt, const void *arg, uint64_t memlock)
{
	struct smpl *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->fmt = fmt;
	s->memlock = memlock;
	if (!fmt || !fmt->fmt_arg_size)
		return s;
	s->arg = malloc(fmt->fmt_arg_size);
	if (!s->arg) {
		smpl_free(s);
		return NULL;
	}
	memcpy(s->arg, arg, fmt->fmt_arg_size);
	return s;
}

int smpl_choose(const struct call *call, unsigned flags, struct slice format, struct slice arg,
	struct smpl **out, struct err *e)
{
	const pfm_buffer_fmt_t *fmt = format_find(format);
	size_t size = fmt ? fmt->fmt_arg_size : 0;
	struct smpl *s;

	if (format.n && !fmt)
		return err_set(e, EINVAL, "no format '%.*s': see MNT/formats", SLICE_ARG(format));
	if (arg.n != size)
		return err_set(e, EINVAL,
			"the argument has %zu bytes, not %zu: see the format's header", arg.n,
			size);
	s = smpl_make(fmt, arg.p, call->file->memlock);
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	return smpl_complete(call->ctx, flags, s, out, e);
}

/* The part that goes to the context's owner. */
static struct sampling smpl_sampling(const struct smpl *s)
{
	struct sampling out = {.fmt = s->fmt,
		.in_clone = s->in_clone,
		.user_stack = smpl_user_stack(s),
		.waits = smpl_waits(s)};

	if (s->mem) {
		out.buf = s->mem->mem;
		out.size = s->mem->size;
	}
	return out;
}

static void smpl_install(struct fs *fs, struct fs_context *ctx, struct smpl *s)
{
	object_set_buffer(&fs->objects, ctx, s->mem && !ctx->closed);
	if (s->mem)
		s->mem->serial = ctx->buffer.serial;
	smpl_free(ctx->smpl);
	ctx->smpl = s;
}

int smpl_copy(struct fs *fs, const struct fs_context *from, struct fs_context *to, struct err *e)
{
	struct command cmd = {.verb = CMD_FORMAT};
	const struct smpl *old = from->smpl;
	struct smpl *s = NULL;

	if (!old || !old->fmt)
		return 0;
	s = smpl_make(old->fmt, old->arg, old->memlock);
	if (!s)
		return err_set(e, ENOMEM, "no memory");
	if (smpl_complete(to, atomic_load(&to->flags), s, &s, e) < 0)
		return -e->no;
	cmd.setup.smpl = smpl_sampling(s);
	if (command_exec(to, &cmd, e) < 0) {
		smpl_free(s);
		return -e->no;
	}
	smpl_install(fs, to, s);
	return 0;
}

void smpl_drop(struct smpl *s)
{
	struct shared *region = s && s->mem && s->mem->region ? shared_ref(s->mem->region) : NULL;

	smpl_free(s);
	if (region)
		shared_clear(region);
	shared_unref(region);
}

void smpl_submit(
	struct call *call, struct command *cmd, const struct command_kind *kind, struct smpl *s)
{
	cmd->setup.smpl = smpl_sampling(s);
	if (!command_submit(call, cmd, kind, s))
		smpl_drop(s);
}

/* Gives the context @s, which its owner has taken, or drops it. */
static void smpl_take(struct fs_context *ctx, struct smpl *s, const struct job *job)
{
	if (job->rc < 0) {
		smpl_drop(s);
		return;
	}
	smpl_install(fs_of(ctx), ctx, s);
	ctx->map.map_sets = ctx->map.map_sets || job->cmd.setup.map_sets;
	clone_map_sets(ctx);
}

void smpl_follow(struct command_request *r)
{
	smpl_take(r->request.call.ctx, r->arg, &r->job);
}

struct smpl_awaiting {
	struct await_job wait;
	struct smpl *s;
};

static void smpl_take_awaited(struct await_job *j)
{
	struct smpl_awaiting *w = container_of(j, struct smpl_awaiting, wait);

	smpl_take(container_of(j->job.ec, struct fs_context, ec), take_ptr(&w->s), &j->job);
}

int smpl_await(struct call *call, struct smpl *s, struct err *e)
{
	struct smpl_awaiting w = {
		.wait = {.job.ec = &call->ctx->ec,
			.job.cmd = {.verb = CMD_FORMAT, .setup.smpl = smpl_sampling(s)},
			.follow = smpl_take_awaited},
		.s = s,
	};
	const struct job *job = &w.wait.job;

	await_job(call, &w.wait);
	smpl_drop(w.s); /* it was interrupted before */
	*e = job->rc < 0 ? job->err : job->cmd.note;
	return job->rc;
}
