/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "nway" (specification 6.3.1): the buffer has several parts, which are filled
 * one after another, so that monitoring continues while the tool reads. Samples are the same as in
 * "default". The buffer is a header, a record for each part, and the parts.
 *
 * When notified, the tool reads part hdr_tool if it is full, and writes restart, which frees the
 * part and advances hdr_tool. It repeats this until part hdr_tool is not full, then waits. The
 * first part is 0. If the tool is late and no part is free, the last part is overwritten; with
 * mask_when_full, monitoring is masked instead. Lost parts leave gaps in the sequence numbers.
 */
#ifndef PERFMONFS_SMPL_NWAY_H
#define PERFMONFS_SMPL_NWAY_H

#include <stdint.h>

#include "perfmonfs/smpl_dfl.h"

#define PFM_NWAY_SMPL_NAME "nway"
#define PFM_NWAY_SMPL_UUID                                                                         \
	{                                                                                          \
		0x56, 0x3a, 0x40, 0x78, 0x1d, 0x1e, 0x4f, 0x5b, 0x8c, 0x62, 0xdc, 0x0a, 0xaa,      \
			0xe9, 0xb7, 0xe6                                                           \
	}
#define PFM_NWAY_SMPL_VERSION (1U << 16)
#define PFM_NWAY_SMPL_TAG     0x7961776eU /* "nway" */

enum { PFM_NWAY_SMPL_MAX_PARTS = 64 };

enum { PFM_NWAY_SMPL_MASK_WHEN_FULL = 1 }; /* buf_flags */

/* part_state. Read it first, with acquire semantics: __atomic_load_n(&..., __ATOMIC_ACQUIRE). */
enum {
	PFM_NWAY_PART_FREE,    /* empty */
	PFM_NWAY_PART_FILLING, /* readable only after stop */
	PFM_NWAY_PART_FULL,    /* readable until restart */
	PFM_NWAY_PART_HELD,    /* full; the next sample overwrites it unless restart comes first */
};

typedef struct pfm_nway_smpl_arg {
	uint64_t buf_size; /* bytes, with header and records */
	uint32_t buf_flags;
	uint32_t parts;    /* 2 to PFM_NWAY_SMPL_MAX_PARTS */
	uint32_t num_pmds; /* set by fmt_validate */
	uint32_t reserved1;
	uint64_t reserved[5];
} pfm_nway_smpl_arg_t;

typedef struct pfm_nway_smpl_part {
	uint64_t part_seq;   /* sequence number of the part's contents, from 1 */
	uint64_t part_count; /* samples */
	uint64_t part_bytes; /* bytes of the samples */
	uint32_t part_state; /* PFM_NWAY_PART_* */
	uint32_t part_gap;   /* hdr_gap of "default", for the samples of this part */
} pfm_nway_smpl_part_t;

typedef struct pfm_nway_smpl_hdr {
	uint64_t hdr_overflows;    /* how often a part became full */
	uint64_t hdr_lost_parts;   /* parts overwritten before the tool read them */
	uint64_t hdr_lost_samples; /* samples in these parts */
	uint64_t hdr_lost;         /* overflows lost because all parts were full */
	uint64_t hdr_buf_size;     /* bytes, with header and records */
	uint64_t hdr_parts_offs;   /* offset of part 0; part N is N * hdr_part_size later */
	uint64_t hdr_part_size;    /* bytes */
	uint64_t
		hdr_min_buf_space; /* bytes of the largest sample; with less left, a part is full */
	uint32_t hdr_version;      /* PFM_NWAY_SMPL_VERSION */
	uint32_t hdr_buf_flags;
	uint32_t hdr_nparts;
	uint32_t hdr_cur;  /* part being filled, or filled last */
	uint32_t hdr_tool; /* part that restart frees if it is full; only restart changes it */
	uint32_t hdr_tag;  /* PFM_NWAY_SMPL_TAG */
	uint64_t hdr_counts_lost;     /* counts lost: from then on, samples are missing */
	pfm_smpl_source_t hdr_source; /* how overflows are found */
	/* C++ has no arrays without a length. */
#ifndef __cplusplus
	pfm_nway_smpl_part_t hdr_parts[];
#endif
} pfm_nway_smpl_hdr_t;

#endif
