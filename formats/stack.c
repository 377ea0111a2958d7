// SPDX-License-Identifier: MIT
/* The format "stack": samples as in dfl.c, each with its call chain. */
#include "formats/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "formats/sample.h"
#include "perfmonfs/smpl_stack.h"

_Static_assert(sizeof(pfm_stack_smpl_arg_t) == 64, "documented");
_Static_assert(sizeof(pfm_stack_smpl_hdr_t) == 128, "documented");
_Static_assert(sizeof(pfm_stack_smpl_entry_t) == 48, "documented");

static size_t stack_largest(const pfm_stack_smpl_arg_t *arg)
{
	return sizeof(pfm_stack_smpl_entry_t) +
	       ((size_t)arg->num_pmds + arg->max_frames + PFM_STACK_MAX_MARKERS) * sizeof(uint64_t);
}

static int stack_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_stack_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (!a || a->buf_flags > PFM_STACK_SMPL_NO_USER || !a->max_frames ||
		a->max_frames > PFM_STACK_MAX_FRAMES)
		return EINVAL;
	a->num_pmds = num_pmds;
	return sample_check_size(a->buf_size, sizeof(pfm_stack_smpl_hdr_t), stack_largest(a));
}

static int stack_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_stack_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_stack_smpl_hdr_t *)buf = (pfm_stack_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_stack_smpl_hdr_t),
		.hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = stack_largest(a),
		.hdr_version = PFM_STACK_SMPL_VERSION,
		.hdr_buf_flags = a->buf_flags,
		.hdr_max_frames = a->max_frames,
		.hdr_num_pmds = a->num_pmds,
	};
	return 0;
}

static bool stack_is_full(const pfm_stack_smpl_hdr_t *hdr)
{
	return hdr->hdr_buf_size - hdr->hdr_cur_offs < hdr->hdr_min_buf_space;
}

static bool stack_wants(const pfm_stack_smpl_hdr_t *hdr, uint64_t level)
{
	if (level == PFM_STACK_USER)
		return !(hdr->hdr_buf_flags & PFM_STACK_SMPL_NO_USER);
	return !(hdr->hdr_buf_flags & PFM_STACK_SMPL_NO_KERNEL);
}

/* Copies the frames that are wanted, each level with its marker, as far as there is room for them.
 */
static void stack_put_frames(
	const pfm_stack_smpl_hdr_t *hdr, const pfm_smpl_where_t *where, pfm_stack_smpl_entry_t *e)
{
	uint64_t *to = (uint64_t *)(e + 1) + e->npmds, *at = to;
	unsigned frames = 0, markers = 0;
	bool wanted = false;

	for (unsigned i = 0; i < where->nframes; i++) {
		uint64_t frame = where->frames[i];
		bool marker = frame >= PFM_STACK_MARKER;

		if (marker)
			wanted = stack_wants(hdr, frame) && markers++ < PFM_STACK_MAX_MARKERS;
		if (!wanted)
			continue;
		if (!marker && frames++ == hdr->hdr_max_frames) {
			e->flags |= PFM_STACK_CUT;
			break;
		}
		*at++ = frame;
	}
	e->nframes = (uint16_t)(at - to);
}

static void stack_put(pfm_stack_smpl_hdr_t *hdr, struct sample *s)
{
	pfm_stack_smpl_entry_t *e = sample_at(hdr, hdr->hdr_cur_offs);

	*e = (pfm_stack_smpl_entry_t){
		.dfl = sample_entry(s, SAMPLE_COUNT_MAX),
		.npmds = (uint16_t)(s->body / sizeof(uint64_t)),
		.source = s->where->precise,
	};
	memcpy(e + 1, s->arg->smpl_pmds_values, s->body);
	stack_put_frames(hdr, s->where, e);
	hdr->hdr_cur_offs += pfm_stack_smpl_size(e);
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
	((pfm_stack_smpl_hdr_t *)buf)->hdr_source = *source;
}

static const pfm_fmt_param_t params[] = {
	{"size", offsetof(pfm_stack_smpl_arg_t, buf_size), 8, 0, 262144},
	{"frames", offsetof(pfm_stack_smpl_arg_t, max_frames), 4, 0, PFM_STACK_MAX_FRAMES},
	{"no_kernel", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_NO_KERNEL, 0},
	{"no_user", offsetof(pfm_stack_smpl_arg_t, buf_flags), 4, PFM_STACK_SMPL_NO_USER, 0},
	{0},
};

const pfm_buffer_fmt_t format_stack = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_STACK_SMPL_NAME,
	.fmt_uuid = PFM_STACK_SMPL_UUID,
	.fmt_version = PFM_STACK_SMPL_VERSION,
	.fmt_flags = PFM_FMTFL_STACKS,
	.fmt_arg_size = sizeof(pfm_stack_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_params = params,
	.fmt_validate = stack_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = stack_init,
	.fmt_handler = stack_handler,
	.fmt_restart = stack_restart,
	.fmt_lost = stack_lost,
	.fmt_source = stack_source,
};
