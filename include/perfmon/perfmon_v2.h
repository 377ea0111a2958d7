/* SPDX-License-Identifier: MIT */
/*
 * perfmon2 2.6 to 2.81: twelve calls (pfm_create_context(2) and so on). Structures are the same in
 * 32-bit and 64-bit programs; what is reserved must be 0.
 */
#ifndef PERFMON_V2_H
#define PERFMON_V2_H

#ifndef PERFMON_ABI
#define PERFMON_ABI 281
#elif PERFMON_ABI != 281
#error "a source file has one version of perfmon2: this is 2.6 to 2.81"
#endif

#define PFM_VERSION_MAJ 2U
#define PFM_VERSION_MIN 81U

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_regs.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pfarg_ctx {
	uint32_t ctx_flags; /* PFM_FL_* */
	uint32_t ctx_reserved1;
	uint64_t ctx_reserved2[7];
} pfarg_ctx_t;

typedef struct pfarg_setdesc {
	uint16_t set_id;
	uint16_t set_reserved1;
	uint32_t set_flags;   /* PFM_SETFL_* */
	uint64_t set_timeout; /* ns; out: the effective one */
	uint64_t set_reserved2[6];
} pfarg_setdesc_t;

typedef struct pfarg_setinfo {
	uint16_t set_id;
	uint16_t set_reserved1;
	uint32_t set_flags;
	uint64_t set_ovfl_pmds[PFM_PMD_BV]; /* PMDs whose overflow switched from it last */
	uint64_t set_runs;
	uint64_t set_timeout;      /* ns that are left */
	uint64_t set_act_duration; /* ns */
	uint64_t set_avail_pmcs[PFM_PMC_BV];
	uint64_t set_avail_pmds[PFM_PMD_BV];
	uint64_t set_reserved3[6];
} pfarg_setinfo_t;

/* What read(2) of the descriptor gives */
typedef struct pfarg_ovfl_msg {
	uint32_t msg_type; /* PFM_MSG_OVFL */
	uint32_t msg_ovfl_pid;
	uint16_t msg_active_set;
	uint16_t msg_ovfl_cpu;
	uint32_t msg_ovfl_tid;
	uint64_t msg_ovfl_ip;
	uint64_t msg_ovfl_pmds[PFM_PMD_BV];
} pfarg_ovfl_msg_t;

typedef union {
	uint32_t type;
	pfarg_ovfl_msg_t pfm_ovfl_msg;
} pfarg_msg_t;

int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size);
int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count);
int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count);
int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count);

#ifdef __cplusplus
}
#endif

#endif
