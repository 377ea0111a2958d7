// SPDX-License-Identifier: MIT
#include "formats/frames.h"

#include <string.h>

const pfm_fmt_param_t frames_params[] = {
	{"parts", offsetof(pfm_stack_smpl_arg_t, parts), 4, 0, 1},
	{"size", offsetof(pfm_stack_smpl_arg_t, buf_size), 8, 0, 262144},
	{"frames", offsetof(pfm_stack_smpl_arg_t, max_frames), 4, 0, PFM_STACK_MAX_FRAMES},
	{"user_stack", offsetof(pfm_stack_smpl_arg_t, user_stack), 4, 0, 0},
	{"no_kernel", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_NO_KERNEL, 0},
	{"no_user", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_NO_USER, 0},
	{"waits", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_WAITS, 0},
	{0},
};

bool frames_are_valid(const pfm_stack_smpl_arg_t *arg)
{
	return (arg->buf_flags & ~PFM_STACK_SMPL_WAITS) <= PFM_STACK_SMPL_NO_USER &&
	       arg->max_frames && arg->max_frames <= PFM_STACK_MAX_FRAMES &&
	       arg->user_stack <= PFM_STACK_USER_STACK_MAX && arg->user_stack % 8 == 0 &&
	       !(arg->user_stack && (arg->buf_flags & PFM_STACK_SMPL_NO_USER));
}

uint32_t frames_user_stack(const void *arg)
{
	return ((const pfm_stack_smpl_arg_t *)arg)->user_stack;
}

size_t frames_largest(const pfm_stack_smpl_arg_t *arg)
{
	size_t user = arg->user_stack ? sizeof(pfm_stack_smpl_user_t) + arg->user_stack : 0;

	return sizeof(pfm_stack_smpl_entry_t) + user +
	       ((size_t)arg->num_pmds + arg->max_frames + PFM_STACK_MAX_MARKERS) * sizeof(uint64_t);
}

static bool frames_want(uint32_t buf_flags, uint64_t level)
{
	if (level == PFM_STACK_USER)
		return !(buf_flags & PFM_STACK_SMPL_NO_USER);
	return !(buf_flags & PFM_STACK_SMPL_NO_KERNEL);
}

/* Copies up to @max_frames frames of the wanted levels, each level with its marker. */
static void frames_copy(const pfm_smpl_where_t *where, uint32_t buf_flags, uint32_t max_frames,
	pfm_stack_smpl_entry_t *e)
{
	uint64_t *to = (uint64_t *)(e + 1) + e->npmds, *at = to;
	unsigned frames = 0, markers = 0;
	bool wanted = false;

	for (unsigned i = 0; i < where->nframes; i++) {
		uint64_t frame = where->frames[i];
		bool marker = frame >= PFM_STACK_MARKER;

		if (marker)
			wanted = frames_want(buf_flags, frame) && markers++ < PFM_STACK_MAX_MARKERS;
		if (!wanted)
			continue;
		if (!marker && frames++ == max_frames) {
			e->flags |= PFM_STACK_CUT;
			break;
		}
		*at++ = frame;
	}
	e->nframes = (uint16_t)(at - to);
}

static void frames_copy_user(
	const pfm_smpl_user_t *from, uint32_t user_stack, pfm_stack_smpl_entry_t *e)
{
	pfm_stack_smpl_user_t *to = (pfm_stack_smpl_user_t *)(uintptr_t)pfm_stack_smpl_user(e);

	if (!user_stack || !from->regs)
		return;
	e->flags |= PFM_STACK_USER_STATE;
	to->abi = from->abi;
	to->stack_size = from->stack_size < user_stack ? from->stack_size : user_stack;
	memcpy(to->regs, from->regs, sizeof(to->regs));
	memcpy(to + 1, from->stack, to->stack_size);
}

size_t frames_put(struct sample *s, const struct frames_conf *conf, void *at)
{
	pfm_stack_smpl_entry_t *e = at;

	*e = (pfm_stack_smpl_entry_t){
		.dfl = sample_entry(s, SAMPLE_COUNT_MAX),
		.npmds = (uint16_t)(s->body / sizeof(uint64_t)),
		.source = s->where->precise,
	};
	memcpy(e + 1, s->arg->smpl_pmds_values, s->body);
	frames_copy(s->where, conf->buf_flags, conf->max_frames, e);
	frames_copy_user(&s->where->user, conf->user_stack, e);
	return pfm_stack_smpl_size(e);
}
