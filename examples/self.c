// SPDX-License-Identifier: MIT
/*
 * self PMC0-VALUE FAULTS: a thread causes FAULTS page faults and counts itself. The value is from
 * MNT/pmu/events with the perf backend, or from the CPU's manual with msr.
 */
#define _GNU_SOURCE 1
#include <stdio.h>

#include <perfmon/perfmon.h>

#include "example.h"

int main(int argc, char **argv)
{
	pfarg_ctx_t ctx = {0};
	pfarg_pmc_t pmc = {0};
	pfarg_pmd_t pmd = {0};
	pfarg_load_t load = {0};
	int fd;

	if (argc != 3)
		errx(2, "usage: self PMC0-VALUE FAULTS");

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
