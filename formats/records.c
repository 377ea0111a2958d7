// SPDX-License-Identifier: MIT
#include "formats/records.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

_Static_assert(sizeof(pfm_correlate_smpl_hdr_t) == 128, "documented");
_Static_assert(sizeof(pfm_correlate_smpl_rec_t) == 8, "documented");
_Static_assert(sizeof(pfm_correlate_smpl_event_t) == 40, "documented");
_Static_assert(sizeof(pfm_correlate_smpl_gap_t) == 8, "documented");
_Static_assert(sizeof(pfm_smpl_file_t) == 40, "documented");

enum {
	RECORDS_FILE = sizeof(pfm_correlate_smpl_rec_t) + sizeof(pfm_smpl_file_t),
	RECORDS_NEXT = sizeof(pfm_correlate_smpl_rec_t) + sizeof(uint64_t),
};

int records_check_size(uint64_t size, uint32_t parts, size_t largest)
{
	size_t need = parts < 2 ? largest : parts * ((largest + 7) / 8 * 8 + RECORDS_NEXT);

	return parts > PFM_CORRELATE_MAX_PARTS
		       ? EINVAL
		       : sample_check_size(size, sizeof(pfm_correlate_smpl_hdr_t), need);
}

/* A multiple of 8, so that records stay aligned. */
static uint64_t records_part_size(const pfm_correlate_smpl_hdr_t *hdr)
{
	return (hdr->hdr_buf_size - sizeof(*hdr)) / hdr->hdr_parts / 8 * 8;
}

static uint64_t records_part(const pfm_correlate_smpl_hdr_t *hdr)
{
	return (hdr->hdr_cur_offs - sizeof(*hdr)) / records_part_size(hdr);
}

/* Bytes left, except for the record that leads to the next part. */
static uint64_t records_room(const pfm_correlate_smpl_hdr_t *hdr)
{
	uint64_t end = sizeof(*hdr) + (records_part(hdr) + 1) * records_part_size(hdr);

	return hdr->hdr_parts == 1 ? hdr->hdr_buf_size - hdr->hdr_cur_offs
				   : end - RECORDS_NEXT - hdr->hdr_cur_offs;
}

void *records_begin(pfm_correlate_smpl_hdr_t *hdr, uint32_t type, size_t size)
{
	pfm_correlate_smpl_rec_t *rec = sample_at(hdr, hdr->hdr_cur_offs);

	*rec = (pfm_correlate_smpl_rec_t){.rec_type = type, .rec_size = (uint32_t)size};
	return rec + 1;
}

void records_end(pfm_correlate_smpl_hdr_t *hdr, size_t size)
{
	hdr->hdr_cur_offs += size;
	sample_publish64(&hdr->hdr_count, hdr->hdr_count + 1);
}

/* Goes on in the next part. False: the tool has not freed it yet. */
static bool records_next_part(pfm_correlate_smpl_hdr_t *hdr)
{
	uint64_t next = (records_part(hdr) + 1) % hdr->hdr_parts * records_part_size(hdr);

	if (hdr->hdr_full_parts + 1 >= hdr->hdr_parts)
		return false;
	next += sizeof(*hdr);
	*(uint64_t *)records_begin(hdr, PFM_CORRELATE_NEXT, RECORDS_NEXT) = next;
	hdr->hdr_full_parts++;
	hdr->hdr_cur_offs = next;
	sample_publish64(&hdr->hdr_count, hdr->hdr_count + 1);
	return true;
}

int records_handle(pfm_correlate_smpl_hdr_t *hdr, struct sample *s, pfm_ovfl_ctrl_t *ctrl,
	void (*put)(pfm_correlate_smpl_hdr_t *hdr, struct sample *s))
{
	bool was_full = hdr->hdr_state == PFM_CORRELATE_FULL;

	while (s->left && hdr->hdr_state != PFM_CORRELATE_FULL) {
		put(hdr, s);
		if (records_room(hdr) >= hdr->hdr_min_buf_space)
			continue;
		if (records_next_part(hdr))
			ctrl->notify_user = 1;
		else
			hdr->hdr_state = PFM_CORRELATE_FULL;
	}
	if (hdr->hdr_state == PFM_CORRELATE_ENDING)
		hdr->hdr_state = PFM_CORRELATE_FULL;
	if (hdr->hdr_state == PFM_CORRELATE_TURNED) {
		hdr->hdr_state = PFM_CORRELATE_OPEN;
		ctrl->notify_user = 1;
	}
	hdr->hdr_lost += s->left;
	if (hdr->hdr_state != PFM_CORRELATE_FULL) {
		ctrl->reset_ovfl_pmds = 1;
		return 0;
	}
	hdr->hdr_overflows += !was_full;
	sample_mask_full(ctrl);
	return 0;
}

