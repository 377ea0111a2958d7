/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "default" (specification 3.6), with the layout of perfmon2 in Linux 2.6
 * kernels: a header, then samples. A sample is an entry and its body. The body is the 64-bit values
 * of the PMDs in smpl_pmds of the PMD that overflowed, in increasing order.
 *
 * The first hdr_count samples are complete at any time, and remain until restart. Load hdr_count
 * first, with acquire semantics; a read(2) of it and of samples has no such order.
 */
#ifndef PERFMONFS_SMPL_DFL_H
#define PERFMONFS_SMPL_DFL_H

#include <stdint.h>

#include "perfmonfs/smpl_source.h"

#define PFM_DFL_SMPL_NAME "default"
#define PFM_DFL_SMPL_UUID                                                                          \
	{                                                                                          \
		0x4d, 0x72, 0xbe, 0xc0, 0x06, 0x64, 0x41, 0x43, 0x82, 0xb4, 0xd3, 0xfd, 0x27,      \
			0x24, 0x3c, 0x97                                                           \
	}
#define PFM_DFL_SMPL_VERSION_MAJ 1U
#define PFM_DFL_SMPL_VERSION_MIN 0U
#define PFM_DFL_SMPL_VERSION     ((PFM_DFL_SMPL_VERSION_MAJ << 16) | PFM_DFL_SMPL_VERSION_MIN)
#define PFM_DFL_SMPL_TAG         0x61666564U /* "defa" */

/* buf_flags (3.6.2; not in kernels); at most one of them. */
enum {
	PFM_DFL_SMPL_NO_HDR = 1,  /* samples have no entry */
	PFM_DFL_SMPL_IIP_HDR = 2, /* the entry is only the ip, 64 bits */
	/* All overflows that one poll finds are one sample, with their number in ovfl_count.
	 * Without this flag, each overflow has a sample, as in kernels. Only in perfmonfs. */
	PFM_DFL_SMPL_COMPACT = 4
};

typedef struct pfm_dfl_smpl_arg {
	uint64_t buf_size; /* bytes, with the header */
	uint32_t buf_flags;
	uint32_t num_pmds; /* set by fmt_validate */
	uint64_t reserved[6];
} pfm_dfl_smpl_arg_t;

typedef struct pfm_dfl_smpl_hdr {
	uint64_t hdr_count;     /* samples in the buffer */
	uint64_t hdr_cur_offs;  /* offset of the next sample in the buffer */
	uint64_t hdr_overflows; /* how often the buffer became full */
	uint64_t hdr_buf_size;  /* bytes, with this header */
	/* bytes of the largest sample; with less left, the buffer is full */
	uint64_t hdr_min_buf_space;
	uint32_t hdr_version; /* PFM_DFL_SMPL_VERSION */
	uint32_t hdr_buf_flags;
	/* Overflows lost because the buffer was full. Restart does not reset it. Reserved in
	 * kernels. */
	uint64_t hdr_lost;
	/* counts lost: from then on, samples are missing. Reserved in kernels. */
	uint64_t hdr_counts_lost;
	pfm_smpl_source_t hdr_source; /* how overflows are found. Reserved in kernels. */
	/* Number, from 1, of the sample that follows the last gap in the buffer (see
	 * hdr_source.gaps). That sample may not have been taken yet. 0: there is no gap. Reserved
	 * in kernels. */
	uint64_t hdr_gap;
	uint64_t hdr_reserved[2];
	uint32_t hdr_tag; /* PFM_DFL_SMPL_TAG. Reserved in kernels. */
	uint32_t hdr_reserved1;
} pfm_dfl_smpl_hdr_t;

typedef struct pfm_dfl_smpl_entry {
	uint32_t pid; /* thread (tid), as in kernels; the process is tgid */
	uint16_t ovfl_pmd;
	uint16_t ovfl_count; /* overflows of this sample: 1 without COMPACT. Reserved in kernels. */
	uint64_t last_reset_val;
	uint64_t ip;
	uint64_t tstamp; /* CLOCK_MONOTONIC, ns */
	uint16_t cpu;
	uint16_t set;
	uint32_t tgid;
} pfm_dfl_smpl_entry_t;

#endif
