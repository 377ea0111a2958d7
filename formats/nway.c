// SPDX-License-Identifier: MIT
/* The format "nway": the buffer has parts, one of which is filled while the tool reads others. */
#include "formats/formats.h"

#include <errno.h>

#include "formats/sample.h"
#include "perfmonfs/smpl_nway.h"

_Static_assert(sizeof(pfm_nway_smpl_arg_t) == 64, "documented");
_Static_assert(sizeof(pfm_nway_smpl_part_t) == 32, "documented");
_Static_assert(sizeof(pfm_nway_smpl_hdr_t) == 128, "documented");

static size_t nway_parts_offs(const pfm_nway_smpl_arg_t *arg)
{
	return sizeof(pfm_nway_smpl_hdr_t) + arg->parts * sizeof(pfm_nway_smpl_part_t);
}

/* The size of a part: a multiple of 8 bytes, which aligns the entries of each part. */
static uint64_t nway_part_size(const pfm_nway_smpl_arg_t *arg)
{
	return (arg->buf_size - nway_parts_offs(arg)) / arg->parts & ~7ULL;
}

static int nway_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	pfm_nway_smpl_arg_t *a = arg;

	(void)ctx_flags;
	if (!a || (a->buf_flags & ~(uint32_t)PFM_NWAY_SMPL_MASK_WHEN_FULL))
		return EINVAL;
	if (a->parts < 2 || a->parts > PFM_NWAY_SMPL_MAX_PARTS)
		return EINVAL;
	a->num_pmds = num_pmds;
	return sample_check_size(
		a->buf_size, nway_parts_offs(a), a->parts * sample_largest(num_pmds));
}

static pfm_nway_smpl_part_t *nway_current(pfm_nway_smpl_hdr_t *hdr)
{
	return &hdr->hdr_parts[hdr->hdr_cur];
}

static uint32_t nway_next_index(const pfm_nway_smpl_hdr_t *hdr)
{
	return (hdr->hdr_cur + 1) % hdr->hdr_nparts;
}

static void nway_set_state(pfm_nway_smpl_part_t *part, uint32_t state)
{
	sample_publish32(&part->part_state, state);
}

static void nway_empty(pfm_nway_smpl_part_t *part, uint32_t state)
{
	nway_set_state(part, state);
	part->part_count = part->part_bytes = 0;
	part->part_gap = 0;
}

/* Begins to fill part @index, which it empties. */
static void nway_begin(pfm_nway_smpl_hdr_t *hdr, uint32_t index)
{
	const pfm_nway_smpl_part_t *last = nway_current(hdr);
	uint32_t gap = sample_next_gap(last->part_gap, last->part_count);
	uint64_t seq = last->part_seq + 1;

	hdr->hdr_cur = index;
	nway_empty(nway_current(hdr), PFM_NWAY_PART_FILLING);
	nway_current(hdr)->part_seq = seq;
	nway_current(hdr)->part_gap = gap;
}

static int nway_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_nway_smpl_arg_t *a = arg;
	pfm_nway_smpl_hdr_t *hdr = buf;

	(void)ctx_flags;
	*hdr = (pfm_nway_smpl_hdr_t){
		.hdr_buf_size = a->buf_size,
		.hdr_parts_offs = nway_parts_offs(a),
		.hdr_part_size = nway_part_size(a),
		.hdr_min_buf_space = sample_largest(a->num_pmds),
		.hdr_version = PFM_NWAY_SMPL_VERSION,
		.hdr_tag = PFM_NWAY_SMPL_TAG,
		.hdr_buf_flags = a->buf_flags,
		.hdr_nparts = a->parts,
	};
	nway_begin(hdr, 0);
	return 0;
}

/*
 * Hands the full part to the tool if the next part is free. Otherwise the tool is late, and until
 * its restart, monitoring is masked or the next sample overwrites the part.
 */
static void nway_part_full(pfm_nway_smpl_hdr_t *hdr, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_nway_smpl_part_t *part = nway_current(hdr);

	hdr->hdr_overflows++;
	if (hdr->hdr_parts[nway_next_index(hdr)].part_state == PFM_NWAY_PART_FREE) {
		nway_set_state(part, PFM_NWAY_PART_FULL);
		nway_begin(hdr, nway_next_index(hdr));
		ctrl->notify_user = 1;
	} else if (hdr->hdr_buf_flags & PFM_NWAY_SMPL_MASK_WHEN_FULL) {
		nway_set_state(part, PFM_NWAY_PART_FULL);
	} else {
		nway_set_state(part, PFM_NWAY_PART_HELD);
		ctrl->notify_user = 1;
	}
}

