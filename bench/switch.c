// SPDX-License-Identifier: MIT
/*
 * switch MOUNTPOINT CONTEXT CPU MS [LOOP]: lets a loaded context run for MS milliseconds and tells
 * what its switches cost: processor time of the CPU's worker, by the scheduler's account, and time
 * in which no set was active. With LOOP this thread keeps the CPU busy meanwhile, else it sleeps.
 */
#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"

static uint64_t number(const char *path)
{
	uint64_t n = 0;
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%" SCNu64, &n) != 1)
		err(1, "%s", path);
	fclose(f);
	return n;
}

static uint64_t stat_of(const char *mnt, const char *key)
{
	char path[256], name[32];
	uint64_t n, found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/stats", mnt);
	f = fopen(path, "r");
	if (!f)
		err(1, "%s", path);
	while (fscanf(f, "%31s %" SCNu64, name, &n) == 2)
		if (!strcmp(name, key))
			found = n;
	fclose(f);
	return found;
}

/* The threads are named after their CPU; another daemon's would be elsewhere. */
static void find_worker(unsigned cpu, char *path, size_t size)
{
	char want[32], have[32] = "";
	glob_t g;

	snprintf(want, sizeof(want), "pfm/%u", cpu);
	if (glob("/proc/[0-9]*/task/*/comm", 0, NULL, &g))
		errx(1, "no /proc");
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "r");

		if (f && fscanf(f, "%31s", have) == 1 && !strcmp(have, want))
			snprintf(path, size, "%.*s/schedstat",
				(int)strlen(g.gl_pathv[i]) - (int)strlen("/comm"), g.gl_pathv[i]);
		if (f)
			fclose(f);
	}
	globfree(&g);
	if (!*path)
		errx(1, "no thread %s", want);
}

static uint64_t active_ns(void)
{
	uint64_t sum = 0;
	glob_t g;

	if (glob("set/[0-9]*/active_ns", 0, NULL, &g))
		errx(1, "no event sets");
	for (size_t i = 0; i < g.gl_pathc; i++)
		sum += number(g.gl_pathv[i]);
	globfree(&g);
	return sum;
}

static void command(const char *word)
{
	int fd = open("ctl", O_WRONLY);

	if (fd < 0 || write(fd, word, strlen(word)) < 0)
		err(1, "%s", word);
	close(fd);
}

static void pass(uint64_t ns, bool loop)
{
	struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	uint64_t until = nsec_now(CLOCK_MONOTONIC) + ns;

	if (!loop)
		nanosleep(&t, NULL);
	while (loop && nsec_now(CLOCK_MONOTONIC) < until)
		;
}

int main(int argc, char **argv)
{
	char worker[128] = "", dir[256];
	uint64_t cpu_ns, off, wall, switches;
	unsigned cpu;
	cpu_set_t set;

	if (argc < 5)
		errx(2, "usage: switch MOUNTPOINT CONTEXT CPU MS [loop]");
	cpu = (unsigned)atoi(argv[3]);
	snprintf(dir, sizeof(dir), "%s/ctx/%s", argv[1], argv[2]);
	if (chdir(dir) < 0)
		err(1, "%s", dir);
	find_worker(cpu, worker, sizeof(worker));
	CPU_ZERO(&set);
	CPU_SET(argc > 5 ? cpu : 0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	switches = stat_of(argv[1], "switches");
	off = active_ns();
	command("start");
	cpu_ns = number(worker);
	wall = nsec_now(CLOCK_MONOTONIC);
	pass(strtoull(argv[4], NULL, 10) * 1000000, argc > 5);
	wall = nsec_now(CLOCK_MONOTONIC) - wall;
	cpu_ns = number(worker) - cpu_ns;
	command("stop");
	switches = stat_of(argv[1], "switches") - switches;
	off = active_ns() - off;
	off = wall > off ? wall - off : 0;
	printf("%" PRIu64 " switches, worker %.2f us each, counters off %.2f us each, "
	       "overhead %.2f %% of the CPU\n",
		switches, (double)cpu_ns / 1e3 / (double)(switches ? switches : 1),
		(double)off / 1e3 / (double)(switches ? switches : 1),
		100.0 * (double)cpu_ns / (double)wall);
	return 0;
}
