/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "default" (specification 3.6), laid out as in Linux 2.6 kernels with
 * perfmon2: a header, then samples one after the other, each an entry and its body: the values of
 * the PMDs in smpl_pmds of the PMD that overflowed, in increasing order, 64 bits each.
 *
 * The first hdr_count samples are whole at any time; they stay until restart.
 */
#ifndef PERFMONFS_SMPL_DFL_H
#define PERFMONFS_SMPL_DFL_H

#include <stdint.h>

#define PFM_DFL_SMPL_NAME "default"
#define PFM_DFL_SMPL_UUID                                                                          \
	{                                                                                          \
		0x4d, 0x72, 0xbe, 0xc0, 0x06, 0x64, 0x41, 0x43, 0x82, 0xb4, 0xd3, 0xfd, 0x27,      \
			0x24, 0x3c, 0x97                                                           \
	}
#define PFM_DFL_SMPL_VERSION_MAJ 1U
#define PFM_DFL_SMPL_VERSION_MIN 0U
#define PFM_DFL_SMPL_VERSION     ((PFM_DFL_SMPL_VERSION_MAJ << 16) | PFM_DFL_SMPL_VERSION_MIN)

/*
 * buf_flags (3.6.2; kernels never had them). Either leaves no place for ovfl_count: a sample is
 * then repeated for each overflow that it stands for.
 */
enum {
	PFM_DFL_SMPL_NO_HDR = 1, /* samples are their body alone */
	PFM_DFL_SMPL_IIP_HDR = 2 /* the entry is the ip alone, 64 bits */
};

typedef struct pfm_dfl_smpl_arg {
	uint64_t buf_size; /* bytes, with the header */
	uint32_t buf_flags;
	uint32_t num_pmds; /* filled in by fmt_validate, for fmt_init */
	uint64_t reserved[6];
} pfm_dfl_smpl_arg_t;

typedef struct pfm_dfl_smpl_hdr {
	uint64_t hdr_count;         /* samples in the buffer */
	uint64_t hdr_cur_offs;      /* where the next one goes, from the start of the buffer */
	uint64_t hdr_overflows;     /* how often the buffer has become full */
	uint64_t hdr_buf_size;      /* bytes, with this header */
	uint64_t hdr_min_buf_space; /* the largest sample; the buffer is full when less is left */
	uint32_t hdr_version;       /* PFM_DFL_SMPL_VERSION */
	uint32_t hdr_buf_flags;
	/* Of perfmonfs; reserved in kernels: */
	uint64_t hdr_lost; /* overflows that found the buffer full; restart does not reset it */
	uint64_t hdr_reserved[9];
} pfm_dfl_smpl_hdr_t;

typedef struct pfm_dfl_smpl_entry {
	uint32_t pid; /* of the thread (tid), as in kernels; the process is tgid */
	uint16_t ovfl_pmd;
	uint16_t ovfl_count; /* of perfmonfs: how many overflows the sample stands for, 1 or more */
	uint64_t last_reset_val;
	uint64_t ip;
	uint64_t tstamp; /* CLOCK_MONOTONIC, ns */
	uint16_t cpu;
	uint16_t set;
	uint32_t tgid;
} pfm_dfl_smpl_entry_t;

#endif