static void nway_fill_again(pfm_nway_smpl_hdr_t *hdr)
{
	hdr->hdr_lost_parts++;
	hdr->hdr_lost_samples += nway_current(hdr)->part_count;
	nway_begin(hdr, hdr->hdr_cur);
}

static void nway_put(pfm_nway_smpl_hdr_t *hdr, struct sample *s, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_nway_smpl_part_t *part = nway_current(hdr);
	uint64_t offs = hdr->hdr_parts_offs + hdr->hdr_cur * hdr->hdr_part_size;

	sample_put(s, SAMPLE_COUNT_MAX, sample_at(hdr, offs + part->part_bytes));
	part->part_bytes += s->size;
	sample_publish64(&part->part_count, part->part_count + 1);
	if (hdr->hdr_part_size - part->part_bytes < hdr->hdr_min_buf_space)
		nway_part_full(hdr, ctrl);
}

static int nway_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_nway_smpl_hdr_t *hdr = buf;
	struct sample s = sample_of(arg, tstamp, data);

	if (s.size > hdr->hdr_min_buf_space)
		return EINVAL; /* more values than PMDs, which might not fit */
	while (s.left && nway_current(hdr)->part_state != PFM_NWAY_PART_FULL) {
		if (nway_current(hdr)->part_state == PFM_NWAY_PART_HELD)
			nway_fill_again(hdr);
		nway_put(hdr, &s, &arg->ovfl_ctrl);
	}
	hdr->hdr_lost += s.left;
	if (nway_current(hdr)->part_state == PFM_NWAY_PART_FULL)
		sample_mask_full(&arg->ovfl_ctrl);
	else
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

/* Frees the oldest full part, which is the one that the tool has read. */
static void nway_free_oldest(pfm_nway_smpl_hdr_t *hdr)
{
	pfm_nway_smpl_part_t *part = &hdr->hdr_parts[hdr->hdr_tool];

	if (part->part_state != PFM_NWAY_PART_FULL)
		return;
	nway_empty(part, PFM_NWAY_PART_FREE);
	sample_publish32(&hdr->hdr_tool, (hdr->hdr_tool + 1) % hdr->hdr_nparts);
}

static int nway_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_nway_smpl_hdr_t *hdr = buf;

	(void)is_active;
	nway_free_oldest(hdr);
	if (nway_current(hdr)->part_state != PFM_NWAY_PART_FILLING) {
		/* The tool was late and all other parts were full. The next part is free now. */
		nway_set_state(nway_current(hdr), PFM_NWAY_PART_FULL);
		nway_begin(hdr, nway_next_index(hdr));
	}
	ctrl->reset_ovfl_pmds = 1;
	return 0;
}

static void nway_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV])
{
	pfm_nway_smpl_hdr_t *hdr = buf;

	(void)set;
	sample_count_lost(&hdr->hdr_counts_lost, pmds);
}

static void nway_source(void *buf, const pfm_smpl_source_t *source)
{
	pfm_nway_smpl_hdr_t *hdr = buf;

	if (sample_set_source(&hdr->hdr_source, source))
		nway_current(hdr)->part_gap = (uint32_t)nway_current(hdr)->part_count + 1;
}

static const pfm_fmt_param_t params[] = {
	{"size", offsetof(pfm_nway_smpl_arg_t, buf_size), 8, 0, 65536},
	{"parts", offsetof(pfm_nway_smpl_arg_t, parts), 4, 0, 2},
	{"mask_when_full", offsetof(pfm_nway_smpl_arg_t, buf_flags), 4,
		PFM_NWAY_SMPL_MASK_WHEN_FULL, 0},
	{0},
};

const pfm_buffer_fmt_t format_nway = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_NWAY_SMPL_NAME,
	.fmt_uuid = PFM_NWAY_SMPL_UUID,
	.fmt_version = PFM_NWAY_SMPL_VERSION,
	.fmt_arg_size = sizeof(pfm_nway_smpl_arg_t),
	.fmt_msgq_depth = PFM_NWAY_SMPL_MAX_PARTS,
	.fmt_params = params,
	.fmt_validate = nway_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = nway_init,
	.fmt_handler = nway_handler,
	.fmt_restart = nway_restart,
	.fmt_lost = nway_lost,
	.fmt_source = nway_source,
};
