// SPDX-License-Identifier: MIT
/* Structures of 2.2, field by field. */
#define PERFMON_ABI 202
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfm_msg_t msg_t;
#define NO_EMUL64 PFM_REGFL_NO_EMUL64
#define TARGET    CPU
#include "tests/lib/fields_calls.h"

/* Timeouts are microseconds, durations are not. */
#define TIME(ns)     ((uint32_t)((ns) / 1000))
#define NS(time)     ((uint64_t)(time)*1000)
#define ROUND_UP(ns) (((ns) + 999) / 1000 * 1000)
#include "tests/lib/fields_sets.h"

static int make(unsigned flags)
{
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	ctx.ctx_flags = flags;
	OK(pfm_create_context(&ctx, NULL, 0));
	return ctx.ctx_fd;
}

static int make_sampling(size_t size)
{
	pfm_dfl_smpl_arg_t arg = {.buf_size = size, .buf_flags = PFM_DFL_SMPL_IIP_HDR};
	const pfm_uuid_t dfl = PFM_DFL_SMPL_UUID;
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	memcpy(ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	OK(pfm_create_context(&ctx, &arg, sizeof(arg)));
	IS(ctx.ctx_smpl_buf_size, (long long)size);
	return ctx.ctx_fd;
}

int main(void)
{
	fields();
	fields_of_sets();
	return 0;
}
