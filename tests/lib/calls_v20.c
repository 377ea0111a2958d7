// SPDX-License-Identifier: MIT
/* perfmonctl() of 2.0. */
#include <perfmon/perfmon_compat.h>
#include <perfmon/perfmon_default_smpl.h>

#include <stdlib.h>

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
#define pfm_restart(fd)                perfmonctl(fd, PFM_RESTART, NULL, 0)
#define pfm_unload_context(fd)         perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0)
#include "tests/lib/fields_calls.h"

static int make(unsigned flags)
{
	pfarg_context_t ctx = {.ctx_flags = flags};

	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1));
	IS(ctx.ctx_smpl_vaddr == NULL, 1);
	return ctx.ctx_fd;
}

static int make_sampling(size_t size)
{
	pfm_default_smpl_ctx_arg_t both = {0};
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;

	memcpy(both.ctx_arg.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.buf_arg.buf_size = size;
	both.buf_arg.flags = PFM_DFL_SMPL_IIP_HDR;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	return both.ctx_arg.ctx_fd;
}

static void creating(void)
{
	pfarg_context_t ctx = {0};

	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 0), EINVAL);
	ctx.ctx_flags = 0x40;
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1), EINVAL);
	ctx.ctx_flags = 1UL << 40;
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1), EINVAL);
	ctx.ctx_flags = 0;
	ctx.ctx_nextra_sets = 1;
	FAILS(perfmonctl(0, PFM_CREATE_CONTEXT, &ctx, 1), EINVAL);
	IS(contexts(), 0);
}

/* How many elements each takes, exactly. */
static void numbers(void)
{
	static const int obsolete[] = {PFM_ENABLE, PFM_DISABLE, PFM_DESTROY_CONTEXT,
		PFM_PROTECT_CONTEXT, PFM_UNPROTECT_CONTEXT};
	int fd = make(PFM_FL_SYSTEM_WIDE);
	char arg[256] = {0};

	FAILS(perfmonctl(fd, PFM_STOP, NULL, 1), EINVAL);
	for (size_t i = 0; i < sizeof(obsolete) / sizeof(obsolete[0]); i++)
		FAILS(perfmonctl(fd, obsolete[i], NULL, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_STOP, NULL, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_RESTART, NULL, 1), EINVAL);
	FAILS(perfmonctl(fd, PFM_RESTART, NULL, 0), EBUSY);
	FAILS(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 1), EINVAL);
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, arg, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, arg, 2), EINVAL);
	FAILS(perfmonctl(fd, PFM_START, arg, 2), EINVAL);
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, arg, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, arg, -1), EINVAL);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, arg, 1 << 20), E2BIG);
	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_WRITE_PMDS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_LOAD_CONTEXT, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_START, NOWHERE, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_START, NULL, 1), EFAULT);
	FAILS(perfmonctl(fd, PFM_GET_FEATURES, arg, 0), EINVAL);
	FAILS(perfmonctl(fd, PFM_DEBUG, arg, 1), EINVAL);
	FAILS(perfmonctl(fd, 0x20, arg, 1), EINVAL); /* Itanium's debug registers */
	FAILS(perfmonctl(fd, PFM_START, NULL, 0), EINVAL);
	close(fd);
}

/* Over config/arg_size_max, which is 4096 */
static void long_vectors(void)
{
	static pfarg_reg_t regs[26];
	int fd = make(PFM_FL_SYSTEM_WIDE);

	FAILS(perfmonctl(fd, PFM_WRITE_PMCS, regs, 26), E2BIG);
	FAILS(perfmonctl(fd, PFM_WRITE_PMDS, regs, 26), E2BIG);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, regs, 26), E2BIG);
	close(fd);
}

static void information(void)
{
	pfarg_features_t ft;
	pfarg_reg_t reg[2] = {0};

	OK(perfmonctl(0, PFM_GET_FEATURES, &ft, 1));
	IS(PFM_VERSION_MAJOR(ft.ft_version), 2);
	IS(PFM_VERSION_MINOR(ft.ft_version), 0);
	FAILS(perfmonctl(0, PFM_GET_FEATURES, NOWHERE, 1), EFAULT);
	reg[0].reg_value = 77;
	OK(perfmonctl(0, PFM_GET_PMC_RESET_VAL, reg, 1));
	IS(reg[0].reg_value, 0);
	reg[1].reg_num = 300;
	FAILS(perfmonctl(0, PFM_GET_PMC_RESET_VAL, reg, 2), EINVAL);
	IS(reg[1].reg_flags, PFM_REG_RETFL_NOTAVAIL);
	FAILS(perfmonctl(0, PFM_GET_PMC_RESET_VAL, NOWHERE, 1), EFAULT);
	/* Over config/arg_size_max, which is 4096. */
	enum { TOO_MANY = 4096 / sizeof(pfarg_reg_t) + 1 };
	static pfarg_reg_t regs[TOO_MANY];
	OK(perfmonctl(0, PFM_GET_PMC_RESET_VAL, regs, TOO_MANY - 1));
	FAILS(perfmonctl(0, PFM_GET_PMC_RESET_VAL, regs, TOO_MANY), E2BIG);
}

static void elsewhere(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_reg_t pmd = {0};

	run_on(0);
	load(fd, 0);
	OK(perfmonctl(fd, PFM_START, NULL, 0));
	OK(perfmonctl(fd, PFM_STOP, NULL, 0));
	run_on(1);
	FAILS(perfmonctl(fd, PFM_READ_PMDS, &pmd, 1), EBUSY);
	run_on(0);
	OK(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	OK(perfmonctl(fd, PFM_UNLOAD_CONTEXT, NULL, 0));
	pmd.reg_num = 1U << 16;
	FAILS(perfmonctl(fd, PFM_READ_PMDS, &pmd, 1), EINVAL);
	IS(pmd.reg_flags, PFM_REG_RETFL_NOTAVAIL);
	close(fd);
}

/* The buffer is there when the context is. */
static void sampling(void)
{
	pfm_default_smpl_ctx_arg_t both = {0};
	const pfm_uuid_t dfl = PFM_DEFAULT_SMPL_UUID;
	const pfm_default_smpl_hdr_t *hdr;

	memcpy(both.ctx_arg.ctx_smpl_buf_id, dfl, sizeof(dfl));
	both.buf_arg.buf_size = 8192;
	OK(perfmonctl(0, PFM_CREATE_CONTEXT, &both, 1));
	hdr = both.ctx_arg.ctx_smpl_vaddr;
	IS(hdr != NULL, 1);
	IS(hdr->hdr_version, PFM_DEFAULT_SMPL_VERSION);
	IS(hdr->hdr_buf_size, 8192);
	close(both.ctx_arg.ctx_fd);
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		fields();
		return 0;
	}
	creating();
	numbers();
	long_vectors();
	information();
	counting(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
	elsewhere();
	sampling();
	return 0;
}
