// SPDX-License-Identifier: MIT
/* What 2.2 has otherwise than 2.81. */
#define PERFMON_ABI 202
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_dfl_smpl.h>

#include <stdlib.h>
#include <sys/mman.h>

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
	pfarg_ctx_t ctx = {.ctx_flags = flags};

	OK(pfm_create_context(&ctx, NULL, 0));
	IS(ctx.ctx_smpl_buf_size, 0);
	return ctx.ctx_fd;
}

static int make_sampling(size_t size)
{
	pfm_dfl_smpl_arg_t arg = {.buf_size = size, .buf_flags = PFM_DFL_SMPL_IIP_HDR};
	const pfm_uuid_t dfl = PFM_DFL_SMPL_UUID;
	pfarg_ctx_t ctx = {0};

	memcpy(ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	OK(pfm_create_context(&ctx, &arg, sizeof(arg)));
	IS(ctx.ctx_smpl_buf_size, (long long)size);
	return ctx.ctx_fd;
}

static void creating(void)
{
	/* That of 2.2 kernels. */
	static const pfm_uuid_t dfl = {0xd1, 0x39, 0xb2, 0x9e, 0x62, 0xe8, 0x40, 0xe4, 0xb4, 0x02,
		0x73, 0x07, 0x87, 0x92, 0xe9, 0x37};
	const pfm_dfl_smpl_hdr_t *hdr;
	pfm_dfl_smpl_arg_t arg;
	pfarg_ctx_t ctx;

	CLEAR(ctx);
	CLEAR(arg);
	FAILS(pfm_create_context(NOWHERE, NULL, 0), EFAULT);
	FAILS(pfm_create_context(&ctx, NOWHERE, sizeof(arg)), EFAULT);
	FAILS(pfm_create_context(&ctx, &arg, sizeof(arg)), EINVAL);
	FAILS(pfm_create_context(&ctx, &arg, 1 << 20), E2BIG);
	ctx.ctx_flags = PFM_FL_MAP_SETS;
	FAILS(pfm_create_context(&ctx, NULL, 0), EINVAL);
	ctx.ctx_flags = 0;
	memcpy(ctx.ctx_smpl_buf_id, dfl, sizeof(dfl));
	arg.buf_size = 8192;
	OK(pfm_create_context(&ctx, &arg, sizeof(arg)));
	IS(ctx.ctx_smpl_buf_size, 8192);
	hdr = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, ctx.ctx_fd, 0);
	IS(hdr != MAP_FAILED, 1);
	IS(hdr->hdr_buf_size, 8192);
	close(ctx.ctx_fd);
}

/* Timeouts are microseconds. */
static void sets(void)
{
	int fd = make(PFM_FL_SYSTEM_WIDE);
	pfarg_setdesc_t desc[2] = {0};

	for (uint16_t i = 0; i < 2; i++) {
		desc[i].set_id = i;
		desc[i].set_id_next = 1;
		desc[i].set_flags = PFM_SETFL_TIME_SWITCH;
		desc[i].set_timeout = 2000;
	}
	desc[1].set_flags = PFM_SETFL_EXPL_NEXT; /* and then it has no timeout */
	OK(pfm_create_evtsets(fd, desc, 2));
	IS(number_in("ctx/%lu/set/1/timeout_ns", the_context()), 0);
	desc[1].set_flags |= PFM_SETFL_TIME_SWITCH;
	OK(pfm_create_evtsets(fd, desc, 2));
	IS(desc[0].set_timeout >= 2000, 1);
	IS(number_in("ctx/%lu/set/0/timeout_ns", the_context()) >= 2000000, 1);
	run_on(CPU);
	load(fd, 0);
	OK(pfm_start(fd, NULL));
	OK(pfm_unload_context(fd));
	FAILS(pfm_create_evtsets(fd, desc, -1), EINVAL);
	close(fd);
}

/* Over config/arg_size_max, which is 4096, and less than nothing */
static void long_vectors(void)
{
	static pfarg_setdesc_t descs[65];
	static pfarg_setinfo_t infos[22];
	int fd = make(PFM_FL_SYSTEM_WIDE);

	FAILS(pfm_create_evtsets(fd, descs, 65), E2BIG);
	FAILS(pfm_delete_evtsets(fd, descs, 65), E2BIG);
	FAILS(pfm_getinfo_evtsets(fd, infos, 22), E2BIG);
	FAILS(pfm_getinfo_evtsets(fd, infos, 1 << 20), E2BIG);
	FAILS(pfm_delete_evtsets(fd, descs, -1), EINVAL);
	FAILS(pfm_getinfo_evtsets(fd, infos, -1), EINVAL);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 1) {
		fields();
		fields_of_sets();
		return 0;
	}
	counting(strtoull(argv[1], NULL, 0), strtoull(argv[2], NULL, 0));
	sets();
	long_vectors();
	creating();
	return 0;
}
