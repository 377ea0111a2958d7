// SPDX-License-Identifier: MIT
/*
 * loop CONTEXT CPU PMD ROUNDS COUNT [TEXT]: counts a loop of known length through a mounted
 * context.
 *
 * The loop runs on CPU, in a thread that otherwise sleeps in the kernel; the commands are given
 * from another one. Each round writes TEXT (0) to pmd/PMD, starts, runs the loop of COUNT x {load,
 * decrement, jump}, stops, and prints how much more pmd/PMD shows than the user instructions that
 * the thread has executed. With "-" for PMD it only runs the loop.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
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

/*
 * For ever: waits for a byte, loops, sends a byte. From one return of the read to the next call of
 * it, these are the loop and eight instructions, system calls included; what the thread executes
 * is known to the last one.
 */
enum { AROUND = 8 };

static void *looper(void *cpu)
{
	static char byte[8];

	pin(*(unsigned *)cpu);
	__asm__ volatile("1:\txor %%eax, %%eax\n\t" /* read */
			 "mov %[go], %%rdi\n\t"
			 "syscall\n\t"
			 "mov %[n], %%rcx\n"
			 "2:\tmov (%%rsi), %%rax\n\t"
			 "dec %%rcx\n\t"
			 "jnz 2b\n\t"
			 "mov $1, %%eax\n\t" /* write */
			 "mov %[done], %%rdi\n\t"
			 "syscall\n\t"
			 "jmp 1b"
			 :
			 : "S"(byte),
			 "d"(1L), [n] "r"(count), [go] "r"((long)go[0]), [done] "r"((long)done[1])
			 : "rax", "rcx", "rdi", "r11", "memory", "cc");
	return NULL;
}

static void command(int fd, const char *word)
{
	if (pwrite(fd, word, strlen(word), 0) < 0)
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
	int ctl = -1, pmd = -1;
	bool counted;
	pthread_t thread;
	const char *text = argc == 7 ? argv[6] : "0";
	char byte = 0;

	if (argc != 6 && argc != 7)
		errx(2, "usage: loop CONTEXT CPU PMD ROUNDS COUNT [TEXT]");
	counted = strcmp(argv[3], "-") != 0;
	cpu = (unsigned)atoi(argv[2]);
	rounds = (unsigned)atoi(argv[4]);
	count = strtoull(argv[5], NULL, 0);
	if (pipe(go) || pipe(done) || chdir(argv[1]) < 0)
		err(1, "%s", argv[1]);
	if (counted) {
		ctl = open("ctl", O_WRONLY);
		if (chdir("pmd") < 0 || (pmd = open(argv[3], O_RDWR)) < 0 || ctl < 0)
			err(1, "%s", argv[1]);
	}
	pin(cpu ? 0 : 1);
	if (pthread_create(&thread, NULL, looper, &cpu))
		errx(1, "thread");
	usleep(100000); /* it has gone to sleep by then, after whatever a new thread does */
	for (unsigned i = 0; i < rounds; i++) {
		if (counted) {
			command(pmd, text);
			command(ctl, "start");
		}
		if (write(go[1], &byte, 1) != 1 || read(done[0], &byte, 1) != 1)
			err(1, "pipe");
		if (!counted)
			continue;
		command(ctl, "stop");
		printf("%" PRId64 "\n", (int64_t)(read_pmd(pmd) - 3 * count - AROUND));
	}
	return 0;
}
