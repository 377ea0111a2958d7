// SPDX-License-Identifier: MIT
/*
 * msg_ip CLOCK: without a sampling format, messages of overflows name the instruction that ran, as
 * kernels did. CLOCK is the PMC value of cpu-clock of the perf backend.
 */
#include <perfmon/perfmon.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/check.h"

enum { PERIOD_NS = 5000000, MESSAGES = 4000, SPIN_BYTES = 64 };

/* A loop of a few instructions, so that its address tells that it ran. */
__attribute__((noinline)) static void spin(void)
{
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static pid_t spinner(void)
{
	pid_t pid = fork();

	if (pid == 0)
		spin();
	return pid;
}

static int make(uint64_t event, uint32_t flags)
{
	pfarg_ctx_t ctx = {.ctx_flags = flags};
	pfarg_pmc_t pmc = {.reg_value = event};
	int fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));

	OK(pfm_write_pmcs(fd, &pmc, 1));
	return fd;
}

static void notify(int fd)
{
	pfarg_pmd_t pmd = {.reg_flags = PFM_REGFL_OVFL_NOTIFY};

	pmd.reg_value = pmd.reg_long_reset = pmd.reg_short_reset = (uint64_t)-PERIOD_NS;
	OK(pfm_write_pmds(fd, &pmd, 1));
}

/* Messages come until one has found the loop. Others may have found the kernel, or nothing. */
static void finds(int fd, pid_t pid)
{
	bool found = false;

	for (unsigned n = 0; !found && n < MESSAGES; n++) {
		pfarg_msg_t msg;
		uint64_t ip;

		IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
		IS(msg.type, PFM_MSG_OVFL);
		ip = msg.pfm_ovfl_msg.msg_ovfl_ip;
		found = ip - (uintptr_t)spin < SPIN_BYTES &&
			(pid_t)msg.pfm_ovfl_msg.msg_ovfl_tid == pid &&
			(pid_t)msg.pfm_ovfl_msg.msg_ovfl_pid == pid;
		OK(pfm_restart(fd));
	}
	IS(found, true);
}

static void of_a_thread(uint64_t event, pid_t pid)
{
	pfarg_load_t load = {.load_pid = (uint32_t)pid};
	int fd = make(event, 0);

	notify(fd);
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	finds(fd, pid);
	close(fd);
}

/* Notification is asked for only after load. */
static void of_a_cpu(uint64_t event, int cpu, pid_t pid)
{
	pfarg_load_t load = {.load_pid = (uint32_t)cpu};
	int fd = make(event, PFM_FL_SYSTEM_WIDE);

	OK(pfm_load_context(fd, &load));
	notify(fd);
	OK(pfm_start(fd, NULL));
	finds(fd, pid);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t event = argc == 2 ? strtoull(argv[1], NULL, 0) : 0;
	int cpu = sched_getcpu();
	pid_t pid;

	run_on(cpu);
	pid = spinner();
	of_a_thread(event, pid);
	all_gone();
	of_a_cpu(event, cpu, pid);
	OK(kill(pid, SIGKILL));
	IS(waitpid(pid, NULL, 0), pid);
	return 0;
}
