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

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_FL_OVFL_NO_MSG 0x80 /* no messages of overflow */

typedef struct pfarg_ctx {
	uint32_t ctx_flags; /* PFM_FL_* */
	uint32_t ctx_reserved1;
	uint64_t ctx_reserved2[7];
} pfarg_ctx_t;

#define PFM_REGFL_OVFL_NOTIFY 0x1 /* PMD: its overflow is notified */
#define PFM_REGFL_RANDOM      0x2 /* PMD: its reset values are randomized */
#define PFM_REGFL_NO_EMUL64   0x4 /* PMC: no 64-bit emulation of its PMD */

typedef struct pfarg_pmc {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_reserved2[4];
} pfarg_pmc_t;

typedef struct pfarg_pmd {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_long_reset;      /* reset value after a notified overflow */
	uint64_t reg_short_reset;     /* after another one */
	uint64_t reg_last_reset_val;  /* out: the value last loaded */
	uint64_t reg_ovfl_switch_cnt; /* overflows until the set is switched from */
	uint64_t reg_reset_pmds[PFM_PMD_BV];
	uint64_t reg_smpl_pmds[PFM_PMD_BV];
	uint64_t reg_smpl_eventid;
	uint64_t reg_random_mask;
	uint32_t reg_random_seed;
	uint32_t reg_reserved2[7];
} pfarg_pmd_t;

typedef struct pfarg_load {
	uint32_t load_pid; /* a thread; a CPU, if the context is system-wide */
	uint16_t load_set;
	uint16_t load_reserved1;
	uint64_t load_reserved2[3];
} pfarg_load_t;

typedef struct pfarg_start {
	uint16_t start_set;
	uint16_t start_reserved1;
	uint32_t start_reserved2;
	uint64_t start_reserved3[3];
} pfarg_start_t;

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

typedef union pfarg_msg {
	uint32_t type;
	pfarg_ovfl_msg_t pfm_ovfl_msg;
} pfarg_msg_t;

int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size);
int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count);
int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count);
int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count);
int pfm_load_context(int fd, pfarg_load_t *load);
int pfm_start(int fd, pfarg_start_t *start);
int pfm_stop(int fd);
int pfm_restart(int fd);
int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count);
int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count);
int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count);
int pfm_unload_context(int fd);

#ifdef __cplusplus
}
#endif

#endif
