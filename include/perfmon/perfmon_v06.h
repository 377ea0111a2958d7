/* SPDX-License-Identifier: MIT */
/*
 * The perfmon2 interface specification, HPL-2004-200(R.1), v0.6: perfmonctl() with all commands of
 * table 3.1 and their structures, and the calls of section 6.1. The specification assigns no
 * numbers. Commands have the numbers of 2.0; the numbers of other commands and of register types
 * are chosen here.
 */
#ifndef PERFMON_V06_H
#define PERFMON_V06_H

#ifndef PERFMON_ABI
#define PERFMON_ABI 6
#elif PERFMON_ABI != 6
#error "a source file has one version of perfmon2: this is the specification's, v0.6"
#endif

#define PFM_VERSION_MAJ 0U
#define PFM_VERSION_MIN 6U

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_ctl.h>

#include <sched.h> /* struct timespec, also in C89 */

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_CREATE_EVTSETS  0x12
#define PFM_DELETE_EVTSETS  0x13
#define PFM_GETINFO_EVTSETS 0x14
#define PFM_GETINFO_PMCS    0x15
#define PFM_GETINFO_PMDS    0x16
#define PFM_SET_CONFIG      0x17
#define PFM_GET_CONFIG      0x18

#define PFM_MAX_PMC_BITVECTOR PFM_PMC_BV
#define PFM_MAX_PMD_BITVECTOR PFM_PMD_BV

typedef struct pfarg_ctx {
	uint32_t ctx_flags;
	int ctx_fd; /* output */
	/* all 0 for none; the format's argument follows this structure */
	pfm_uuid_t ctx_smpl_buf_id;
	size_t ctx_smpl_buf_size; /* output: bytes to map */
} pfarg_ctx_t;

#define PFM_REGFL_OVFL_NOTIFY 0x1 /* PMC: notify overflows of its PMD */
#define PFM_REGFL_RANDOM      0x2 /* PMC: randomize reset values of its PMD */
/* 6.2.1, PMC: no 64-bit emulation of its PMD */
#define PFM_REGFL_NO_64BIT_EMUL 0x4
/* 6.2.2, PFM_READ_PMDS: long reset of the PMD, and of the PMDs in its reset list, after reading */
#define PFM_REGFL_READ_RESET 0x8

typedef struct pfarg_pmc {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_reset_pmds[PFM_MAX_PMD_BITVECTOR];
	uint64_t reg_smpl_pmds[PFM_MAX_PMD_BITVECTOR];
	uint64_t reg_smpl_eventid;
} pfarg_pmc_t;

typedef struct pfarg_pmd {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_long_reset;
	uint64_t reg_short_reset;
	uint64_t reg_last_reset_val; /* output */
	uint64_t reg_ovflsw_thres;
	uint64_t reg_random_mask;
	uint32_t reg_random_seed;
} pfarg_pmd_t;

typedef struct pfarg_load {
	pid_t load_pid; /* the caller's tid if the context is system-wide */
	uint16_t load_set;
} pfarg_load_t;

typedef struct pfarg_start {
	uint16_t start_set;
} pfarg_start_t;

#define PFM_SETFL_EXPL_NEXT 0x04 /* set_id_next is the next set */
#define PFM_SETFL_EXCL_IDLE 0x08 /* system-wide: EINVAL; threads: no effect */

typedef struct pfarg_setdesc {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	struct timespec set_timeout;
} pfarg_setdesc_t;

typedef struct pfarg_setinfo {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	uint64_t set_switch_pmds[PFM_MAX_PMD_BITVECTOR];
	uint64_t set_runs;
	struct timespec set_timeout;
	struct timespec set_act_duration;
} pfarg_setinfo_t;

/* Types of registers. perfmonfs has MSR, NONE for virtual PMDs and, on the simulated Itanium 2,
 * PMC, PMD, IBR and DBR. */
#define PFM_REG_TYPE_NONE 0
#define PFM_REG_TYPE_PMC  1
#define PFM_REG_TYPE_PMD  2
#define PFM_REG_TYPE_MSR  3
#define PFM_REG_TYPE_SPR  4
#define PFM_REG_TYPE_IBR  5
#define PFM_REG_TYPE_DBR  6

#define PFM_REG_IDX_NONE ((size_t)-1)

