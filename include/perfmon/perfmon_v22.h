/* SPDX-License-Identifier: MIT */
/*
 * perfmon2 2.2 of 2006: pfm_create_context() has three arguments, names the format by UUID, and
 * returns the descriptor in ctx_fd. Calls that differ from 2.81 have different symbols.
 *
 * set_act_duration is in ns, as in later kernels; kernels with 2.2 had cycles.
 */
#ifndef PERFMON_V22_H
#define PERFMON_V22_H

#ifndef PERFMON_ABI
#define PERFMON_ABI 202
#elif PERFMON_ABI != 202
#error "a source file has one version of perfmon2: this is 2.2"
#endif

#define PFM_VERSION_MAJ 2U
#define PFM_VERSION_MIN 2U

#include <perfmon/perfmon_regs.h>

#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned char pfm_uuid_t[16];

typedef struct pfarg_ctx {
	pfm_uuid_t ctx_smpl_buf_id; /* all 0 for none */
	uint32_t ctx_flags;
	int32_t ctx_fd;             /* output */
	uint64_t ctx_smpl_buf_size; /* output: bytes to map */
	uint64_t ctx_reserved3[12];
} pfarg_ctx_t;

#define PFM_SETFL_EXPL_NEXT 0x04 /* set_id_next is the next set */
#define PFM_SETFL_EXCL_IDLE 0x08 /* system-wide: EINVAL; threads: no effect */

typedef struct pfarg_setdesc {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	uint32_t set_timeout; /* us; output: the effective one */
	uint32_t set_reserved1;
	uint64_t set_mmap_offset; /* output: 0 */
	uint64_t reserved[5];
} pfarg_setdesc_t;

typedef struct pfarg_setinfo {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	uint64_t set_ovfl_pmds[PFM_PMD_BV];
	uint64_t set_runs;
	uint32_t set_timeout; /* us left */
	uint32_t set_reserved1;
	uint64_t set_act_duration; /* ns */
	uint64_t set_mmap_offset;  /* 0 */
	uint64_t set_avail_pmcs[PFM_PMC_BV];
	uint64_t set_avail_pmds[PFM_PMD_BV];
	uint64_t reserved[4];
} pfarg_setinfo_t;

typedef struct {
	uint32_t msg_type;
	uint32_t msg_ovfl_pid;
	uint64_t msg_ovfl_pmds[4];
	uint16_t msg_active_set;
	uint16_t msg_ovfl_cpu;
	uint32_t msg_ovfl_tid;
	uint64_t msg_ovfl_ip;
} pfm_ovfl_msg_t;

typedef struct {
	uint32_t msg_type;
	uint32_t msg_reserved[3];
} pfm_end_msg_t;

typedef union {
	uint32_t type;
	pfm_ovfl_msg_t pfm_ovfl_msg;
	pfm_end_msg_t pfm_end_msg;
} pfm_msg_t;

int pfm_create_context(pfarg_ctx_t *ctx, void *smpl_arg, size_t smpl_size) __asm__(
	"pfm_v22_create_context");
int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count) __asm__("pfm_v22_create_evtsets");
int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count) __asm__("pfm_v22_delete_evtsets");
int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count) __asm__(
	"pfm_v22_getinfo_evtsets");

/*
 * Like read(2), except that a context returns one pfm_msg_t. If a source file has members or C++
 * functions named read, define PERFMON_NO_READ before this header, and call this function for
 * contexts.
 */
ssize_t pfm_v22_read(int fd, void *buf, size_t size);
#ifndef PERFMON_NO_READ
#define read pfm_v22_read
#endif

#ifdef __cplusplus
}
#endif

#endif
