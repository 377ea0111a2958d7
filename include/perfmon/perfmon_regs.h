/* SPDX-License-Identifier: MIT */
/* Common to 2.2 and 2.6 to 2.81: structures and calls for registers, load and start. */
#ifndef PERFMON_REGS_H
#define PERFMON_REGS_H

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_pmc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result type of libpfm's calls, and the bits of a word of a bit vector */
typedef int os_err_t;
#define PFM_BPL (sizeof(uint64_t) << 3)

#define PFM_FL_OVFL_NO_MSG 0x80 /* no messages for overflows */
/* Only before 2.6. Fails with EINVAL: use perfmonfs/live.h */
#define PFM_FL_MAP_SETS 0x10

#define PFM_REGFL_OVFL_NOTIFY 0x1 /* PMD: notify its overflow */
#define PFM_REGFL_RANDOM      0x2 /* PMD: randomize its reset values */
#define PFM_REGFL_NO_EMUL64   0x4 /* PMC: no 64-bit emulation of its PMD */

typedef struct pfarg_pmd {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_long_reset;      /* reset value after a notified overflow */
	uint64_t reg_short_reset;     /* reset value after other overflows */
	uint64_t reg_last_reset_val;  /* output: the value loaded last */
	uint64_t reg_ovfl_switch_cnt; /* overflows until a set switch */
	uint64_t reg_reset_pmds[PFM_PMD_BV];
	uint64_t reg_smpl_pmds[PFM_PMD_BV];
	uint64_t reg_smpl_eventid;
	uint64_t reg_random_mask;
	uint32_t reg_random_seed;
	uint32_t reg_reserved2[7];
} pfarg_pmd_t;

typedef struct pfarg_load {
	uint32_t load_pid; /* thread, or CPU of a system-wide context */
	uint16_t load_set;
	uint16_t load_reserved1;
	uint64_t load_reserved2[3];
} pfarg_load_t;

typedef struct pfarg_start {
	uint16_t start_set;
	uint16_t start_reserved1;
	uint32_t start_reserved2;
	uint64_t reserved3[3];
} pfarg_start_t;

int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count);
int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count);
int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count);
int pfm_load_context(int fd, pfarg_load_t *load);
int pfm_start(int fd, pfarg_start_t *start);
int pfm_stop(int fd);
int pfm_restart(int fd);
int pfm_unload_context(int fd);

#ifdef __cplusplus
}
#endif

#endif
