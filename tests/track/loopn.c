// SPDX-License-Identifier: MIT
/*
 * Programs whose number of user instructions outside of the C library is known.
 *
 *   loopn threads N COUNT   N threads. At each line from standard input each loops COUNT times, in
 *                           all INSTRUCTIONS. Prints "thread TID" for each and "ready", and then
 *                           each time "did INSTRUCTIONS". They sleep in the kernel otherwise.
 *   loopn stopped PROGRAM [ARG]...
 *                           prints "thread TID" and stops; goes on as PROGRAM, INSTRUCTIONS = 5
 *                           later
 */
#include <inttypes.h>
#include <pthread.h>
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
	} else if (argc > 2 && !strcmp(argv[1], "stopped")) {
		stopped(argv + 2);
	} else {
		errx(2, "usage: loopn threads N COUNT | loopn stopped PROGRAM [ARG]...");
	}
	return 0;
}
