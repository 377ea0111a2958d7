// SPDX-License-Identifier: MIT
/*
 * live ROUNDS LIVE PMD: what one read of a count costs, in nanoseconds, and its ratio to getpid():
 * from the mapped page LIVE, by pread() of PMD on an open file, and by pread() of LIVE, which gives
 * the counts of all as text. They take turns in batches; each figure is the median of the batches'
 * averages. Then the age of a count in the page, in microseconds, at times that are not in step
 * with the ticks at which the daemon updates it.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "bench/compare.h"
#include "perfmonfs/live.h"

enum { BATCH = 1000, SLOW_BATCH = 20, WAYS = 4 };

static const struct pfm_live *page;
static int pmd_fd, live_fd;
static uint64_t sum; /* that nothing is left out */

static void by_getpid(void)
{
	sum += (uint64_t)syscall(SYS_getpid);
}

static void by_page(void)
{
	uint64_t count = 0;

	if (pfm_live_read(page, 0, 0, &count))
		errx(1, "the page cannot be read");
	sum += count;
}

static void by_pread(int fd)
{
	char buf[4096];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	if (n <= 0)
		err(1, "pread");
	sum += (uint64_t)n;
}

static void by_pmd(void)
{
	by_pread(pmd_fd);
}

static void by_text(void)
{
	by_pread(live_fd);
}

static const struct {
	const char *name;
	void (*once)(void);
	int batch;
} ways[WAYS] = {
	{"getpid()", by_getpid, BATCH},
	{"pfm_live_read() of the page", by_page, BATCH},
	{"pread() of pmd/N", by_pmd, SLOW_BATCH},
	{"pread() of live", by_text, SLOW_BATCH},
};

static double batch(unsigned w)
{
	uint64_t t = nsec_now(CLOCK_MONOTONIC);

	for (int i = 0; i < ways[w].batch; i++)
		ways[w].once();
	return (double)(nsec_now(CLOCK_MONOTONIC) - t) / ways[w].batch;
}

static void open_all(const char *live, const char *pmd)
{
	live_fd = open(live, O_RDONLY | O_CLOEXEC);
	if (live_fd < 0)
		err(1, "%s", live);
	pmd_fd = open(pmd, O_RDONLY | O_CLOEXEC);
	if (pmd_fd < 0)
		err(1, "%s", pmd);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, live_fd, 0);
	if (page == MAP_FAILED)
		err(1, "mapping %s (without passthrough, it cannot be)", live);
}

/* 0: the count is that of now. */
static double age(void)
{
	const struct timespec pause = {.tv_nsec = 1370000};
	struct pfm_live_count c;

	nanosleep(&pause, NULL);
	if (pfm_live_read_time(page, 0, 0, &c))
		errx(1, "the page cannot be read");
	return c.time ? (double)(nsec_now(CLOCK_MONOTONIC) - c.time) : 0;
}

static void ages(int rounds, double *ns)
{
	for (int r = 0; r < rounds; r++)
		ns[r] = age();
	qsort(ns, (size_t)rounds, sizeof(*ns), compare_double);
	printf("%-28s median %8.1f us  p99 %8.1f us  max %8.1f us\n", "age of the page",
		ns[rounds / 2] / 1000, ns[rounds * 99 / 100] / 1000, ns[rounds - 1] / 1000);
}

int main(int argc, char **argv)
{
	int rounds = argc == 4 ? atoi(argv[1]) : 0;
	double *ns[WAYS], floor_ns = 0;

	if (rounds < 1)
		errx(2, "usage: live ROUNDS LIVE PMD");
	open_all(argv[2], argv[3]);
	for (unsigned w = 0; w < WAYS; w++) {
		ns[w] = calloc((size_t)rounds, sizeof(*ns[w]));
		if (!ns[w])
			err(1, "memory");
	}
	for (int r = 0; r < rounds; r++)
		for (unsigned w = 0; w < WAYS; w++)
			ns[w][r] = batch(w);
	for (unsigned w = 0; w < WAYS; w++) {
		qsort(ns[w], (size_t)rounds, sizeof(*ns[w]), compare_double);
		if (!w)
			floor_ns = ns[w][rounds / 2];
		printf("%-28s median %8.1f ns  p99 %8.1f ns  ratio %.3f\n", ways[w].name,
			ns[w][rounds / 2], ns[w][rounds * 99 / 100], ns[w][rounds / 2] / floor_ns);
	}
	ages(rounds, ns[0]);
	return sum == 0;
}
