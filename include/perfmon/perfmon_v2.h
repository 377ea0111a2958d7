/* SPDX-License-Identifier: MIT */
/*
 * perfmon2 2.6 to 2.81: twelve calls such as pfm_create_context(2). Structures are the same in
 * 32-bit and 64-bit programs. Reserved fields must be 0.
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
#include <perfmon/perfmon_sets.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pfarg_ctx {
	uint32_t ctx_flags; /* PFM_FL_* */
	uint32_t ctx_reserved1;
	__extension__ union {
		uint64_t ctx_reserved2[7];
		uint64_t ctx_reserved3[7]; /* in headers of libpfm */
	};
} pfarg_ctx_t;

int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size);
int pfm_create_evtsets(int fd, pfarg_setdesc_t *setd, int count);
int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count);
int pfm_delete_evtsets(int fd, pfarg_setdesc_t *setd, int count);

#ifdef __cplusplus
}
#endif

#endif
