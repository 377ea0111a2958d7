/* SPDX-License-Identifier: MIT */
/*
 * The revision of perfmon2 that was proposed to Linux in July 2008 ("perfmon2 syscall interface
 * rationale v2", section 10): flags and further arguments instead of structures, sizes instead
 * of counts, restart as a flag of pfm_start().
 *
 * It does not define the target of pfm_load_context(). Here it is the third argument, as in the
 * later pfm_attach() of 3.0.
 */
#ifndef PERFMON_R2008_H
#define PERFMON_R2008_H

#ifndef PERFMON_ABI
#define PERFMON_ABI 2008
#elif PERFMON_ABI != 2008
#error "a source file has one version of perfmon2: this is the revision of 2008"
#endif

#define PFM_VERSION_MAJ 2U
#define PFM_VERSION_MIN 90U

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_pmc.h>
#include <perfmon/perfmon_sets.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_FL_SMPL_FMT    0x04 /* three more arguments select a sampling format */
#define PFM_FL_OVFL_NO_MSG 0x08 /* no messages for overflows */

#define PFM_PMCFL_NO_EMUL64 0x1

#define PFM_PMDFL_SMPL        0x1 /* use reg_smpl_pmds and reg_smpl_eventid */
#define PFM_PMDFL_SWITCH      0x2 /* use reg_ovfl_switch_cnt */
#define PFM_PMDFL_OVFL_NOTIFY 0x4
#define PFM_PMDFL_RANDOM      0x8 /* use reg_random_mask */

#define PFM_STARTFL_SET     0x1 /* one more argument: the set to start in */
#define PFM_STARTFL_RESTART 0x2 /* restart after a notification */

typedef struct pfarg_pmd {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_long_reset;
	uint64_t reg_short_reset;
	uint64_t reg_last_reset_val; /* output */
	uint64_t reg_ovfl_switch_cnt;
	uint64_t reg_reset_pmds[PFM_PMD_BV];
	uint64_t reg_smpl_pmds[PFM_PMD_BV];
	uint64_t reg_smpl_eventid;
	uint64_t reg_random_mask;
	uint32_t reg_reserved2[8];
} pfarg_pmd_t;

/* Further arguments with PFM_FL_SMPL_FMT: char *smpl_name, void *smpl_arg, size_t arg_size. */
int pfm_create_context(int flags, ...) __asm__("pfm_r2008_create_context");
int pfm_write_pmcs(int fd, struct pfarg_pmc *pmcs, size_t size) __asm__("pfm_r2008_write_pmcs");
int pfm_write_pmds(int fd, struct pfarg_pmd *pmds, size_t size) __asm__("pfm_r2008_write_pmds");
int pfm_read_pmds(int fd, struct pfarg_pmd *pmds, size_t size) __asm__("pfm_r2008_read_pmds");
/* Further argument: int target, a thread, or the CPU of a system-wide context. */
int pfm_load_context(int fd, int flags, ...) __asm__("pfm_r2008_load_context");
int pfm_unload_context(int fd, int flags, ...) __asm__("pfm_r2008_unload_context");
/* Further argument with PFM_STARTFL_SET: int set. */
int pfm_start(int fd, int flags, ...) __asm__("pfm_r2008_start");
int pfm_stop(int fd, int flags, ...) __asm__("pfm_r2008_stop");
int pfm_create_evtsets(int fd, struct pfarg_setdesc *sets, size_t size) __asm__(
	"pfm_r2008_create_evtsets");
int pfm_delete_evtsets(int fd, struct pfarg_setdesc *sets, size_t size) __asm__(
	"pfm_r2008_delete_evtsets");
int pfm_getinfo_evtsets(int fd, struct pfarg_setinfo *info, size_t size) __asm__(
	"pfm_r2008_getinfo_evtsets");

#ifdef __cplusplus
}
#endif

#endif
