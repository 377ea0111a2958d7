// SPDX-License-Identifier: MIT
/* Structures of the specification, field by field. */
#define PERFMON_ABI 6
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfm_msg_t msg_t;
#define NOTICE(pmc, pmd) (pmc)
#define NO_EMUL64        PFM_REGFL_NO_64BIT_EMUL
#define SWITCH_CNT(pmd)  (pmd).reg_ovflsw_thres
#define TARGET           gettid()
#include "tests/lib/fields_calls.h"

#define TIME(ns)       ((struct timespec){(time_t)((ns) / 1000000000), (long)((ns) % 1000000000)})
#define NS(time)       ((uint64_t)(time).tv_sec * 1000000000 + (uint64_t)(time).tv_nsec)
#define DURATION(time) NS(time)
#define SWITCHED(info) (info).set_switch_pmds
#include "tests/lib/fields_sets.h"

static int make(unsigned flags)
{
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	ctx.ctx_flags = flags;
	OK(pfm_create_context(&ctx, 1));
	return ctx.ctx_fd;
}

static int make_sampling(size_t size)
{
	struct {
		pfarg_ctx_t ctx;
		pfm_default_smpl_arg_t arg;
	} both;
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;

	CLEAR(both);
	memcpy(both.ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.arg.buf_size = size;
	both.arg.buf_flags = PFM_DFL_SMPL_IIP_HDR;
	OK(pfm_create_context(&both.ctx, 1));
	IS(both.ctx.ctx_smpl_buf_size, (long long)size);
	return both.ctx.ctx_fd;
}

int main(void)
{
	fields();
	fields_of_sets();
	return 0;
}
