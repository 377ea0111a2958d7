// SPDX-License-Identifier: MIT
/*
 * notify PMC0-VALUE PERIOD FAULTS: a thread causes FAULTS page faults and gets SIGIO after every
 * PERIOD events. The signal handler reads the message and restarts monitoring.
 */
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>

#include <perfmon/perfmon.h>

#include "example.h"

static int fd;
static volatile sig_atomic_t notified, failed;

static void overflowed(int sig, siginfo_t *info, void *context)
{
	pfarg_msg_t msg;
	int before = errno;

	(void)sig, (void)context;
	if (info->si_fd != fd)
		failed = 1;
	/* One signal may stand for several notifications. */
	while (read(fd, &msg, sizeof(msg)) == sizeof(msg)) {
		if (msg.type != PFM_MSG_OVFL || !(msg.pfm_ovfl_msg.msg_ovfl_pmds[0] & 1))
			failed = 1;
		/* The message of an overflow just before pfm_stop() may come after it. */
		if (pfm_restart(fd) < 0 && errno != EBUSY)
			failed = 1;
		notified++;
	}
	errno = before;
}

static void request_signal(void)
{
	struct sigaction act = {.sa_sigaction = overflowed, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct f_owner_ex me = {F_OWNER_TID, gettid()};

	if (sigaction(SIGIO, &act, NULL) < 0 || fcntl(fd, F_SETOWN_EX, &me) < 0 ||
		fcntl(fd, F_SETSIG, SIGIO) < 0 ||
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC | O_NONBLOCK) < 0)
		err(1, "asking for SIGIO");
}

int main(int argc, char **argv)
{
	pfarg_ctx_t ctx = {0};
	pfarg_pmc_t pmc = {0};
	pfarg_pmd_t pmd = {0};
	pfarg_load_t load = {0};

	if (argc != 4)
		errx(2, "usage: notify PMC0-VALUE PERIOD FAULTS");
	fd = pfm_create_context(&ctx, NULL, NULL, 0);
	if (fd < 0)
		err(1, "pfm_create_context");
	request_signal();
	pmc.reg_value = number(argv[1]);
	pmd.reg_flags = PFM_REGFL_OVFL_NOTIFY;
	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = -number(argv[2]);
	load.load_pid = (uint32_t)gettid();
	if (pfm_write_pmcs(fd, &pmc, 1) < 0 || pfm_write_pmds(fd, &pmd, 1) < 0 ||
		pfm_load_context(fd, &load) < 0 || pfm_start(fd, NULL) < 0)
		err(1, "starting");
	for (uint64_t left = number(argv[3]); left; left -= left < 100 ? left : 100)
		fault(left < 100 ? left : 100);
	if (pfm_stop(fd) < 0)
		err(1, "pfm_stop");
	printf("notified %d\n", (int)notified);
	close(fd);
	return failed;
}
