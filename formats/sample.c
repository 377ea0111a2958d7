// SPDX-License-Identifier: MIT
#include "formats/sample.h"

#include <errno.h>
#include <string.h>

static size_t sample_count_values(const pfm_ovfl_arg_t *arg)
{
	size_t n = 0;

	for (unsigned i = 0; i < PFM_FMT_BV; i++)
		n += (size_t)__builtin_popcountll(arg->smpl_pmds[i]);
	return n;
}

struct sample sample_of(const pfm_ovfl_arg_t *arg, uint64_t tstamp, const void *where)
{
	size_t body = sample_count_values(arg) * sizeof(uint64_t);

	return (struct sample){
		.arg = arg,
		.where = where,
		.tstamp = tstamp,
		.body = body,
		.size = sizeof(pfm_dfl_smpl_entry_t) + body,
		.left = arg->ovfl_count ? arg->ovfl_count : 1,
	};
}

uint64_t sample_ip(const struct sample *s)
{
	return s->where->precise == PFM_SMPL_EARLIER ? 0 : s->where->ip;
}

pfm_dfl_smpl_entry_t sample_entry(struct sample *s, uint16_t most)
{
	uint16_t count = s->left < most ? (uint16_t)s->left : most;

	s->left -= count;
	return (pfm_dfl_smpl_entry_t){
		.pid = s->where->tid,
		.ovfl_pmd = s->arg->ovfl_pmd,
		.ovfl_count = count,
		.last_reset_val = s->arg->pmd_last_reset,
		.ip = s->where->ip,
		.tstamp = s->tstamp,
		.cpu = s->where->cpu,
		.set = s->arg->active_set,
		.tgid = s->where->pid,
	};
}

void sample_put(struct sample *s, uint16_t most, void *at)
{
	pfm_dfl_smpl_entry_t *entry = at;

	*entry = sample_entry(s, most);
	entry->ip = sample_ip(s);
	memcpy(entry + 1, s->arg->smpl_pmds_values, s->body);
}

void sample_count_lost(uint64_t *counts_lost, const uint64_t pmds[PFM_FMT_BV])
{
	uint64_t n = *counts_lost;

	for (unsigned i = 0; i < PFM_FMT_BV; i++)
		n += (uint64_t)__builtin_popcountll(pmds[i]);
	sample_publish64(counts_lost, n);
}

/* Gaps in the first @source belong to an earlier buffer, so they do not count. */
bool sample_set_source(pfm_smpl_source_t *hdr, const pfm_smpl_source_t *source)
{
	bool gap = hdr->precise != PFM_SMPL_UNKNOWN && source->gaps > hdr->gaps;

	*hdr = *source;
	return gap;
}

size_t sample_largest(uint32_t num_pmds)
{
	return sizeof(pfm_dfl_smpl_entry_t) + num_pmds * sizeof(uint64_t);
}

int sample_getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = *(const uint64_t *)arg;
	return 0;
}

int sample_check_size(uint64_t size, size_t overhead, size_t need)
{
	return size < overhead || size - overhead < need || size > SIZE_MAX ? EINVAL : 0;
}
