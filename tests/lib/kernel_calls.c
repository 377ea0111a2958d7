// SPDX-License-Identifier: MIT
/*
 * What a client of those years got its calls from: a library that made system calls of them, from
 * the number on that the kernel told in /sys. Where that is not there, from 65536 on, which no
 * kernel has.
 */
#include <perfmon/perfmon.h>

#include <stdio.h>
#include <unistd.h>

static long number(long call)
{
	FILE *f = fopen("/sys/kernel/perfmon/syscall", "r");
	long base = 65536;

	if (f) {
		if (fscanf(f, "%ld", &base) != 1)
			base = 65536;
		fclose(f);
	}
	return base + call;
}

int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size)
{
	return (int)syscall(number(0), ctx, smpl_name, smpl_arg, smpl_size);
}

int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count)
{
	return (int)syscall(number(1), fd, pmcs, count);
}

int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	return (int)syscall(number(2), fd, pmds, count);
}

int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	return (int)syscall(number(3), fd, pmds, count);
}

int pfm_load_context(int fd, pfarg_load_t *load)
{
	return (int)syscall(number(4), fd, load);
}

int pfm_start(int fd, pfarg_start_t *start)
{
	return (int)syscall(number(5), fd, start);
}

int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *info, int count)
{
	return (int)syscall(number(9), fd, info, count);
}
