// SPDX-License-Identifier: MIT
#include "formats/frames.h"

#include <string.h>

const pfm_fmt_param_t frames_params[] = {
	{"size", offsetof(pfm_stack_smpl_arg_t, buf_size), 8, 0, 262144},
	{"frames", offsetof(pfm_stack_smpl_arg_t, max_frames), 4, 0, PFM_STACK_MAX_FRAMES},
	{"no_kernel", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_NO_KERNEL, 0},
	{"no_user", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_NO_USER, 0},
	{0},
};

bool frames_are_valid(const pfm_stack_smpl_arg_t *arg)
{
	return arg->buf_flags <= PFM_STACK_SMPL_NO_USER && arg->max_frames &&
	       arg->max_frames <= PFM_STACK_MAX_FRAMES;
}

size_t frames_largest(const pfm_stack_smpl_arg_t *arg)
{
	return sizeof(pfm_stack_smpl_entry_t) +
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

size_t frames_put(struct sample *s, uint32_t buf_flags, uint32_t max_frames, void *at)
{
	pfm_stack_smpl_entry_t *e = at;

	*e = (pfm_stack_smpl_entry_t){
		.dfl = sample_entry(s, SAMPLE_COUNT_MAX),
		.npmds = (uint16_t)(s->body / sizeof(uint64_t)),
		.source = s->where->precise,
	};
	memcpy(e + 1, s->arg->smpl_pmds_values, s->body);
	frames_copy(s->where, buf_flags, max_frames, e);
	return pfm_stack_smpl_size(e);
}
