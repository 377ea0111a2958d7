/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "nway" (specification 6.3.1): the buffer has several parts, which are filled
 * in turn, so that monitoring goes on while the tool reads. Samples are those of the format
 * "default". A header, a record for each part, then the parts.
 *
 * The tool, when notified: reads part hdr_tool if that is full, writes restart, which frees it and
 * moves hdr_tool on, and does so again until hdr_tool is not full; then it waits. Parts are its in
 * turn, from 0 on. When it is late and no part is free, the part filled last is filled again and
 * again, or with mask_when_full monitoring is masked. Sequence numbers have gaps where parts were
 * lost.
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

enum { PFM_NWAY_SMPL_MAX_PARTS = 64 };

enum { PFM_NWAY_SMPL_MASK_WHEN_FULL = 1 }; /* buf_flags */

/* part_state: read it first, with acquire semantics (__atomic_load_n(&..., __ATOMIC_ACQUIRE)). */
enum {
	PFM_NWAY_PART_FREE,    /* nothing in it */
	PFM_NWAY_PART_FILLING, /* grows; what it has can be read once monitoring has stopped */
	PFM_NWAY_PART_FULL,    /* the tool's, until restart */
	PFM_NWAY_PART_HELD,    /* full, to be filled again unless restart comes first */
};

typedef struct pfm_nway_smpl_arg {
	uint64_t buf_size; /* bytes, with header and records */
	uint32_t buf_flags;
	uint32_t parts;    /* 2 to PFM_NWAY_SMPL_MAX_PARTS */
	uint32_t num_pmds; /* filled in by fmt_validate, for fmt_init */
	uint32_t reserved1;
	uint64_t reserved[5];
} pfm_nway_smpl_arg_t;

typedef struct pfm_nway_smpl_part {
	uint64_t part_seq;   /* counts up with each filling, from 1 */
	uint64_t part_count; /* samples in it */
	uint64_t part_bytes; /* and their size */
	uint32_t part_state;
	uint32_t part_reserved;
} pfm_nway_smpl_part_t;

typedef struct pfm_nway_smpl_hdr {
	uint64_t hdr_overflows;     /* how often a part has become full */
	uint64_t hdr_lost_parts;    /* of those, filled again before the tool had them */
	uint64_t hdr_lost_samples;  /* that were in them */
	uint64_t hdr_lost;          /* overflows that found every part full (mask_when_full) */
	uint64_t hdr_buf_size;      /* bytes, all of it */
	uint64_t hdr_parts_offs;    /* where part 0 is; part N is N * hdr_part_size further */
	uint64_t hdr_part_size;     /* bytes */
	uint64_t hdr_min_buf_space; /* the largest sample; a part is full when less is left */
	uint32_t hdr_version;       /* PFM_NWAY_SMPL_VERSION */
	uint32_t hdr_buf_flags;
	uint32_t hdr_nparts;
	uint32_t hdr_cur;  /* the part filled now, or last */
	uint32_t hdr_tool; /* the part that restart frees, if it is full; nothing else changes it */
	uint32_t hdr_reserved1;
	uint64_t hdr_reserved[5];
	pfm_nway_smpl_part_t hdr_parts[];
} pfm_nway_smpl_hdr_t;

#endif
