// SPDX-License-Identifier: MIT
/* The format "stack": samples as in dfl.c, each with its call chain. */
#include "formats/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "formats/frames.h"
#include "perfmonfs/smpl_stack.h"

_Static_assert(sizeof(pfm_stack_smpl_arg_t) == 64, "documented");
_Static_assert(sizeof(pfm_stack_smpl_hdr_t) == 128, "documented");
_Static_assert(sizeof(pfm_stack_smpl_entry_t) == 48, "documented");

static int stack_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_stack_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (!a || !frames_are_valid(a) || (a->buf_flags & PFM_STACK_SMPL_WAITS))
		return EINVAL;
	a->num_pmds = num_pmds;
	return sample_check_size(a->buf_size, sizeof(pfm_stack_smpl_hdr_t), frames_largest(a));
}

static int stack_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_stack_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_stack_smpl_hdr_t *)buf = (pfm_stack_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_stack_smpl_hdr_t),
		.hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = frames_largest(a),
		.hdr_version = PFM_STACK_SMPL_VERSION,
		.hdr_tag = PFM_STACK_SMPL_TAG,
		.hdr_buf_flags = a->buf_flags,
		.hdr_max_frames = a->max_frames,
		.hdr_num_pmds = a->num_pmds,
		.hdr_user_stack = a->user_stack,
	};
	return 0;
}

static bool stack_is_full(const pfm_stack_smpl_hdr_t *hdr)
{
	return hdr->hdr_buf_size - hdr->hdr_cur_offs < hdr->hdr_min_buf_space;
}

static void stack_put(pfm_stack_smpl_hdr_t *hdr, struct sample *s)
{
	const struct frames_conf conf = {
		hdr->hdr_buf_flags, hdr->hdr_max_frames, hdr->hdr_user_stack};

	hdr->hdr_cur_offs += frames_put(s, &conf, sample_at(hdr, hdr->hdr_cur_offs));
	sample_publish64(&hdr->hdr_count, hdr->hdr_count + 1);
}

static int stack_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_stack_smpl_hdr_t *hdr = buf;
	struct sample s = sample_of(arg, tstamp, data);
	bool was_full = stack_is_full(hdr);

	if (s.body > hdr->hdr_num_pmds * sizeof(uint64_t))
		return EINVAL; /* more values than PMDs, which might not fit */
	while (s.left && !stack_is_full(hdr))
		stack_put(hdr, &s);
	hdr->hdr_lost += s.left;
	if (!stack_is_full(hdr)) {
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
		return 0;
	}
	hdr->hdr_overflows += !was_full;
	sample_mask_full(&arg->ovfl_ctrl);
	return 0;
}

static int stack_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_stack_smpl_hdr_t *hdr = buf;

	(void)is_active;
	hdr->hdr_gap = sample_next_gap(hdr->hdr_gap, hdr->hdr_count);
	sample_publish64(&hdr->hdr_count, 0);
	hdr->hdr_cur_offs = sizeof(*hdr);
	ctrl->reset_ovfl_pmds = 1;
	return 0;
}

static void stack_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV])
{
	pfm_stack_smpl_hdr_t *hdr = buf;

	(void)set;
	sample_count_lost(&hdr->hdr_counts_lost, pmds);
}

static void stack_source(void *buf, const pfm_smpl_source_t *source)
{
	pfm_stack_smpl_hdr_t *hdr = buf;

	if (sample_set_source(&hdr->hdr_source, source))
		hdr->hdr_gap = hdr->hdr_count + 1;
}

const pfm_buffer_fmt_t format_stack = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_STACK_SMPL_NAME,
	.fmt_uuid = PFM_STACK_SMPL_UUID,
	.fmt_version = PFM_STACK_SMPL_VERSION,
	.fmt_flags = PFM_FMTFL_STACKS,
	.fmt_arg_size = sizeof(pfm_stack_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_params = frames_params + 1,
	.fmt_validate = stack_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = stack_init,
	.fmt_handler = stack_handler,
	.fmt_restart = stack_restart,
	.fmt_lost = stack_lost,
	.fmt_source = stack_source,
	.fmt_user_stack = frames_user_stack,
};
