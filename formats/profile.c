// SPDX-License-Identifier: MIT
/* The format "profile": samples as in stack.c, and events of processes between them. */
#include "formats/formats.h"

#include <errno.h>

#include "formats/frames.h"
#include "formats/records.h"
#include "perfmonfs/smpl_profile.h"

static size_t profile_largest(const pfm_stack_smpl_arg_t *arg)
{
	return sizeof(pfm_correlate_smpl_rec_t) + frames_largest(arg);
}

static int profile_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_stack_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (!a || !frames_are_valid(a))
		return EINVAL;
	a->num_pmds = num_pmds;
	a->parts = a->parts ? a->parts : 1;
	return records_check_size(a->buf_size, a->parts, profile_largest(a));
}

static int profile_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_stack_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_correlate_smpl_hdr_t *)buf = (pfm_correlate_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_correlate_smpl_hdr_t),
		.hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = profile_largest(a),
		.hdr_version = PFM_PROFILE_SMPL_VERSION,
		.hdr_tag = PFM_PROFILE_SMPL_TAG,
		.hdr_buf_flags = a->buf_flags,
		.hdr_max_frames = a->max_frames,
		.hdr_num_pmds = a->num_pmds,
		.hdr_user_stack = a->user_stack,
		.hdr_parts = (uint16_t)a->parts,
	};
	return 0;
}

static void profile_put(pfm_correlate_smpl_hdr_t *hdr, struct sample *s)
{
	pfm_correlate_smpl_rec_t *rec = sample_at(hdr, hdr->hdr_cur_offs);
	const struct frames_conf conf = {
		hdr->hdr_buf_flags, hdr->hdr_max_frames, hdr->hdr_user_stack};
	size_t size = sizeof(*rec) + frames_put(s, &conf, rec + 1);

	records_begin(hdr, PFM_CORRELATE_STACK, size);
	records_end(hdr, size);
}

static int profile_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;
	struct sample s = sample_of(arg, tstamp, data);

	if (s.body > hdr->hdr_num_pmds * sizeof(uint64_t))
		return EINVAL; /* more values than PMDs, which might not fit */
	return records_handle(hdr, &s, &arg->ovfl_ctrl, profile_put);
}

static bool profile_waits(const void *arg)
{
	return ((const pfm_stack_smpl_arg_t *)arg)->buf_flags & PFM_STACK_SMPL_WAITS;
}

const pfm_buffer_fmt_t format_profile = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_PROFILE_SMPL_NAME,
	.fmt_uuid = PFM_PROFILE_SMPL_UUID,
	.fmt_version = PFM_PROFILE_SMPL_VERSION,
	.fmt_flags = PFM_FMTFL_STACKS,
	.fmt_arg_size = sizeof(pfm_stack_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_params = frames_params,
	.fmt_validate = profile_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = profile_init,
	.fmt_handler = profile_handler,
	.fmt_restart = records_restart,
	.fmt_lost = records_lost,
	.fmt_source = records_source,
	.fmt_event = records_event,
	.fmt_user_stack = frames_user_stack,
	.fmt_waits = profile_waits,
};
