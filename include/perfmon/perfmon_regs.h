/* SPDX-License-Identifier: MIT */
/* What 2.2 and 2.6 to 2.81 have in common: registers, load, start, and the calls for them. */
#ifndef PERFMON_REGS_H
#define PERFMON_REGS_H

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_pmc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What libpfm has its calls return, and bits of an element of a bit vector */
typedef int os_err_t;
#define PFM_BPL (sizeof(uint64_t) << 3)

#define PFM_FL_OVFL_NO_MSG 0x80 /* no messages of overflow */
/* Until 2.6. Refused (EINVAL): see perfmonfs/live.h for what there is */
#define PFM_FL_MAP_SETS 0x10

#define PFM_REGFL_OVFL_NOTIFY 0x1 /* PMD: its overflow is notified */
#define PFM_REGFL_RANDOM      0x2 /* PMD: its reset values are randomized */
#define PFM_REGFL_NO_EMUL64   0x4 /* PMC: no 64-bit emulation of its PMD */

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
