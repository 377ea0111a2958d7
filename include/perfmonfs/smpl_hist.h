/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "hist": samples are added up in place by process, ip, event set and PMD, for
 * long runs in little memory. A header, then hdr_slots entries in no particular order; those of
 * weight 0 are empty.
 *
 * It never masks. It notifies once, when hdr_notify_at entries are in use. Restart clears it, and
 * what has been added since the tool has read it is gone: stop first where this matters. A reader
 * of a running one reads hdr_clears before and after; the entries belong together if it is even
 * and the same. An entry is whole if its weight is read first, with acquire semantics.
 */
#ifndef PERFMONFS_SMPL_HIST_H
#define PERFMONFS_SMPL_HIST_H

#include <stdint.h>

#define PFM_HIST_SMPL_NAME "hist"
#define PFM_HIST_SMPL_UUID                                                                         \
	{                                                                                          \
		0x45, 0x27, 0x9c, 0xf5, 0x76, 0x1f, 0x4a, 0xe7, 0xb4, 0x45, 0x5f, 0xc0, 0xad,      \
			0x81, 0x50, 0xd1                                                           \
	}
#define PFM_HIST_SMPL_VERSION (1U << 16)

typedef struct pfm_hist_smpl_arg {
	uint64_t buf_size; /* bytes, with the header */
	uint64_t reserved[7];
} pfm_hist_smpl_arg_t;

typedef struct pfm_hist_smpl_hdr {
	uint64_t hdr_used;      /* entries in use */
	uint64_t hdr_slots;     /* entries there are */
	uint64_t hdr_max_used;  /* full: some are left empty to find the others soon */
	uint64_t hdr_notify_at; /* 7/8 of hdr_max_used */
	uint64_t hdr_weight;    /* overflows in all entries */
	uint64_t hdr_dropped;   /* overflows that found no entry; restart does not reset it */
	uint64_t hdr_clears;    /* two for each restart; odd while it clears */
	uint64_t hdr_buf_size;  /* bytes, all of it */
	uint32_t hdr_version;   /* PFM_HIST_SMPL_VERSION */
	uint32_t hdr_notified;  /* 1: it has, since the last restart */
	uint64_t hdr_reserved[7];
} pfm_hist_smpl_hdr_t;

typedef struct pfm_hist_smpl_entry {
	uint64_t weight;  /* overflows; 0: an empty entry */
	uint64_t samples; /* looks that found them: what there is to statistics */
	uint64_t ip;
	uint32_t pid; /* process */
	uint16_t set;
	uint16_t ovfl_pmd;
} pfm_hist_smpl_entry_t;

#endif
