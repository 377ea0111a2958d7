/* SPDX-License-Identifier: MIT */
/*
 * The sampling format "default" for programs with perfmonctl(2), with the names of 2.0 or of the
 * specification (3.6). The buffer has the layout of 2.6 to 2.81 in all versions, so offsets and
 * widths of fields in the header and in entries differ from 2.0 on Itanium.
 */
#ifndef PERFMON_DEFAULT_SMPL_H
#define PERFMON_DEFAULT_SMPL_H

#include <perfmon/perfmon.h>

#include <perfmonfs/smpl_dfl.h>

#if PERFMON_ABI != 200 && PERFMON_ABI != 6
#error "this header is for perfmonctl(): include perfmon/perfmon_dfl_smpl.h"
#endif

#define PFM_DEFAULT_SMPL_UUID        PFM_DFL_SMPL_UUID
#define PFM_DEFAULT_SMPL_VERSION_MAJ PFM_DFL_SMPL_VERSION_MAJ
#define PFM_DEFAULT_SMPL_VERSION_MIN PFM_DFL_SMPL_VERSION_MIN
#define PFM_DEFAULT_SMPL_VERSION     PFM_DFL_SMPL_VERSION

/* Follows the context's structure in PFM_CREATE_CONTEXT. */
#if PERFMON_ABI == 200
typedef struct pfm_default_smpl_arg {
	unsigned long buf_size; /* bytes, with the header */
	unsigned int flags;
	unsigned int res1;
	unsigned long reserved[2];
} pfm_default_smpl_arg_t;

typedef struct pfm_default_smpl_ctx_arg {
	pfarg_context_t ctx_arg;
	pfm_default_smpl_arg_t buf_arg;
} pfm_default_smpl_ctx_arg_t;
#else
typedef struct pfm_default_smpl_arg {
	size_t buf_size; /* bytes, with the header */
	uint32_t buf_flags;
} pfm_default_smpl_arg_t;
#endif

typedef struct pfm_default_smpl_hdr {
	uint64_t hdr_count;     /* samples in the buffer */
	uint64_t hdr_cur_offs;  /* offset of the next sample */
	uint64_t hdr_overflows; /* how often the buffer became full */
	uint64_t hdr_buf_size;
	uint64_t hdr_min_buf_space;
	uint32_t hdr_version;
	uint32_t hdr_flags;
	uint64_t hdr_lost;
	uint64_t hdr_reserved[9];
} pfm_default_smpl_hdr_t;

typedef struct pfm_default_smpl_entry {
#if PERFMON_ABI == 200
	int pid; /* thread */
#else
	uint32_t tid;
#endif
	uint16_t ovfl_pmd;
	uint16_t ovfl_count;
	uint64_t last_reset_val;
	uint64_t ip;
	uint64_t tstamp;
	uint16_t cpu;
	uint16_t set;
#if PERFMON_ABI == 200
	int tgid;
#else
	uint32_t pid; /* process */
#endif
} pfm_default_smpl_entry_t;

/* A buffer of this size is large enough on any PMU. */
#define PFM_DEFAULT_MAX_PMDS PFM_MAX_PMDS
#define PFM_DEFAULT_MAX_ENTRY_SIZE                                                                 \
	(sizeof(pfm_default_smpl_entry_t) + sizeof(uint64_t) * PFM_DEFAULT_MAX_PMDS)
#define PFM_DEFAULT_SMPL_MIN_BUF_SIZE (sizeof(pfm_default_smpl_hdr_t) + PFM_DEFAULT_MAX_ENTRY_SIZE)

#endif
