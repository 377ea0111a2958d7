/* SPDX-License-Identifier: MIT */
/*
 * perfmon2 2.0 of 2004, with the numbers and structures of perfmonctl(2) in Itanium kernels and
 * libpfm 3.0. There is only event set 0.
 */
#ifndef PERFMON_COMPAT_H
#define PERFMON_COMPAT_H

#ifndef PERFMON_ABI
#define PERFMON_ABI 200
#elif PERFMON_ABI != 200
#error "a source file has one version of perfmon2: this is 2.0"
#endif

#define PFM_VERSION_MAJ 2U
#define PFM_VERSION_MIN 0U

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_ctl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Commands only in 2.0 */
#define PFM_GET_FEATURES      0x0c
#define PFM_DEBUG             0x0d /* fails with EINVAL; for debugging the kernel */
#define PFM_GET_PMC_RESET_VAL 0x0f
/* Itanium's debug registers; this and the next fail with EINVAL */
#define PFM_WRITE_IBRS 0x20
#define PFM_WRITE_DBRS 0x21

/* Commands that are obsolete in 2.0. They fail with EINVAL. */
#define PFM_ENABLE            0x06
#define PFM_DISABLE           0x07
#define PFM_DESTROY_CONTEXT   0x09
#define PFM_PROTECT_CONTEXT   0x0b
#define PFM_UNPROTECT_CONTEXT 0x0e

#define PFM_SETFL_EXCL_IDLE 0x01 /* flag of event sets, which no command creates */

#define PMU_MAX_PMCS      256
#define PMU_MAX_PMDS      256
#define PMU_FIRST_COUNTER 0 /* 4 on Itanium */

#define PFM_REGFL_OVFL_NOTIFY 0x1 /* PMC: notify overflows of its PMD */
#define PFM_REGFL_RANDOM      0x2 /* PMC: randomize reset values of its PMD */

typedef struct pfarg_context {
	/* all 0 for none; the format's argument follows this structure */
	pfm_uuid_t ctx_smpl_buf_id;
	unsigned long ctx_flags;
	unsigned short ctx_nextra_sets;
	unsigned short ctx_reserved1;
	int ctx_fd;           /* output */
	void *ctx_smpl_vaddr; /* output: address of the mapped buffer, or NULL */
	unsigned long ctx_reserved2[11];
} pfarg_context_t;

/* A PMC or a PMD. "PMC" after a field means that only PMCs have it. */
typedef struct pfarg_reg {
	unsigned int reg_num;
	unsigned short reg_set;
	unsigned short reg_reserved1;
	unsigned long reg_value;
	unsigned long reg_flags; /* PMC */
	unsigned long reg_long_reset;
	unsigned long reg_short_reset;
	unsigned long reg_reset_pmds[4]; /* PMC */
	unsigned long reg_random_seed;
	unsigned long reg_random_mask;
	unsigned long reg_last_reset_val; /* output */
	unsigned long reg_smpl_pmds[4];   /* PMC */
	unsigned long reg_smpl_eventid;   /* PMC */
	unsigned long reg_ovfl_switch_cnt;
	unsigned long reg_reserved2[2];
} pfarg_reg_t;

/* Itanium's debug registers */
typedef struct {
	unsigned int dbreg_num;
	unsigned short dbreg_set;
	unsigned short dbreg_reserved1;
	unsigned long dbreg_value;
	unsigned long dbreg_flags;
	unsigned long dbreg_reserved2[1];
} pfarg_dbreg_t;

typedef struct pfarg_load {
	pid_t load_pid; /* the caller's tid if the context is system-wide */
	unsigned short load_set;
	unsigned short load_reserved1;
	unsigned long load_reserved2[3];
} pfarg_load_t;

typedef struct pfarg_start {
	unsigned short start_set;
	unsigned short start_reserved1;
	unsigned int start_reserved2;
	unsigned long start_reserved3[3];
} pfarg_start_t;

typedef struct pfarg_features {
	unsigned int ft_version; /* PFM_VERSION */
	unsigned int ft_reserved;
	unsigned long reserved[4];
} pfarg_features_t;

typedef struct {
	int msg_type;
	int msg_ctx_fd;
	unsigned long msg_ovfl_pmds[4];
	unsigned short msg_active_set;
	unsigned short msg_reserved1;
	unsigned int msg_reserved2;
	unsigned long msg_tstamp; /* 0: not supported */
} pfm_ovfl_msg_t;

typedef struct {
	int msg_type;
	int msg_ctx_fd;
	unsigned long msg_tstamp;
} pfm_end_msg_t;

typedef struct {
	int msg_type;
	int msg_ctx_fd;
	unsigned long msg_tstamp;
} pfm_gen_msg_t;

typedef union {
	unsigned int type;
	pfm_ovfl_msg_t pfm_ovfl_msg;
	pfm_end_msg_t pfm_end_msg;
	pfm_gen_msg_t pfm_gen_msg;
} pfm_msg_t;

int perfmonctl(int fd, int cmd, void *arg, int narg);

/*
 * Like read(2), except that a context returns one pfm_msg_t. If a source file has members or C++
 * functions named read, define PERFMON_NO_READ before this header, and call this function for
 * contexts.
 */
ssize_t pfm_v20_read(int fd, void *buf, size_t size);
#ifndef PERFMON_NO_READ
#define read pfm_v20_read
#endif

#ifdef __cplusplus
}
#endif

#endif
