// SPDX-License-Identifier: MIT
/*
 * task MNT PMC0-VALUE PROGRAM [ARGUMENT...]: counts a program and all threads and processes that it
 * creates. perfmon2's calls load a context on one thread; an ioctl of perfmonfs follows its
 * children, too. The sum is in a file: while the descriptor is open, the context is a directory in
 * ctx/.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include <perfmon/perfmon.h>
#include <perfmonfs/ioctl.h>

#include "example.h"

/* Forks the program, which waits for a byte before exec. */
static pid_t launch(char **argv, int *go)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe2(ends, O_CLOEXEC) < 0)
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		if (read(ends[0], &c, 1) != 1)
			_exit(127);
		execvp(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static void load_and_follow(int fd, pid_t pid)
{
	struct pfm_ioc_load load = {.target = (uint32_t)pid, .flags = PFM_IOC_LOADFL_FOLLOW};

	if (ioctl(fd, PFM_IOC_LOAD, &load) < 0)
		err(1, "PFM_IOC_LOAD");
}

static void print_total(const char *mnt, uint64_t context)
{
	char path[4096], text[4096];

	snprintf(path, sizeof(path), "%s/ctx/%llu/total", mnt, (unsigned long long)context);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (n < 0)
		err(1, "%s", path);
	fwrite(text, 1, (size_t)n, stdout);
	close(fd);
}

int main(int argc, char **argv)
{
	struct pfm_ioc_setup setup = {0};
	pfarg_ctx_t ctx = {0};
	pfarg_pmc_t pmc = {0};
	pfarg_msg_t msg;
	int fd, go, status;
	pid_t pid;

	if (argc < 4)
		errx(2, "usage: task MNT PMC0-VALUE PROGRAM [ARGUMENT...]");
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		err(1, "pfm_create_context");
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* Without flags and format this changes nothing, but returns the number of the context. */
	if (ioctl(fd, PFM_IOC_SETUP, &setup) < 0)
		err(1, "PFM_IOC_SETUP");
	pmc.reg_value = number(argv[2]);
	if (pfm_write_pmcs(fd, &pmc, 1) < 0)
		err(1, "pfm_write_pmcs");
	pid = launch(argv + 3, &go);
	load_and_follow(fd, pid);
	if (pfm_start(fd, NULL) < 0)
		err(1, "pfm_start");
	if (write(go, "", 1) != 1 || waitpid(pid, &status, 0) < 0)
		err(1, "running %s", argv[3]);
	/* When this message comes, all counts are saved. */
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg) || msg.type != PFM_MSG_END)
		errx(1, "the end of %d was not reported", (int)pid);
	print_total(argv[1], setup.number);
	close(fd);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
