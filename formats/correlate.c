// SPDX-License-Identifier: MIT
/* The format "correlate": samples as in dfl.c, and events of processes between them. */
#include "formats/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "formats/sample.h"
#include "perfmonfs/smpl_correlate.h"

_Static_assert(sizeof(pfm_correlate_smpl_arg_t) == 64, "documented");
_Static_assert(sizeof(pfm_correlate_smpl_hdr_t) == 128, "documented");
_Static_assert(sizeof(pfm_correlate_smpl_rec_t) == 8, "documented");
_Static_assert(sizeof(pfm_correlate_smpl_event_t) == 40, "documented");

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
	return sample_check_size(
		a->buf_size, sizeof(pfm_correlate_smpl_hdr_t), correlate_largest(a));
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
	};
	return 0;
}

static uint64_t correlate_room(const pfm_correlate_smpl_hdr_t *hdr)
{
	return hdr->hdr_buf_size - hdr->hdr_cur_offs;
}

static void *correlate_begin_record(pfm_correlate_smpl_hdr_t *hdr, uint32_t type, size_t size)
{
	pfm_correlate_smpl_rec_t *rec = sample_at(hdr, hdr->hdr_cur_offs);

	*rec = (pfm_correlate_smpl_rec_t){.rec_type = type, .rec_size = (uint32_t)size};
	return rec + 1;
}

static void correlate_end_record(pfm_correlate_smpl_hdr_t *hdr, size_t size)
{
	hdr->hdr_cur_offs += size;
	sample_publish64(&hdr->hdr_count, hdr->hdr_count + 1);
}

static void correlate_put(pfm_correlate_smpl_hdr_t *hdr, struct sample *s)
{
	size_t size = sizeof(pfm_correlate_smpl_rec_t) + s->size;

	sample_put(s, SAMPLE_COUNT_MAX, correlate_begin_record(hdr, PFM_CORRELATE_SAMPLE, size));
	correlate_end_record(hdr, size);
}

static int correlate_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;
	struct sample s = sample_of(arg, tstamp, data);
	bool was_full = hdr->hdr_state == PFM_CORRELATE_FULL;

	if (sizeof(pfm_correlate_smpl_rec_t) + s.size > hdr->hdr_min_buf_space)
		return EINVAL; /* more values than PMDs, which might not fit */
	while (s.left && hdr->hdr_state != PFM_CORRELATE_FULL) {
		correlate_put(hdr, &s);
		if (correlate_room(hdr) < hdr->hdr_min_buf_space)
			hdr->hdr_state = PFM_CORRELATE_FULL;
	}
	if (hdr->hdr_state == PFM_CORRELATE_ENDING)
		hdr->hdr_state = PFM_CORRELATE_FULL;
	hdr->hdr_lost += s.left;
	if (hdr->hdr_state != PFM_CORRELATE_FULL) {
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
		return 0;
	}
	hdr->hdr_overflows += !was_full;
	sample_mask_full(&arg->ovfl_ctrl);
	return 0;
}

static uint32_t correlate_record_type(enum pfm_smpl_event_type type)
{
	switch (type) {
	case PFM_EVENT_EXEC:
		return PFM_CORRELATE_EXEC;
	case PFM_EVENT_MMAP:
		return PFM_CORRELATE_MMAP;
	case PFM_EVENT_COMM:
		return PFM_CORRELATE_COMM;
	case PFM_EVENT_EXIT:
		return PFM_CORRELATE_EXIT;
	}
	return 0;
}

static void correlate_put_event(
	pfm_correlate_smpl_hdr_t *hdr, const pfm_smpl_event_t *event, size_t name_n, size_t size)
{
	pfm_correlate_smpl_event_t *e =
		correlate_begin_record(hdr, correlate_record_type(event->type), size);
	size_t name_room = size - sizeof(pfm_correlate_smpl_rec_t) - sizeof(*e);

	*e = (pfm_correlate_smpl_event_t){
		.pid = event->pid,
		.tid = event->tid,
		.tstamp = event->tstamp,
		.addr = event->addr,
		.len = event->len,
		.pgoff = event->pgoff,
	};
	memset(e->name, 0, name_room);
	memcpy(e->name, event->name, name_n);
	correlate_end_record(hdr, size);
}

/*
 * An event cannot mask monitoring; a sample can. So an event always leaves room for a sample. After
 * the first event that found no room, the next sample makes the buffer full, so that the tool soon
 * sees that events were lost. A full buffer is not written until restart.
 */
static int correlate_event(void *buf, const pfm_smpl_event_t *event)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;
	size_t name_n = strnlen(event->name, PFM_CORRELATE_NAME_MAX - 1);
	size_t size = sizeof(pfm_correlate_smpl_rec_t) + sizeof(pfm_correlate_smpl_event_t) +
		      (name_n / 8 + 1) * 8;

	if (hdr->hdr_state == PFM_CORRELATE_OPEN &&
		correlate_room(hdr) >= size + hdr->hdr_min_buf_space) {
		correlate_put_event(hdr, event, name_n, size);
		return 0;
	}
	hdr->hdr_lost_events++;
	if (hdr->hdr_state == PFM_CORRELATE_OPEN && hdr->hdr_count)
		hdr->hdr_state = PFM_CORRELATE_ENDING;
	return 0;
}

static int correlate_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;

	(void)is_active;
	sample_publish64(&hdr->hdr_count, 0);
	hdr->hdr_cur_offs = sizeof(*hdr);
	hdr->hdr_state = PFM_CORRELATE_OPEN;
	ctrl->reset_ovfl_pmds = 1;
	return 0;
}

static void correlate_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV])
{
	pfm_correlate_smpl_hdr_t *hdr = buf;

	(void)set;
	sample_count_lost(&hdr->hdr_counts_lost, pmds);
}

static void correlate_source(void *buf, const pfm_smpl_source_t *source)
{
	((pfm_correlate_smpl_hdr_t *)buf)->hdr_source = *source;
}

static const pfm_fmt_param_t params[] = {
	{"size", offsetof(pfm_correlate_smpl_arg_t, buf_size), 8, 0, 65536},
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
	.fmt_restart = correlate_restart,
	.fmt_lost = correlate_lost,
	.fmt_source = correlate_source,
	.fmt_event = correlate_event,
};