typedef struct pfarg_pmcinfo {
	uint16_t reg_num;
	uint16_t reg_type;
	uint32_t reg_flags;
	uint64_t reg_def_value;
	uint64_t reg_rsvd_mask;
	size_t reg_index;
} pfarg_pmcinfo_t;

typedef pfarg_pmcinfo_t pfarg_pmdinfo_t;

#define PFM_GROUP_ANY  ((gid_t)-1)
#define PFM_GROUP_NONE ((gid_t)-2) /* only root; only in perfmonfs */

typedef struct pfarg_config {
	uint32_t cf_version; /* PFM_VERSION */
	uint32_t cf_flags;
	uint64_t cf_impl_pmcs[PFM_MAX_PMC_BITVECTOR];
	uint64_t cf_impl_pmds[PFM_MAX_PMD_BITVECTOR];
	gid_t cf_sys_gid;
	gid_t cf_thread_gid;
	size_t cf_arg_size_max;
	size_t cf_smpl_buf_size_max;
	uint16_t cf_counter_width;
} pfarg_config_t;

typedef struct {
	uint32_t msg_type;
	uint16_t msg_active_set;
	uint64_t msg_ovfl_pmds[PFM_MAX_PMD_BITVECTOR];
} pfm_ovfl_msg_t;

typedef union {
	uint32_t msg_type;
	pfm_ovfl_msg_t pfm_ovfl_msg;
} pfm_msg_t;

int perfmonctl(int fd, int cmd, void *arg, int narg) __asm__("pfm_v06_perfmonctl");

/*
 * Like read(2), except that a context returns one pfm_msg_t. If a source file has members or C++
 * functions named read, define PERFMON_NO_READ before this header, and call this function for
 * contexts.
 */
ssize_t pfm_v06_read(int fd, void *buf, size_t size);
#ifndef PERFMON_NO_READ
#define read pfm_v06_read
#endif

/* ---- section 6.1 ---- */
static __inline__ int pfm_create_context(pfarg_ctx_t *ctx, int n)
{
	return perfmonctl(0, PFM_CREATE_CONTEXT, ctx, n);
}

static __inline__ int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int n)
{
	return perfmonctl(fd, PFM_WRITE_PMCS, pmcs, n);
}

static __inline__ int pfm_getinfo_pmcs(pfarg_pmcinfo_t *pmcs, int n)
{
	return perfmonctl(0, PFM_GETINFO_PMCS, pmcs, n);
}

static __inline__ int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int n)
{
	return perfmonctl(fd, PFM_WRITE_PMDS, pmds, n);
}

static __inline__ int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int n)
{
	return perfmonctl(fd, PFM_READ_PMDS, pmds, n);
}

static __inline__ int pfm_getinfo_pmds(pfarg_pmdinfo_t *pmds, int n)
{
	return perfmonctl(0, PFM_GETINFO_PMDS, pmds, n);
}

static __inline__ int pfm_start(int fd, pfarg_start_t *start)
{
	return perfmonctl(fd, PFM_START, start, start ? 1 : 0);
}

static __inline__ int pfm_stop(int fd)
{
	return perfmonctl(fd, PFM_STOP, NULL, 0);
}

static __inline__ int pfm_load_context(int fd, pfarg_load_t *load)
{
	return perfmonctl(fd, PFM_LOAD_CONTEXT, load, 1);
}

static __inline__ int pfm_unload_context(int fd)
{
	return perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0);
}

static __inline__ int pfm_restart(int fd)
{
	return perfmonctl(fd, PFM_RESTART, NULL, 0);
}

static __inline__ int pfm_create_evtsets(int fd, pfarg_setdesc_t *setdesc, int n)
{
	return perfmonctl(fd, PFM_CREATE_EVTSETS, setdesc, n);
}

static __inline__ int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setdesc, int n)
{
	return perfmonctl(fd, PFM_DELETE_EVTSETS, setdesc, n);
}

static __inline__ int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *setinfo, int n)
{
	return perfmonctl(fd, PFM_GETINFO_EVTSETS, setinfo, n);
}

static __inline__ int pfm_get_config(pfarg_config_t *config)
{
	return perfmonctl(0, PFM_GET_CONFIG, config, 1);
}

static __inline__ int pfm_set_config(pfarg_config_t *config)
{
	return perfmonctl(0, PFM_SET_CONFIG, config, 1);
}

#ifdef __cplusplus
}
#endif

#endif
