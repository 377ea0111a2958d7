// SPDX-License-Identifier: MIT
/*
 * loop CONTEXT CPU PMD ROUNDS COUNT: counts a loop of known length through a mounted context.
 *
 * The loop runs on CPU, in a thread that otherwise sleeps in the kernel; the commands are given
 * from another one. Each round starts, runs the loop of COUNT x {load, decrement, jump}, stops,
 * and prints how many more user instructions pmd/PMD shows than the loop has.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int go[2], done[2];
static uint64_t count;

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "CPU %u", cpu);
}

/* Waits for a byte, loops, sends a byte: a dozen instructions besides those of the loop. */
static void wait_loop_tell(char *byte)
{
	uint64_t n = count;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_read), "D"(go[0]), "S"(byte), "d"(1)
			 : "rcx", "r11", "memory");
	__asm__ volatile("1: mov (%1), %%rax\n\tdec %0\n\tjnz 1b" : "+r"(n) : "r"(byte)
			 : "rax", "cc", "memory");
	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_write), "D"(done[1]), "S"(byte), "d"(1)
			 : "rcx", "r11", "memory");
}

static void *looper(void *cpu)
{
	static char byte[8];

	pin(*(unsigned *)cpu);
	for (;;)
		wait_loop_tell(byte);
	return NULL;
}

static void command(int ctl, const char *word)
{
	if (pwrite(ctl, word, strlen(word), 0) < 0)
		err(1, "%s", word);
}

static uint64_t read_pmd(int fd)
{
	char buf[32] = "";

	if (pread(fd, buf, sizeof(buf) - 1, 0) < 0)
		err(1, "pmd");
	return strtoull(buf, NULL, 10);
}

int main(int argc, char **argv)
{
	unsigned cpu, rounds;
	int ctl, pmd;
	pthread_t thread;
	char byte = 0;

	if (argc != 6)
		errx(2, "usage: loop CONTEXT CPU PMD ROUNDS COUNT");
	cpu = (unsigned)atoi(argv[2]);
	rounds = (unsigned)atoi(argv[4]);
	count = strtoull(argv[5], NULL, 0);
	if (pipe(go) || pipe(done) || chdir(argv[1]) < 0)
		err(1, "%s", argv[1]);
	ctl = open("ctl", O_WRONLY);
	if (chdir("pmd") < 0 || (pmd = open(argv[3], O_RDWR)) < 0 || ctl < 0)
		err(1, "%s", argv[1]);
	pin(cpu ? 0 : 1);
	if (pthread_create(&thread, NULL, looper, &cpu))
		errx(1, "thread");
	usleep(100000); /* it has gone to sleep by then, after whatever a new thread does */
	for (unsigned i = 0; i < rounds; i++) {
		if (pwrite(pmd, "0", 1, 0) < 0)
			err(1, "pmd");
		command(ctl, "start");
		if (write(go[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
			err(1, "pipe");
		command(ctl, "stop");
		printf("%" PRId64 "\n", (int64_t)(read_pmd(pmd) - 3 * count));
	}
	return 0;
}
