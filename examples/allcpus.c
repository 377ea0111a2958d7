// SPDX-License-Identifier: MIT
/* allcpus PMC0-VALUE MILLISECONDS: counts on each CPU for MILLISECONDS. A context monitors one CPU,
 * and its calls must be made on that CPU, so each context has a thread. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <perfmon/perfmon.h>

#include "example.h"

struct cpu {
	pthread_t thread;
	int number;
	uint64_t value;
	uint64_t ms;
	uint64_t count;
};

static void *monitor(void *arg)
{
	struct cpu *cpu = arg;
	struct timespec wait = {(time_t)(cpu->ms / 1000), (long)(cpu->ms % 1000) * 1000000};
	pfarg_ctx_t ctx = {0};
	pfarg_pmc_t pmc = {0};
	pfarg_pmd_t pmd = {0};
	pfarg_load_t load = {0};
	int fd;

	pin(cpu->number);
	ctx.ctx_flags = PFM_FL_SYSTEM_WIDE;
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		err(1, "pfm_create_context");
	pmc.reg_value = cpu->value;
	load.load_pid = (uint32_t)cpu->number;
	if (pfm_write_pmcs(fd, &pmc, 1) < 0 || pfm_write_pmds(fd, &pmd, 1) < 0 ||
		pfm_load_context(fd, &load) < 0 || pfm_start(fd, NULL) < 0)
		err(1, "CPU %d", cpu->number);
	nanosleep(&wait, NULL);
	if (pfm_stop(fd) < 0 || pfm_read_pmds(fd, &pmd, 1) < 0)
		err(1, "CPU %d", cpu->number);
	cpu->count = pmd.reg_value;
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct cpu cpus[CPU_SETSIZE];
	cpu_set_t online;
	size_t n = 0;

	if (argc != 3)
		errx(2, "usage: allcpus PMC0-VALUE MILLISECONDS");
	if (sched_getaffinity(0, sizeof(online), &online) < 0)
		err(1, "sched_getaffinity");
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &online))
			cpus[n++] = (struct cpu){
				.number = (int)i, .value = number(argv[1]), .ms = number(argv[2])};
	for (size_t i = 0; i < n; i++)
		if ((errno = pthread_create(&cpus[i].thread, NULL, monitor, &cpus[i])) != 0)
			err(1, "pthread_create");
	for (size_t i = 0; i < n; i++) {
		pthread_join(cpus[i].thread, NULL);
		printf("cpu%d %llu\n", cpus[i].number, (unsigned long long)cpus[i].count);
	}
	return 0;
}
