// SPDX-License-Identifier: MIT
/* Structures of 2.0, field by field. */
#define PERFMON_ABI 200
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_default_smpl.h>

typedef pfarg_reg_t pmc_t;
typedef pfarg_reg_t pmd_t;
typedef pfm_msg_t msg_t;
#define NOTICE(pmc, pmd) (pmc)
#define NO_EMUL64        0
#define TARGET           gettid()

#define pfm_write_pmcs(fd, pmcs, n)    perfmonctl(fd, PFM_WRITE_PMCS, pmcs, n)
#define pfm_write_pmds(fd, pmds, n)    perfmonctl(fd, PFM_WRITE_PMDS, pmds, n)
#define pfm_read_pmds(fd, pmds, n)     perfmonctl(fd, PFM_READ_PMDS, pmds, n)
#define pfm_load_context(fd, load_arg) perfmonctl(fd, PFM_LOAD_CONTEXT, load_arg, 1)
#define pfm_start(fd, start_arg)       perfmonctl(fd, PFM_START, start_arg, 1)
#define pfm_stop(fd)                   perfmonctl(fd, PFM_STOP, NULL, 0)
#include "tests/lib/fields_calls.h"

static int make(unsigned flags)
{
	pfarg_context_t ctx;

	CLEAR(ctx);
	ctx.ctx_flags = flags;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	return ctx.ctx_fd;
}

static int make_sampling(size_t size)
{
	pfm_default_smpl_ctx_arg_t both;
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;

	CLEAR(both);
	memcpy(both.ctx_arg.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.buf_arg.buf_size = size;
	both.buf_arg.flags = PFM_DFL_SMPL_IIP_HDR;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	return both.ctx_arg.ctx_fd;
}

int main(void)
{
	fields();
	return 0;
}
