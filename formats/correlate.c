// SPDX-License-Identifier: MIT
/* The format "correlate": samples as in dfl.c, and events of processes between them. */
#include "formats/formats.h"

#include <errno.h>

#include "formats/records.h"

_Static_assert(sizeof(pfm_correlate_smpl_arg_t) == 64, "documented");

static size_t correlate_largest(const pfm_correlate_smpl_arg_t *arg)
{
	return sizeof(pfm_correlate_smpl_rec_t) + sample_largest(arg->num_pmds);
}

static int correlate_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_correlate_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (!a)
		return EINVAL;
	a->num_pmds = num_pmds;
	a->parts = a->parts ? a->parts : 1;
	return records_check_size(a->buf_size, a->parts, correlate_largest(a));
}

static int correlate_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_correlate_smpl_arg_t *a = arg;

	(void)ctx_flags;
	*(pfm_correlate_smpl_hdr_t *)buf = (pfm_correlate_smpl_hdr_t){
		.hdr_cur_offs = sizeof(pfm_correlate_smpl_hdr_t),
		.hdr_buf_size = a->buf_size,
		.hdr_min_buf_space = correlate_largest(a),
		.hdr_version = PFM_CORRELATE_SMPL_VERSION,
		.hdr_tag = PFM_CORRELATE_SMPL_TAG,
		.hdr_parts = (uint16_t)a->parts,
	};
	return 0;
}

static void correlate_put(pfm_correlate_smpl_hdr_t *hdr, struct sample *s)
{
	size_t size = sizeof(pfm_correlate_smpl_rec_t) + s->size;

	sample_put(s, SAMPLE_COUNT_MAX, records_begin(hdr, PFM_CORRELATE_SAMPLE, size));
	records_end(hdr, size);
}

static int correlate_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;
	struct sample s = sample_of(arg, tstamp, data);

	if (sizeof(pfm_correlate_smpl_rec_t) + s.size > hdr->hdr_min_buf_space)
		return EINVAL; /* more values than PMDs, which might not fit */
	return records_handle(hdr, &s, &arg->ovfl_ctrl, correlate_put);
}

static const pfm_fmt_param_t params[] = {
	{"size", offsetof(pfm_correlate_smpl_arg_t, buf_size), 8, 0, 65536},
	{"parts", offsetof(pfm_correlate_smpl_arg_t, parts), 4, 0, 1},
	{0},
};

const pfm_buffer_fmt_t format_correlate = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_CORRELATE_SMPL_NAME,
	.fmt_uuid = PFM_CORRELATE_SMPL_UUID,
	.fmt_version = PFM_CORRELATE_SMPL_VERSION,
	.fmt_arg_size = sizeof(pfm_correlate_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_params = params,
	.fmt_validate = correlate_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = correlate_init,
	.fmt_handler = correlate_handler,
	.fmt_restart = records_restart,
	.fmt_lost = records_lost,
	.fmt_source = records_source,
	.fmt_event = records_event,
};
