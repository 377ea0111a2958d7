// SPDX-License-Identifier: MIT
/* The format "hist": the buffer is a hash table that adds up samples. */
#include "formats/formats.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "formats/sample.h"
#include "perfmonfs/smpl_hist.h"

_Static_assert(sizeof(pfm_hist_smpl_arg_t) == 64, "documented");
_Static_assert(sizeof(pfm_hist_smpl_hdr_t) == 128, "documented");
_Static_assert(sizeof(pfm_hist_smpl_entry_t) == 32, "documented");

static int hist_validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	const pfm_hist_smpl_arg_t *a = arg;

	(void)ctx_flags, (void)num_pmds;
	if (!a)
		return EINVAL;
	return sample_check_size(
		a->buf_size, sizeof(pfm_hist_smpl_hdr_t), sizeof(pfm_hist_smpl_entry_t));
}

/* Initializes the table. A sixteenth of the slots stays empty, because a search ends at an empty
 * slot. */
static int hist_init(uint32_t ctx_flags, void *arg, void *buf)
{
	const pfm_hist_smpl_arg_t *a = arg;
	uint64_t slots =
		(a->buf_size - sizeof(pfm_hist_smpl_hdr_t)) / sizeof(pfm_hist_smpl_entry_t);
	uint64_t max;

	(void)ctx_flags;
	if (slots > UINT32_MAX)
		slots = UINT32_MAX; /* the range of hist_first_slot() */
	max = slots - slots / 16;
	*(pfm_hist_smpl_hdr_t *)buf = (pfm_hist_smpl_hdr_t){
		.hdr_slots = slots,
		.hdr_max_used = max,
		.hdr_notify_at = max - max / 8,
		.hdr_buf_size = a->buf_size,
		.hdr_version = PFM_HIST_SMPL_VERSION,
		.hdr_tag = PFM_HIST_SMPL_TAG,
	};
	return 0;
}

static uint64_t hist_mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93;
	return h ^ h >> 32;
}

static uint64_t hist_first_slot(const pfm_hist_smpl_entry_t *key, uint64_t slots)
{
	uint64_t task = (uint64_t)key->pid << 32 | (uint32_t)key->set << 16 | key->ovfl_pmd;

	return (hist_mix(hist_mix(key->ip) + task) >> 32) * slots >> 32;
}

static bool hist_same_key(const pfm_hist_smpl_entry_t *a, const pfm_hist_smpl_entry_t *b)
{
	return a->ip == b->ip && a->pid == b->pid && a->set == b->set && a->ovfl_pmd == b->ovfl_pmd;
}

/* The entry of @key, or the empty entry where it belongs; NULL if the table is full. */
static pfm_hist_smpl_entry_t *hist_find(pfm_hist_smpl_hdr_t *hdr, const pfm_hist_smpl_entry_t *key)
{
	pfm_hist_smpl_entry_t *table = sample_at(hdr, sizeof(*hdr));
	uint64_t slot = hist_first_slot(key, hdr->hdr_slots);

	for (uint64_t i = 0; i < hdr->hdr_slots; i++) {
		pfm_hist_smpl_entry_t *entry = &table[slot];

		if (!entry->weight || hist_same_key(entry, key))
			return entry;
		slot = slot + 1 < hdr->hdr_slots ? slot + 1 : 0;
	}
	return NULL;
}

/* Adds @key's weight. Returns false if there is no room. */
static bool hist_add(pfm_hist_smpl_hdr_t *hdr, const pfm_hist_smpl_entry_t *key)
{
	pfm_hist_smpl_entry_t *entry = hist_find(hdr, key);

	if (!entry || (!entry->weight && hdr->hdr_used >= hdr->hdr_max_used))
		return false;
	if (!entry->weight) {
		entry->ip = key->ip;
		entry->pid = key->pid;
		entry->set = key->set;
		entry->ovfl_pmd = key->ovfl_pmd;
		hdr->hdr_used++;
	}
	__atomic_store_n(&entry->samples, entry->samples + 1, __ATOMIC_RELAXED);
	sample_publish64(&entry->weight, entry->weight + key->weight);
	hdr->hdr_weight += key->weight;
	return true;
}

static int hist_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	pfm_hist_smpl_hdr_t *hdr = buf;
	const pfm_smpl_where_t *where = data;
	pfm_hist_smpl_entry_t key = {
		.weight = arg->ovfl_count ? arg->ovfl_count : 1,
		/* An entry sums samples, so none of them can be marked. */
		.ip = where->precise == PFM_SMPL_EARLIER ? 0 : where->ip,
		.pid = where->pid,
		.set = arg->active_set,
		.ovfl_pmd = arg->ovfl_pmd,
	};

	(void)tstamp;
	if (!hist_add(hdr, &key))
		hdr->hdr_dropped += key.weight;
	/* Notify once, and only for a PMD that asks for notification. */
	if (hdr->hdr_used >= hdr->hdr_notify_at && arg->ovfl_notify && !hdr->hdr_notified) {
		hdr->hdr_notified = 1;
		arg->ovfl_ctrl.notify_user = 1;
	}
	arg->ovfl_ctrl.reset_ovfl_pmds = 1;
	return 0;
}

/* Increments hdr_clears. The atomic addition is a full barrier in both directions, unlike a
 * store. */
static void hist_count_clear(pfm_hist_smpl_hdr_t *hdr)
{
	__atomic_fetch_add(&hdr->hdr_clears, 1, __ATOMIC_ACQ_REL);
}

static int hist_restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	pfm_hist_smpl_hdr_t *hdr = buf;

	(void)is_active;
	hist_count_clear(hdr);
	memset(sample_at(hdr, sizeof(*hdr)), 0, hdr->hdr_slots * sizeof(pfm_hist_smpl_entry_t));
	hdr->hdr_used = hdr->hdr_weight = 0;
	hdr->hdr_notified = 0;
	hist_count_clear(hdr);
	ctrl->reset_ovfl_pmds = 1;
	return 0;
}

static void hist_lost(void *buf, uint16_t set, const uint64_t pmds[PFM_FMT_BV])
{
	pfm_hist_smpl_hdr_t *hdr = buf;

	(void)set;
	sample_count_lost(&hdr->hdr_counts_lost, pmds);
}

/* Stores the source. Entries have no order, so gaps cannot be placed among them. */
static void hist_source(void *buf, const pfm_smpl_source_t *source)
{
	((pfm_hist_smpl_hdr_t *)buf)->hdr_source = *source;
}

static const pfm_fmt_param_t params[] = {
	{"size", offsetof(pfm_hist_smpl_arg_t, buf_size), 8, 0, 65536},
	{0},
};

const pfm_buffer_fmt_t format_hist = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = PFM_HIST_SMPL_NAME,
	.fmt_uuid = PFM_HIST_SMPL_UUID,
	.fmt_version = PFM_HIST_SMPL_VERSION,
	.fmt_arg_size = sizeof(pfm_hist_smpl_arg_t),
	.fmt_msgq_depth = 1,
	.fmt_params = params,
	.fmt_validate = hist_validate,
	.fmt_getsize = sample_getsize,
	.fmt_init = hist_init,
	.fmt_handler = hist_handler,
	.fmt_restart = hist_restart,
	.fmt_lost = hist_lost,
	.fmt_source = hist_source,
};
