// SPDX-License-Identifier: MIT
/* Structures of 2.6 to 2.81, field by field. */
#define PERFMON_ABI 281
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfarg_msg_t msg_t;
#define NO_EMUL64 PFM_REGFL_NO_EMUL64
#define TARGET    CPU
#include "tests/lib/fields_calls.h"

#include "tests/lib/fields_sets.h"

static int make(unsigned flags)
{
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	ctx.ctx_flags = flags;
	return FD(pfm_create_context(&ctx, NULL, NULL, 0));
}

static int make_sampling(size_t size)
{
	char name[] = PFM_DFL_SMPL_NAME;
	pfm_dfl_smpl_arg_t arg = {.buf_size = size, .buf_flags = PFM_DFL_SMPL_IIP_HDR};
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	return FD(pfm_create_context(&ctx, name, &arg, sizeof(arg)));
}

int main(void)
{
	fields();
	fields_of_sets();
	return 0;
}
