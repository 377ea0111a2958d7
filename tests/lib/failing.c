// SPDX-License-Identifier: MIT
/* Calls that fail, for what PERFMONFS_DEBUG=1 says of them on stderr. */
#include <perfmon/perfmon.h>

#include <unistd.h>

#include "tests/lib/check.h"

int main(void)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_SYSTEM_WIDE}, wrong = {.ctx_flags = 0x40};
	pfarg_load_t load = {.load_pid = 4000}; /* no such CPU */
	pfarg_pmc_t pmc = {.reg_num = 319};
	int fd;

	FAILS(pfm_stop(0), EBADF);
	FAILS(pfm_create_context(&wrong, NULL, NULL, 0), EINVAL);
	fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));
	FAILS(pfm_write_pmcs(fd, &pmc, 1), EINVAL);
	FAILS(pfm_load_context(fd, &load), EINVAL);
	OK(pfm_unload_context(fd));
	close(fd);
	return 0;
}
