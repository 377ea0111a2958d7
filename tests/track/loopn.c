// SPDX-License-Identifier: MIT
/*
 * Programs whose number of user instructions outside of the C library is known.
 *
 *   loopn threads N COUNT   N threads. At each line from standard input each loops COUNT times, in
 *                           all INSTRUCTIONS. Prints "thread TID" for each and "ready", and then
 *                           each time "did INSTRUCTIONS". They sleep in the kernel otherwise.
 *   loopn sleeps N COUNT    one thread. At each line it loops COUNT times and sleeps, N times over.
 *                           Prints the same, and after "did INSTRUCTIONS" a round's time: "in NS"
 *   loopn hops N COUNT      the same, but until it was moved N times from CPU to CPU, awake or
 *                           asleep, of the first two that the process may run on
 *   loopn stopped PROGRAM [ARG]...
 *                           prints "thread TID" and stops; goes on as PROGRAM, INSTRUCTIONS = 5
 *                           later
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/track/known.h"

extern char **environ;

static struct looper {
	int go[2], done[2];
	pid_t tid;
} * looper;
static uint64_t count;

/*
 * For ever: waits for a byte, loops, sends a byte. From one return of the read to the next call of
 * it, these are the loop and eight instructions, system calls included.
 */
enum { AROUND = 8 };

static void *loops(void *arg)
{
	static char byte[8];
	struct looper *l = arg;

	l->tid = gettid();
	if (write(l->done[1], byte, 1) != 1)
		err(1, "pipe");
	__asm__ volatile(
		"1:\txor %%eax, %%eax\n\t" /* read */
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
		"d"(1L), [n] "r"(count), [go] "r"((long)l->go[0]), [done] "r"((long)l->done[1])
		: "rax", "rcx", "rdi", "r11", "memory", "cc");
	return NULL;
}

static void wait_for(unsigned n)
{
	char byte;

	for (unsigned i = 0; i < n; i++)
		if (read(looper[i].done[0], &byte, 1) != 1)
			err(1, "pipe");
}

static void threads(unsigned n)
{
	pthread_t thread;

	looper = calloc(n, sizeof(*looper));
	for (unsigned i = 0; i < n; i++)
		if (!looper || pipe(looper[i].go) || pipe(looper[i].done) ||
			pthread_create(&thread, NULL, loops, &looper[i]))
			errx(1, "no thread");
	wait_for(n);
	for (unsigned i = 0; i < n; i++)
		printf("thread %d\n", looper[i].tid);
	usleep(100000); /* they have gone to sleep by then */
	puts("ready");
	fflush(stdout);
	while (next_line()) {
		for (unsigned i = 0; i < n; i++)
			if (write(looper[i].go[1], "", 1) != 1)
				err(1, "pipe");
		wait_for(n);
		printf("did %" PRIu64 "\n", 3 * count + AROUND);
		fflush(stdout);
	}
}

/* A round has eight instructions besides those of the loop; around all rounds there are eleven. */
enum { ROUND = 8, AROUND_ROUNDS = 11 };

static volatile uint64_t rounds_wanted, rounds_done;

/* For ever: waits for a byte, makes rounds, sends a byte. */
static void *rounds(void *arg)
{
	static const struct timespec nap = {.tv_nsec = 1000};
	static char byte[8];
	struct looper *l = arg;

	l->tid = gettid();
	if (write(l->done[1], byte, 1) != 1)
		err(1, "pipe");
	__asm__ volatile("1:\txor %%eax, %%eax\n\t" /* read */
			 "mov %[go], %%rdi\n\t"
			 "mov %[byte], %%rsi\n\t"
			 "syscall\n\t"
			 "xor %%ebx, %%ebx\n"
			 "2:\tmov %[n], %%rcx\n"
			 "3:\tmov (%[byte]), %%rax\n\t"
			 "dec %%rcx\n\t"
			 "jnz 3b\n\t"
			 "mov $35, %%eax\n\t" /* nanosleep */
			 "mov %[nap], %%rdi\n\t"
			 "xor %%esi, %%esi\n\t"
			 "syscall\n\t"
			 "inc %%rbx\n\t"
			 "cmp %[wanted], %%rbx\n\t"
			 "jb 2b\n\t"
			 "mov %%rbx, %[made]\n\t"
			 "mov $1, %%eax\n\t" /* write */
			 "mov %[done], %%rdi\n\t"
			 "mov %[byte], %%rsi\n\t"
			 "syscall\n\t"
			 "jmp 1b"
			 :
			 : [byte] "r"(byte), [nap] "r"(&nap), [wanted] "m"(rounds_wanted),
			 [made] "m"(rounds_done),
			 "d"(1L), [n] "r"(count), [go] "m"(l->go[0]), [done] "m"(l->done[1])
			 : "rax", "rbx", "rcx", "rdi", "rsi", "r11", "memory", "cc");
	return NULL;
}

