// SPDX-License-Identifier: MIT
/*
 * Events of threads that a tracer may disturb. Each program prints "thread TID" lines, begins at
 * the next line from standard input, prints what it has observed, and exits at the next line.
 *
 *   lives exec PROGRAM [ARG]...  the thread that is not the leader executes PROGRAM; its line ends
 *                                in its faults so far
 *   lives over PROGRAM [ARG]...  the leader (the first line) executes PROGRAM, which ends the other
 *   lives leader [N]             the leader (the first line) ends, the other threads live on: N,
 *                                or 1
 *   lives vfork N                N children by vfork, which exit with different codes
 *   lives attach TID             attaches to TID by ptrace: prints "ok" or an errno's name
 *   lives status                 after each line, its name and effective uid
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/err.h"
#include "tests/track/known.h"

static void say_thread(pid_t tid)
{
	printf("thread %d\n", tid);
	fflush(stdout);
}

static void *exec_other(void *arg)
{
	char **program = arg;

	printf("thread %d %ld\n", gettid(), my_faults());
	fflush(stdout);
	if (next_line()) {
		execv(program[0], program);
		warn("%s", program[0]);
	}
	exit(1);
}

static int live_exec(char **arg)
{
	pthread_t thread;

	if (!arg[0] || pthread_create(&thread, NULL, exec_other, arg))
		errx(1, "no thread");
	pthread_join(thread, NULL);
	return 1;
}

static void *wait_for_ever(void *arg)
{
	say_thread(gettid());
	for (;;)
		pause();
	return arg;
}

static int live_over(char **program)
{
	pthread_t thread;

	say_thread(gettid());
	if (!program[0] || pthread_create(&thread, NULL, wait_for_ever, NULL))
		errx(1, "no thread");
	if (next_line())
		execv(program[0], program);
	return 1;
}

static void *outlive(void *arg)
{
	say_thread(gettid());
	pthread_join(*(pthread_t *)arg, NULL);
	puts("leader ended");
	fflush(stdout);
	next_line();
	exit(0);
}

static int live_leader(char **arg)
{
	static pthread_t self;
	pthread_t thread;

	self = pthread_self();
	say_thread(gettid());
	if (pthread_create(&thread, NULL, outlive, &self))
		errx(1, "no thread");
	for (int n = arg[0] ? atoi(arg[0]) : 1; n > 1; n--)
		if (pthread_create(&thread, NULL, wait_for_ever, NULL))
			errx(1, "no thread");
	next_line();
	pthread_exit(NULL);
}

static bool vfork_exits(int code)
{
	pid_t child = vfork();
	int status;

	if (child == 0)
		_exit(code);
	return waitpid(child, &status, 0) == child && WIFEXITED(status) &&
	       WEXITSTATUS(status) == code;
}

static int live_vfork(char **arg)
{
	unsigned n = arg[0] ? (unsigned)atoi(arg[0]) : 0, right = 0;

	say_thread(gettid());
	next_line();
	for (unsigned i = 0; i < n; i++)
		right += vfork_exits((int)(i % 100));
	printf("vforks %u\n", right);
	fflush(stdout);
	next_line();
	return 0;
}

static int live_attach(char **arg)
{
	bool attached = arg[0] && !ptrace(PTRACE_SEIZE, atoi(arg[0]), NULL, NULL);

	puts(attached ? "ok" : err_name(errno));
	fflush(stdout);
	next_line();
	return 0;
}

static int live_status(char **arg)
{
	(void)arg;
	say_thread(gettid());
	while (next_line()) {
		printf("%s %d\n", program_invocation_short_name, geteuid());
		fflush(stdout);
	}
	return 0;
}

static const struct {
	const char *name;
	int (*live)(char **arg);
} lives[] = {
	{"exec", live_exec},
	{"over", live_over},
	{"leader", live_leader},
	{"vfork", live_vfork},
	{"attach", live_attach},
	{"status", live_status},
};

int main(int argc, char **argv)
{
	end_with_parent();
	for (size_t i = 0; argc > 1 && i < sizeof(lives) / sizeof(lives[0]); i++)
		if (!strcmp(argv[1], lives[i].name))
			return lives[i].live(argv + 2);
	errx(2, "usage: lives exec|over|leader|vfork|attach|status [ARG]...");
}
