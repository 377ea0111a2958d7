// SPDX-License-Identifier: MIT
/* Structures of 2.6 to 2.81, field by field. */
#define PERFMON_ABI 281
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

typedef pfarg_pmc_t pmc_t;
typedef pfarg_pmd_t pmd_t;
typedef pfarg_msg_t msg_t;
#define NOTICE(pmc, pmd) (pmd)
#define NO_EMUL64        PFM_REGFL_NO_EMUL64
#define SWITCH_CNT(pmd)  (pmd).reg_ovfl_switch_cnt
#define TARGET           CPU
#include "tests/lib/fields_calls.h"

#define TIME(ns)        (ns)
#define NS(time)        (time)
#define ROUND_UP(ns)    (ns)
#define DURATION(time)  (time)
#define SWITCHED(info)  (info).set_ovfl_pmds
#define create_evtsets  pfm_create_evtsets
#define getinfo_evtsets pfm_getinfo_evtsets
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

static void rest_of_message(int fd, const msg_t *msg)
{
	(void)fd;
	IS(msg->pfm_ovfl_msg.msg_ovfl_cpu, CPU);
	/* Not known where a CPU is monitored without a sampling format */
	IS(msg->pfm_ovfl_msg.msg_ovfl_pid, 0);
	IS(msg->pfm_ovfl_msg.msg_ovfl_tid, 0);
	IS(msg->pfm_ovfl_msg.msg_ovfl_ip, 0);
}

static bool set_next(pfarg_setdesc_t *desc, uint16_t id)
{
	(void)desc;
	(void)id;
	return false;
}

static void rest_of_info(const pfarg_setinfo_t *info, uint16_t next)
{
	(void)next;
	available(info->set_avail_pmcs, info->set_avail_pmds);
}

int main(void)
{
	fields();
	fields_of_sets();
	return 0;
}
