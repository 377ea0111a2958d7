// SPDX-License-Identifier: MIT
/*
 * A client as they were written for perfmon2 2.x: it asks /sys for nothing, zeroes and fills its
 * structures, learns from set 0 what registers there are, starts a child that asks to be traced and
 * stops at exec, loads its context on it, lets it go, and reads the counts at its end.
 *
 *	old_client PMC0-VALUE PROGRAM [ARGUMENT...]
 */
#include <perfmon/perfmon.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(char **arg)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execvp(arg[0], arg);
	return 127;
}

static void check_registers(int fd)
{
	pfarg_setinfo_t info = {0};

	if (pfm_getinfo_evtsets(fd, &info, 1) < 0)
		err(1, "pfm_getinfo_evtsets");
	if (!(info.set_avail_pmcs[0] & 1) || !(info.set_avail_pmds[0] & 1))
		errx(1, "cannot configure events");
}

int main(int argc, char **argv)
{
	pfarg_ctx_t ctx;
	pfarg_load_t load_args;
	pfarg_pmc_t pc[1];
	pfarg_pmd_t pd[1];
	pid_t pid;
	int fd, status;

	if (argc < 3)
		errx(2, "usage: old_client PMC0-VALUE PROGRAM [ARGUMENT...]");
	memset(&ctx, 0, sizeof(ctx));
	memset(&load_args, 0, sizeof(load_args));
	memset(pc, 0, sizeof(pc));
	memset(pd, 0, sizeof(pd));
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd == -1) {
		if (errno == ENOSYS)
			errx(1, "your kernel does not have performance monitoring support");
		err(1, "cannot create PFM context");
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	check_registers(fd);
	pc[0].reg_num = 0;
	pc[0].reg_value = strtoull(argv[1], NULL, 0);
	pd[0].reg_num = 0;
	if (pfm_write_pmcs(fd, pc, 1) == -1)
		err(1, "pfm_write_pmcs error");
	if (pfm_write_pmds(fd, pd, 1) == -1)
		err(1, "pfm_write_pmds error");
	pid = fork();
	if (pid == -1)
		err(1, "cannot fork process");
	if (pid == 0)
		exit(child(argv + 2));
	waitpid(pid, &status, WUNTRACED);
	if (WIFEXITED(status))
		errx(1, "error command already terminated");
	load_args.load_pid = (uint32_t)pid;
	if (pfm_load_context(fd, &load_args) == -1)
		err(1, "pfm_load_context error");
	if (pfm_start(fd, NULL) == -1)
		err(1, "pfm_start error");
	ptrace(PTRACE_DETACH, pid, NULL, 0);
	waitpid(pid, &status, 0);
	if (pfm_read_pmds(fd, pd, 1) == -1)
		err(1, "pfm_read error");
	printf("PMD%u %20" PRIu64 "\n", pd[0].reg_num, pd[0].reg_value);
	close(fd);
	return 0;
}
