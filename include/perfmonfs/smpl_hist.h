/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "hist": a table that adds up samples by process, ip, event set and PMD, for
 * long runs with little memory. The buffer is a header and hdr_slots unordered entries. Entries of
 * weight 0 are empty.
 *
 * It never masks monitoring. It notifies once, when hdr_notify_at entries are in use. Restart
 * clears the table, including samples that the tool has not read yet; stop first to read them all.
 * To read during monitoring, read hdr_clears before and after: the entries are consistent if
 * hdr_clears is even and unchanged. Read the weight of an entry first, with acquire semantics.
 */
#ifndef PERFMONFS_SMPL_HIST_H
#define PERFMONFS_SMPL_HIST_H

#include <stdint.h>

#include "perfmonfs/smpl_source.h"

#define PFM_HIST_SMPL_NAME "hist"
#define PFM_HIST_SMPL_UUID                                                                         \
	{                                                                                          \
		0x45, 0x27, 0x9c, 0xf5, 0x76, 0x1f, 0x4a, 0xe7, 0xb4, 0x45, 0x5f, 0xc0, 0xad,      \
			0x81, 0x50, 0xd1                                                           \
	}
#define PFM_HIST_SMPL_VERSION (1U << 16)
#define PFM_HIST_SMPL_TAG     0x74736968U /* "hist" */

typedef struct pfm_hist_smpl_arg {
	uint64_t buf_size; /* bytes, with the header */
	uint64_t reserved[7];
} pfm_hist_smpl_arg_t;

typedef struct pfm_hist_smpl_hdr {
	uint64_t hdr_used;      /* entries in use */
	uint64_t hdr_slots;     /* entries */
	uint64_t hdr_max_used;  /* limit of hdr_used; empty entries keep searches short */
	uint64_t hdr_notify_at; /* 7/8 of hdr_max_used */
	uint64_t hdr_weight;    /* overflows in all entries */
	uint64_t hdr_dropped;   /* overflows lost for lack of entries; restart does not reset it */
	uint64_t hdr_clears;    /* two per restart; odd during the restart */
	uint64_t hdr_buf_size;  /* bytes, with this header */
	uint32_t hdr_version;   /* PFM_HIST_SMPL_VERSION */
	uint32_t hdr_notified;  /* 1: notified since the last restart */
	uint64_t hdr_counts_lost;     /* counts lost: from then on, samples are missing */
	pfm_smpl_source_t hdr_source; /* how overflows are found */
	uint64_t hdr_reserved[1];
	uint32_t hdr_tag; /* PFM_HIST_SMPL_TAG */
	uint32_t hdr_reserved1;
} pfm_hist_smpl_hdr_t;

typedef struct pfm_hist_smpl_entry {
	uint64_t weight;  /* overflows; 0 if the entry is empty */
	uint64_t samples; /* polls that found overflows: the statistical sample size */
	uint64_t ip;
	uint32_t pid; /* process */
	uint16_t set;
	uint16_t ovfl_pmd;
} pfm_hist_smpl_entry_t;

#endif
