// SPDX-License-Identifier: MIT
/* on_threads_v06 PMC0-VALUE: the specification's errors of contexts on threads, where 2.81 has
 * others. */
#define PERFMON_ABI 6
#include <perfmon/perfmon.h>

#include <stdlib.h>

#include "tests/lib/check.h"

static int make(uint64_t event)
{
	pfarg_ctx_t ctx = {0};
	pfarg_pmc_t pmc = {.reg_value = event};

	OK(pfm_create_context(&ctx, 1));
	OK(pfm_write_pmcs(ctx.ctx_fd, &pmc, 1));
	return ctx.ctx_fd;
}

/* Of the idle thread, which counts of a thread never include (3.1.10). */
static void ignored_flag(int fd)
{
	pfarg_setdesc_t desc = {.set_flags = PFM_SETFL_EXCL_IDLE};
	pfarg_setinfo_t info = {0};
	pfarg_load_t me = {.load_pid = gettid()};

	OK(pfm_create_evtsets(fd, &desc, 1));
	OK(pfm_load_context(fd, &me));
	OK(pfm_getinfo_evtsets(fd, &info, 1));
	IS(info.set_flags, PFM_SETFL_EXCL_IDLE);
	OK(pfm_unload_context(fd));
}

int main(int argc, char **argv)
{
	pfarg_load_t me = {.load_pid = gettid()}, nobody = {.load_pid = 0};
	int fd, second;

	if (argc != 2)
		return 2;
	fd = make(strtoull(argv[1], NULL, 0));
	second = make(strtoull(argv[1], NULL, 0));
	FAILS(pfm_load_context(fd, &nobody), ESRCH);
	OK(pfm_load_context(fd, &me));
	FAILS(pfm_load_context(second, &me), EBUSY);
	OK(pfm_unload_context(fd));
	OK(pfm_load_context(second, &me));
	OK(pfm_unload_context(second));
	ignored_flag(second);
	return 0;
}
