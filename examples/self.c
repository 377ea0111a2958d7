// SPDX-License-Identifier: MIT
/*
 * self PMC0-VALUE FAULTS: a thread counts itself, while it has FAULTS page faults.
 * The value is one of MNT/pmu/events with the perf backend, or of the CPU's manual with msr.
 */
#include <stdio.h>
#include <string.h>

#include <perfmon/perfmon.h>

#include "examples/example.h"

int main(int argc, char **argv)
{
	pfarg_ctx_t ctx;
	pfarg_pmc_t pmc;
	pfarg_pmd_t pmd;
	pfarg_load_t load;
	int fd;

	if (argc != 3)
		errx(2, "usage: self PMC0-VALUE FAULTS");
	memset(&ctx, 0, sizeof(ctx));
	memset(&pmc, 0, sizeof(pmc));
	memset(&pmd, 0, sizeof(pmd));
	memset(&load, 0, sizeof(load));

	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		err(1, "pfm_create_context");
	pmc.reg_value = number(argv[1]);
	if (pfm_write_pmcs(fd, &pmc, 1) < 0 || pfm_write_pmds(fd, &pmd, 1) < 0)
		err(1, "writing registers");
	load.load_pid = (uint32_t)gettid();
	if (pfm_load_context(fd, &load) < 0)
		err(1, "pfm_load_context");

	if (pfm_start(fd, NULL) < 0)
		err(1, "pfm_start");
	fault(number(argv[2]));
	if (pfm_stop(fd) < 0)
		err(1, "pfm_stop");

	if (pfm_read_pmds(fd, &pmd, 1) < 0)
		err(1, "pfm_read_pmds");
	printf("pmd0 %llu\n", (unsigned long long)pmd.reg_value);
	close(fd);
	return 0;
}
