// SPDX-License-Identifier: MIT
/*
 * blocking PMC0-VALUE: PFM_FL_NOTIFY_BLOCK, with the perf backend: a child that causes page faults,
 * which PMC0-VALUE counts, is stopped from each notification until it is resumed.
 */
#include <perfmon/perfmon.h>

#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/lib/check.h"

enum { PERIOD = 1000, ROUNDS = 3, TIMEOUT_MS = 20000, A_WHILE_MS = 200 };

struct worker {
	pid_t pid;
	int go, alive;
};

/* Page faults, and now and then a sign of life. */
static void work(int go, int alive)
{
	char c;

	IS(read(go, &c, 1), 1);
	for (;;) {
		fault(10);
		IS(write(alive, &c, 1), 1);
	}
}

static struct worker begin(void)
{
	int go[2], alive[2];
	struct worker w;

	OK(pipe(go));
	OK(pipe(alive));
	w.pid = fork();
	if (w.pid == 0)
		work(go[0], alive[1]);
	close(go[0]);
	close(alive[1]);
	w.go = go[1];
	w.alive = alive[0];
	return w;
}

static bool comes(int fd, int ms)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};

	return poll(&poller, 1, ms) == 1;
}

static bool is_alive(const struct worker *w, int ms)
{
	char c[4096];

	return comes(w->alive, ms) && read(w->alive, c, sizeof(c)) > 0;
}

static char state_of(pid_t pid)
{
	char path[64], state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		err(1, "%s", path);
	fclose(f);
	return state;
}

/* When what it had said before has been read, it says no more. */
static void stands_still(const struct worker *w)
{
	const struct timespec ms = {0, 1000000};

	for (int i = 0; i < TIMEOUT_MS && state_of(w->pid) != 't'; i++)
		nanosleep(&ms, NULL);
	IS(state_of(w->pid), 't');
	while (is_alive(w, 0))
		;
	IS(is_alive(w, A_WHILE_MS), 0);
	IS(state_of(w->pid), 't');
}

static void notified(int fd, const struct worker *w)
{
	char line[64];
	pfarg_msg_t msg;

	IS(comes(fd, TIMEOUT_MS), 1);
	IS(read(fd, &msg, sizeof(msg)), sizeof(msg));
	IS(msg.type, PFM_MSG_OVFL);
	IS(msg.pfm_ovfl_msg.msg_ovfl_pid, w->pid);
	IS(msg.pfm_ovfl_msg.msg_ovfl_tid, w->pid);
	snprintf(line, sizeof(line), "masked tid=%d set=0", w->pid);
	HAS(line, "ctx/%lu/state", the_context());
}

static int load_on(const struct worker *w, uint64_t event)
{
	pfarg_ctx_t ctx = {.ctx_flags = PFM_FL_NOTIFY_BLOCK};
	pfarg_load_t load = {.load_pid = (uint32_t)w->pid};
	pfarg_pmc_t pmc = {.reg_value = event};
	pfarg_pmd_t pmd = {.reg_flags = PFM_REGFL_OVFL_NOTIFY,
		.reg_value = (uint64_t)-PERIOD,
		.reg_long_reset = (uint64_t)-PERIOD};
	int fd = FD(pfm_create_context(&ctx, NULL, NULL, 0));

	OK(pfm_write_pmcs(fd, &pmc, 1));
	OK(pfm_write_pmds(fd, &pmd, 1));
	OK(pfm_load_context(fd, &load));
	OK(pfm_start(fd, NULL));
	return fd;
}

int main(int argc, char **argv)
{
	struct worker w;
	int fd, status;

	if (argc != 2)
		return 2;
	w = begin();
	fd = load_on(&w, strtoull(argv[1], NULL, 0));
	IS(write(w.go, "g", 1), 1);
	for (int i = 0; i < ROUNDS; i++) {
		notified(fd, &w);
		stands_still(&w);
		OK(pfm_restart(fd));
		IS(is_alive(&w, TIMEOUT_MS), 1);
	}
	notified(fd, &w);
	stands_still(&w);
	close(fd); /* lets it go, too */
	all_gone();
	is_alive(&w, 0); /* what it has said before */
	IS(is_alive(&w, TIMEOUT_MS), 1);
	OK(kill(w.pid, SIGKILL));
	IS(waitpid(w.pid, &status, 0), w.pid);
	return 0;
}
