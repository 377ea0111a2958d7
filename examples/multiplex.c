// SPDX-License-Identifier: MIT
/*
 * multiplex FAULTS PMC0-VALUE...: a thread counts these events of itself with one counter. Each
 * event has an event set, and the sets are active in turn. Prints for each the count, scaled to the
 * whole time, and how often its set was active.
 */
#define _GNU_SOURCE 1
#include <stdio.h>
#include <string.h>

#include <perfmon/perfmon.h>

#include "example.h"

enum { MAX_SETS = 16, SLICE_NS = 2000000 };

static void make_sets(int fd, uint16_t n)
{
	pfarg_setdesc_t sets[MAX_SETS];

	memset(sets, 0, sizeof(sets));
	for (uint16_t i = 0; i < n; i++) {
		sets[i].set_id = i;
		sets[i].set_flags = PFM_SETFL_TIME_SWITCH;
		sets[i].set_timeout = SLICE_NS;
	}
	if (pfm_create_evtsets(fd, sets, n) < 0)
		err(1, "pfm_create_evtsets");
}

static void write_registers(int fd, uint16_t n, char **values)
{
	pfarg_pmc_t pmcs[MAX_SETS];
	pfarg_pmd_t pmds[MAX_SETS];

	memset(pmcs, 0, sizeof(pmcs));
	memset(pmds, 0, sizeof(pmds));
	for (uint16_t i = 0; i < n; i++) {
		pmcs[i].reg_set = pmds[i].reg_set = i;
		pmcs[i].reg_value = number(values[i]);
	}
	if (pfm_write_pmcs(fd, pmcs, n) < 0 || pfm_write_pmds(fd, pmds, n) < 0)
		err(1, "writing registers");
}

static void print_counts(int fd, uint16_t n)
{
	pfarg_setinfo_t info[MAX_SETS];
	pfarg_pmd_t pmds[MAX_SETS];
	uint64_t whole = 0;

	memset(info, 0, sizeof(info));
	memset(pmds, 0, sizeof(pmds));
	for (uint16_t i = 0; i < n; i++)
		info[i].set_id = pmds[i].reg_set = i;
	if (pfm_getinfo_evtsets(fd, info, n) < 0 || pfm_read_pmds(fd, pmds, n) < 0)
		err(1, "reading");
	for (uint16_t i = 0; i < n; i++)
		whole += info[i].set_act_duration;
	for (uint16_t i = 0; i < n; i++)
		printf("set%u %.0f runs %llu\n", i,
			info[i].set_act_duration ? (double)pmds[i].reg_value * (double)whole /
							   (double)info[i].set_act_duration
						 : 0.0,
			(unsigned long long)info[i].set_runs);
}

int main(int argc, char **argv)
{
	uint16_t n = (uint16_t)(argc - 2);
	pfarg_ctx_t ctx = {0};
	pfarg_load_t load = {0};
	int fd;

	if (argc < 3 || argc - 2 > MAX_SETS)
		errx(2, "usage: multiplex FAULTS PMC0-VALUE...");
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		err(1, "pfm_create_context");
	make_sets(fd, n);
	write_registers(fd, n, argv + 2);
	load.load_pid = (uint32_t)gettid();
	if (pfm_load_context(fd, &load) < 0 || pfm_start(fd, NULL) < 0)
		err(1, "starting");
	for (uint64_t left = number(argv[1]); left; left -= left < 100 ? left : 100)
		fault(left < 100 ? left : 100);
	if (pfm_stop(fd) < 0 || pfm_unload_context(fd) < 0)
		err(1, "stopping");
	print_counts(fd, n);
	close(fd);
	return 0;
}