/* Moves the thread @n times, which takes as many rounds meanwhile as it can. */
static void hop(pid_t tid, unsigned n)
{
	cpu_set_t all, one[2];
	unsigned cpus = 0;

	sched_getaffinity(0, sizeof(all), &all);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpus < 2; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one[cpus]);
		CPU_SET(cpu, &one[cpus++]);
	}
	for (unsigned i = 0; i < n; i++) {
		if (sched_setaffinity(tid, sizeof(one[0]), &one[i % cpus]) < 0)
			err(1, "sched_setaffinity");
		if (i % 3)
			usleep(20);
	}
}

static void one_by_rounds(uint64_t n, bool hops)
{
	pthread_t thread;
	uint64_t ns;

	looper = calloc(1, sizeof(*looper));
	if (!looper || pipe(looper->go) || pipe(looper->done) ||
		pthread_create(&thread, NULL, rounds, looper))
		errx(1, "no thread");
	wait_for(1);
	printf("thread %d\n", looper->tid);
	usleep(100000); /* it has gone to sleep by then */
	puts("ready");
	fflush(stdout);
	while (next_line()) {
		rounds_wanted = hops ? UINT64_MAX : n;
		ns = clock_ns(CLOCK_MONOTONIC);
		if (write(looper->go[1], "", 1) != 1)
			err(1, "pipe");
		if (hops)
			hop(looper->tid, (unsigned)n);
		rounds_wanted = hops ? 0 : n;
		wait_for(1);
		printf("did %" PRIu64 " in %" PRIu64 "\n",
			rounds_done * (3 * count + ROUND) + AROUND_ROUNDS,
			(clock_ns(CLOCK_MONOTONIC) - ns) / rounds_done);
		fflush(stdout);
	}
}

/* After the return from kill(): five instructions until it is another program. */
static void stopped(char **argv)
{
	printf("thread %d\n", gettid());
	fflush(stdout);
	__asm__ volatile("syscall\n\t"
			 "mov %[path], %%rdi\n\t"
			 "mov %[argv], %%rsi\n\t"
			 "mov %[envp], %%rdx\n\t"
			 "mov %[execve], %%eax\n\t"
			 "syscall"
			 :
			 : "a"((long)SYS_kill), "D"((long)getpid()),
			 "S"((long)SIGSTOP), [path] "r"(argv[0]), [argv] "r"(argv),
			 [envp] "r"(environ), [execve] "i"(SYS_execve)
			 : "rdx", "rcx", "r11", "memory", "cc");
	errx(1, "%s", argv[0]);
}

int main(int argc, char **argv)
{
	end_with_parent();
	if (argc == 4 && !strcmp(argv[1], "threads")) {
		count = strtoull(argv[3], NULL, 0);
		threads((unsigned)atoi(argv[2]));
	} else if (argc == 4 && (!strcmp(argv[1], "sleeps") || !strcmp(argv[1], "hops"))) {
		count = strtoull(argv[3], NULL, 0);
		one_by_rounds(strtoull(argv[2], NULL, 0), argv[1][0] == 'h');
	} else if (argc > 2 && !strcmp(argv[1], "stopped")) {
		stopped(argv + 2);
	} else {
		errx(2, "usage: loopn {threads|sleeps|hops} N COUNT | loopn stopped PROGRAM "
			"[ARG]...");
	}
	return 0;
}
