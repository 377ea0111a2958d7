// SPDX-License-Identifier: MIT
/*
 * last_close PMC0-VALUE: what close(2) does to a context that two processes share, or that is on
 * another process's thread: figures 3.9 to 3.11 of the specification, with the perf backend. P1 is
 * this process, P2 a child of it.
 */
#include <perfmon/perfmon.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/check.h"

static uint64_t event;

static int make(void)
{
	pfarg_ctx_t ctx = {.ctx_flags = 0};
	pfarg_pmc_t pmc = {.reg_value = event};
	int fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));

	OK(pfm_write_pmcs(fd, &pmc, 1));
	return fd;
}

static void load_on(int fd, pid_t tid)
{
	pfarg_load_t load = {.load_pid = (uint32_t)tid};

	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
}

/* P2 executes orders and answers each. */
struct p2 {
	pid_t pid;
	int orders, answers;
};

enum order { LOAD_SELF = 'l', WRITE = 'w', CLOSE = 'c', NOTHING = 'n', EXIT = 'x' };

static void obey(int fd, char order)
{
	pfarg_pmd_t pmd = {.reg_num = 1, .reg_value = 42};

	switch (order) {
	case LOAD_SELF:
		load_on(fd, gettid());
		break;
	case WRITE:
		OK(pfm_write_pmds(fd, &pmd, 1));
		break;
	case CLOSE:
		OK(close(fd));
		FAILS(pfm_stop(fd), EBADF);
		break;
	case EXIT:
		_exit(0);
	default:
		break;
	}
}

static void serve(int fd, int orders, int answers)
{
	char order;

	while (read(orders, &order, 1) == 1) {
		obey(fd, order);
		IS(write(answers, &order, 1), 1);
	}
	_exit(1);
}

/* With the descriptor @fd, as fork() gives it. */
static struct p2 begin(int fd)
{
	int to[2], from[2];
	struct p2 p;

	OK(pipe(to));
	OK(pipe(from));
	p.pid = fork();
	if (p.pid == 0) {
		close(to[1]);
		close(from[0]);
		serve(fd, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	p.orders = to[1];
	p.answers = from[0];
	return p;
}

static void order(const struct p2 *p, enum order what)
{
	char c = (char)what;

	IS(write(p->orders, &c, 1), 1);
	IS(read(p->answers, &c, 1), 1);
}

static void end(const struct p2 *p)
{
	char c = EXIT;

	IS(write(p->orders, &c, 1), 1);
	ends_well(p->pid);
	close(p->orders);
	close(p->answers);
}

static void is_running_on(const struct p2 *p)
{
	char line[64];

	snprintf(line, sizeof(line), "running tid=%d set=0", p->pid);
	HAS(line, "ctx/%lu/state", the_context());
}

static bool is_traced(pid_t pid)
{
	char path[64], line[128];
	bool traced = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	IS(f != NULL, 1);
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "TracerPid:", 10) == 0)
			traced = strcmp(line, "TracerPid:\t0\n") != 0;
	fclose(f);
	return traced;
}

/* Nothing is left of it, and the thread is as before: it runs, and can have another. */
static void is_free(const struct p2 *p)
{
	const struct timespec ms = {0, 1000000};
	int fd;

	all_gone();
	for (int i = 0; i < 20000 && is_traced(p->pid); i++)
		nanosleep(&ms, NULL);
	IS(is_traced(p->pid), 0);
	order(p, NOTHING);
	fd = make();
	load_on(fd, p->pid);
	is_running_on(p);
	close(fd);
	all_gone();
}

/* Figure 3.9: detached, shared. */
static void detached(void)
{
	int fd = make();
	struct p2 p = begin(fd);
	pfarg_pmd_t pmd = {.reg_num = 1};

	OK(close(fd));
	IS(contexts(), 1);
	order(&p, WRITE);
	IS(number_in("ctx/%lu/pmd/1", the_context()), 42);
	end(&p);
	all_gone();
	/* And the other way round. */
	fd = make();
	p = begin(fd);
	order(&p, CLOSE);
	OK(pfm_read_pmds(fd, &pmd, 1));
	close(fd);
	is_free(&p);
	end(&p);
}

/* Figure 3.10: a shared context on P2's thread. P2's close is not the last, and has no effect. */
static void attached_to_sharer(void)
{
	int fd = make();
	struct p2 p = begin(fd);

	order(&p, LOAD_SELF);
	order(&p, CLOSE);
	is_running_on(&p);
	OK(pfm_stop(fd));
	OK(pfm_start(fd, NULL));
	is_running_on(&p);
	OK(close(fd));
	is_free(&p);
	end(&p);
}

/* The same, when P1 has gone and P2 closes. */
static void attached_to_last(void)
{
	int fd = make();
	struct p2 p = begin(fd);

	order(&p, LOAD_SELF);
	OK(close(fd));
	is_running_on(&p);
	order(&p, CLOSE);
	is_free(&p);
	end(&p);
	/* And when it ends without. */
	fd = make();
	p = begin(fd);
	order(&p, LOAD_SELF);
	OK(close(fd));
	end(&p);
	all_gone();
}

/* Figure 3.11: P1's alone, on P2's thread; by close, after which it can be loaded on at once. */
static void attached_to_other(void)
{
	int fd = make(), next;
	struct p2 p = begin(fd);

	order(&p, CLOSE);
	load_on(fd, p.pid);
	is_running_on(&p);
	next = make();
	OK(close(fd));
	load_on(next, p.pid);
	close(next);
	is_free(&p);
	end(&p);
}

/* The same, when the controlling process ends. */
static void controller_killed(void)
{
	struct p2 p = begin(-1);
	struct p2 controller;
	int fd = make(), status;

	controller = begin(fd);
	load_on(fd, p.pid);
	OK(close(fd));
	is_running_on(&p);
	OK(kill(controller.pid, SIGKILL));
	IS(waitpid(controller.pid, &status, 0), controller.pid);
	is_free(&p);
	end(&p);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	event = strtoull(argv[1], NULL, 0);
	detached();
	attached_to_sharer();
	attached_to_last();
	attached_to_other();
	controller_killed();
	return 0;
}
