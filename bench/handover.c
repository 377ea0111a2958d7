// SPDX-License-Identifier: MIT
/*
 * handover MNT CPU PMC0 ROUNDS: how long, in microseconds, it takes a context to get the registers
 * of CPU where they are free, where a background context counts and yields, and how long that takes
 * to count again after them. Creates the contexts handover and site, and removes them.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "bench/compare.h"

enum {
	SITE_EVERY_NS = 300000, /* between two rounds, in which the site counts */
	LATE_NS = 1000000,      /* longer than a handover is to take */
};

struct ctx {
	char dir[4000];
	int ctl, state;
};

static int open_in(const struct ctx *c, const char *name, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", c->dir, name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

static void put(int fd, const char *what)
{
	if (pwrite(fd, what, strlen(what), 0) < 0)
		err(1, "%s", what);
}

static void put_in(const struct ctx *c, const char *name, const char *what)
{
	int fd = open_in(c, name, O_WRONLY);

	put(fd, what);
	close(fd);
}

static void make(struct ctx *c, const char *mnt, const char *name, const char *pmc)
{
	snprintf(c->dir, sizeof(c->dir), "%s/ctx/%s", mnt, name);
	if (mkdir(c->dir, 0700) < 0)
		err(1, "%s", c->dir);
	put_in(c, "pmc/0", pmc);
	c->ctl = open_in(c, "ctl", O_WRONLY);
	c->state = open_in(c, "state", O_RDONLY);
}

static uint64_t timed(int fd, const char *what)
{
	uint64_t t = nsec_now(CLOCK_MONOTONIC);

	put(fd, what);
	return nsec_now(CLOCK_MONOTONIC) - t;
}

static void await_running(const struct ctx *c)
{
	char text[64];

	do {
		memset(text, 0, sizeof(text));
		if (pread(c->state, text, sizeof(text) - 1, 0) < 0)
			err(1, "state");
	} while (strncmp(text, "running", 7) != 0);
}

static void print(const char *what, uint64_t *ns, size_t n)
{
	size_t late = 0;

	qsort(ns, n, sizeof(*ns), compare_u64);
	while (late < n && ns[n - 1 - late] > LATE_NS)
		late++;
	printf("%-39s %7.1f %7.1f %7.1f %7.1f  %zu of %zu\n", what, (double)ns[n / 2] / 1e3,
		(double)ns[n * 9 / 10] / 1e3, (double)ns[n * 99 / 100] / 1e3,
		(double)ns[n - 1] / 1e3, late, n);
}

int main(int argc, char **argv)
{
	const struct timespec pause = {.tv_nsec = SITE_EVERY_NS};
	size_t n = argc == 5 ? strtoul(argv[4], NULL, 0) : 0;
	uint64_t *alone, *yields, *resumes;
	struct ctx job, site;
	char load[32];

	if (!n)
		errx(2, "usage: handover MNT CPU PMC0 ROUNDS");
	alone = calloc(n, sizeof(*alone));
	yields = calloc(n, sizeof(*yields));
	resumes = calloc(n, sizeof(*resumes));
	if (!alone || !yields || !resumes)
		err(1, "%zu rounds", n);
	snprintf(load, sizeof(load), "load cpu=%s", argv[2]);
	make(&job, argv[1], "handover", argv[3]);
	make(&site, argv[1], "site", argv[3]);
	put_in(&site, "flags", "background");
	for (size_t i = 0; i < n; i++) {
		alone[i] = timed(job.ctl, load);
		put(job.ctl, "unload");
		nanosleep(&pause, NULL);
	}
	put(site.ctl, load);
	put(site.ctl, "start");
	for (size_t i = 0; i < n; i++) {
		nanosleep(&pause, NULL);
		yields[i] = timed(job.ctl, load);
		resumes[i] = nsec_now(CLOCK_MONOTONIC);
		put(job.ctl, "unload");
		await_running(&site);
		resumes[i] = nsec_now(CLOCK_MONOTONIC) - resumes[i];
	}
	printf("%-39s %7s %7s %7s %7s  %s\n", "us", "median", "90 %", "99 %", "most", "over 1 ms");
	print("load of a free CPU", alone, n);
	print("load where a background context yields", yields, n);
	print("unload until it counts again", resumes, n);
	rmdir(site.dir);
	rmdir(job.dir);
	return 0;
}