static uint32_t records_type(enum pfm_smpl_event_type type)
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
	case PFM_EVENT_WAIT:
		return PFM_CORRELATE_WAIT;
	}
	return 0;
}

static void records_put_file(pfm_correlate_smpl_hdr_t *hdr, const pfm_smpl_file_t *file)
{
	*(pfm_smpl_file_t *)records_begin(hdr, PFM_CORRELATE_FILE, RECORDS_FILE) = *file;
	records_end(hdr, RECORDS_FILE);
}

static void records_put_event(
	pfm_correlate_smpl_hdr_t *hdr, const pfm_smpl_event_t *event, size_t name_n, size_t size)
{
	pfm_correlate_smpl_event_t *e = records_begin(hdr, records_type(event->type), size);
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
	records_end(hdr, size);
}

/* Whether there is room for an event of @size bytes. If not, counts it as lost. */
static bool records_has_room(pfm_correlate_smpl_hdr_t *hdr, size_t size)
{
	bool writes =
		hdr->hdr_state == PFM_CORRELATE_OPEN || hdr->hdr_state == PFM_CORRELATE_TURNED;

	size += hdr->hdr_min_buf_space;
	if (writes && records_room(hdr) < size && records_next_part(hdr))
		hdr->hdr_state = PFM_CORRELATE_TURNED;
	if (writes && records_room(hdr) >= size)
		return true;
	hdr->hdr_lost_events++;
	if (hdr->hdr_state == PFM_CORRELATE_OPEN && hdr->hdr_count)
		hdr->hdr_state = PFM_CORRELATE_ENDING;
	return false;
}

/*
 * An event can neither notify nor mask monitoring; a sample can. So an event always leaves room for
 * a sample. After the first event that found no room, the next sample makes the buffer full, so
 * that the tool soon sees that events were lost. A full buffer is not written until restart.
 */
int records_event(void *buf, const pfm_smpl_event_t *event)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;
	size_t name_n = strnlen(event->name, PFM_CORRELATE_NAME_MAX - 1);
	size_t size = sizeof(pfm_correlate_smpl_rec_t) + sizeof(pfm_correlate_smpl_event_t) +
		      (name_n / 8 + 1) * 8;
	bool file = event->file.inode || event->file.build_id_size;

	if (!records_has_room(hdr, size + (file ? RECORDS_FILE : 0)))
		return 0;
	if (file)
		records_put_file(hdr, &event->file);
	records_put_event(hdr, event, name_n, size);
	return 0;
}

/* Frees the oldest full part, into which a full buffer goes on. */
static int records_free_part(pfm_correlate_smpl_hdr_t *hdr)
{
	bool waits = hdr->hdr_state == PFM_CORRELATE_FULL || hdr->hdr_state == PFM_CORRELATE_ENDING;

	if (!hdr->hdr_full_parts)
		return 0;
	hdr->hdr_full_parts--;
	if (waits) {
		hdr->hdr_state = PFM_CORRELATE_OPEN;
		records_next_part(hdr);
	}
	return 0;
}

int records_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_correlate_smpl_hdr_t *hdr = buf;

	(void)is_active;
	ctrl->reset_ovfl_pmds = 1;
	if (hdr->hdr_parts > 1)
		return records_free_part(hdr);
	sample_publish64(&hdr->hdr_count, 0);
	hdr->hdr_cur_offs = sizeof(*hdr);
	hdr->hdr_state = PFM_CORRELATE_OPEN;
	return 0;
}

void records_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV])
{
	pfm_correlate_smpl_hdr_t *hdr = buf;

	(void)set;
	sample_count_lost(&hdr->hdr_counts_lost, pmds);
}

/* Stores the source, and records a gap as an event between the samples before and after it. */
void records_source(void *buf, const pfm_smpl_source_t *source)
{
	const size_t size = sizeof(pfm_correlate_smpl_rec_t) + sizeof(pfm_correlate_smpl_gap_t);
	pfm_correlate_smpl_hdr_t *hdr = buf;

	if (sample_set_source(&hdr->hdr_source, source) && records_has_room(hdr, size)) {
		*(pfm_correlate_smpl_gap_t *)records_begin(hdr, PFM_CORRELATE_GAP, size) =
			(pfm_correlate_smpl_gap_t){.gaps = source->gaps};
		records_end(hdr, size);
	}
}
