// SPDX-License-Identifier: MIT
/* The format "default": samples until the buffer is full. */
#include "formats/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "formats/sample.h"

_Static_assert(sizeof(pfm_dfl_smpl_arg_t) == 64, "as shipped");
_Static_assert(sizeof(pfm_dfl_smpl_hdr_t) == 128, "as shipped");
_Static_assert(sizeof(pfm_dfl_smpl_entry_t) == 40, "as shipped");

static bool dfl_flags_are_valid(uint32_t flags)
{
	return flags == 0 || flags == PFM_DFL_SMPL_NO_HDR || flags == PFM_DFL_SMPL_IIP_HDR ||
	       flags == PFM_DFL_SMPL_COMPACT;
}

static size_t dfl_entry_size(uint32_t flags)
{
	if (flags & PFM_DFL_SMPL_NO_HDR)
		return 0;
	return flags & PFM_DFL_SMPL_IIP_HDR ? sizeof(uint64_t) : sizeof(pfm_dfl_smpl_entry_t);
}

static size_t dfl_largest(const pfm_dfl_smpl_arg_t *arg)
{
	return dfl_entry_size(arg->buf_flags) + arg->num_pmds * sizeof(uint64_t);
}

static int dfl_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_dfl_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (!a || !dfl_flags_are_valid(a->buf_flags))
		return EINVAL;
	a->num_pmds = num_pmds;
	return sample_check_size(a->buf_size, sizeof(pfm_dfl_smpl_hdr_t), dfl_largest(a));
}

static int dfl_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_dfl_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_dfl_smpl_hdr_t *)buf = (pfm_dfl_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_dfl_smpl_hdr_t),
		.hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = dfl_largest(a),
		.hdr_version = PFM_DFL_SMPL_VERSION,
		.hdr_tag = PFM_DFL_SMPL_TAG,
		.hdr_buf_flags = a->buf_flags,
	};
	return 0;
}

static bool dfl_is_full(const pfm_dfl_smpl_hdr_t *hdr)
{
	return hdr->hdr_buf_size - hdr->hdr_cur_offs < hdr->hdr_min_buf_space;
}

/* Writes a sample for each overflow, unless COMPACT is set: programs for perfmon2 do not know
 * ovfl_count. */
static void dfl_put(pfm_dfl_smpl_hdr_t *hdr, struct sample *s)
{
	size_t entry = dfl_entry_size(hdr->hdr_buf_flags);
	char *at = sample_at(hdr, hdr->hdr_cur_offs);

	if (hdr->hdr_buf_flags & (PFM_DFL_SMPL_NO_HDR | PFM_DFL_SMPL_IIP_HDR)) {
		uint64_t ip = sample_ip(s);

		memcpy(at, &ip, entry);
		memcpy(at + entry, s->arg->smpl_pmds_values, s->body);
		s->left--;
	} else {
		sample_put(s, hdr->hdr_buf_flags & PFM_DFL_SMPL_COMPACT ? SAMPLE_COUNT_MAX : 1, at);
	}
	hdr->hdr_cur_offs += entry + s->body;
	sample_publish64(&hdr->hdr_count, hdr->hdr_count + 1);
}

static int dfl_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_dfl_smpl_hdr_t *hdr = buf;
	struct sample s = sample_of(arg, tstamp, data);
	bool was_full = dfl_is_full(hdr);

	if (dfl_entry_size(hdr->hdr_buf_flags) + s.body > hdr->hdr_min_buf_space)
		return EINVAL; /* more values than PMDs, which might not fit */
	if (!dfl_entry_size(hdr->hdr_buf_flags) && !s.body) {
		/* Samples of 0 bytes always fit. */
		sample_publish64(&hdr->hdr_count, hdr->hdr_count + s.left);
		s.left = 0;
	}
	while (s.left && !dfl_is_full(hdr))
		dfl_put(hdr, &s);
	hdr->hdr_lost += s.left;
	if (!dfl_is_full(hdr)) {
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
		return 0;
	}
	/* The handler is called again for other PMDs that overflowed at the same time, but the
	 * buffer becomes full only once. */
	hdr->hdr_overflows += !was_full;
	sample_mask_full(&arg->ovfl_ctrl);
	return 0;
}

static int dfl_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_dfl_smpl_hdr_t *hdr = buf;

	(void)is_active;
	hdr->hdr_gap = sample_next_gap(hdr->hdr_gap, hdr->hdr_count);
	sample_publish64(&hdr->hdr_count, 0);
	hdr->hdr_cur_offs = sizeof(*hdr);
	ctrl->reset_ovfl_pmds = 1;
	return 0;
}

static void dfl_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV])
{
	pfm_dfl_smpl_hdr_t *hdr = buf;

	(void)set;
	sample_count_lost(&hdr->hdr_counts_lost, pmds);
}

static void dfl_source(void *buf, const pfm_smpl_source_t *source)
{
	pfm_dfl_smpl_hdr_t *hdr = buf;

	if (sample_set_source(&hdr->hdr_source, source))
		hdr->hdr_gap = hdr->hdr_count + 1;
}

static const pfm_fmt_param_t params[] = {
	{"size", offsetof(pfm_dfl_smpl_arg_t, buf_size), 8, 0, 65536},
	{"no_hdr", offsetof(pfm_dfl_smpl_arg_t, buf_flags), 4, PFM_DFL_SMPL_NO_HDR, 0},
	{"iip_hdr", offsetof(pfm_dfl_smpl_arg_t, buf_flags), 4, PFM_DFL_SMPL_IIP_HDR, 0},
	{"compact", offsetof(pfm_dfl_smpl_arg_t, buf_flags), 4, PFM_DFL_SMPL_COMPACT, 0},
	{0},
};

const pfm_buffer_fmt_t format_dfl = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_DFL_SMPL_NAME,
	.fmt_uuid = PFM_DFL_SMPL_UUID,
	.fmt_version = PFM_DFL_SMPL_VERSION,
	.fmt_arg_size = sizeof(pfm_dfl_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_params = params,
	.fmt_validate = dfl_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = dfl_init,
	.fmt_handler = dfl_handler,
	.fmt_restart = dfl_restart,
	.fmt_lost = dfl_lost,
	.fmt_source = dfl_source,
};
