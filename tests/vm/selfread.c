// SPDX-License-Identifier: MIT
/*
 * selfread MOUNT ROUNDS COUNT [move]: a thread counts its own user instructions (selector 0x4100c0
 * in PMC 0) and reads them around a loop of 2 * COUNT instructions, ROUNDS times, by RDPMC where
 * that is possible. Every 64 rounds, the daemon reads the count, too. Prints one line:
 *
 *   rdpmc N      of the loops, those that RDPMC was read before and after
 *   backwards N  readings lower than one before
 *   outside N    readings by the daemon that are not between those before and after it
 *   short N      the most instructions that a loop lacks
 *   usual N      by the median of all rounds, the instructions of the loop and of a reading
 *   empty N      the same with an empty loop
 *   moves N      times that another thread has moved it to another CPU, with `move`
 *   switches N   times that it went off its CPU
 *   lost N       1: the daemon has lost the count, and the others mean nothing
 *   ns N N       median cost of a reading by RDPMC, and by the daemon
 */
#include <err.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/nsec.h"
#include "lib/region_ctx.h"

enum { EMPTY_ROUNDS = 101, COST_ROUNDS = 101, CHECK_EVERY = 64 };

static struct pfm_region_table table = {
	.version = PFM_REGION_VERSION,
	.npmds = 1,
	.live = 1,
	.regs = "pmc0 0x4100c0\n",
};
static struct region_ctx ctx;
static uint64_t last, rdpmc, loops, backwards, outside, lacks;

static uint64_t by_daemon(void)
{
	uint64_t count = 0;

	if (region_ctx_read_checked(&ctx, &table, &count) == 0)
		return count;
	if (errno != EIO)
		err(1, "reading");
	puts("lost 1");
	exit(0);
}

static uint64_t by_page(void)
{
	uint64_t count;

	if (ctx.page && pfm_live_read_thread(ctx.page, 1, ctx.index, &count) == 0)
		rdpmc++;
	else
		count = by_daemon();
	backwards += count < last;
	last = count;
	return count;
}

static uint64_t around_loop(uint64_t count)
{
	uint64_t had = rdpmc, begin = by_page(), end;

	if (count)
		__asm__ volatile("1:\tdec %0\n\tjnz 1b" : "+r"(count) : : "cc");
	end = by_page();
	loops += rdpmc == had + 2;
	return end - begin;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint64_t median(uint64_t *n, unsigned long of)
{
	qsort(n, of, sizeof(*n), compare);
	return n[of / 2];
}

static uint64_t *array(unsigned long n)
{
	uint64_t *a = calloc(n, sizeof(*a));

	if (!a)
		err(1, "memory");
	return a;
}

/* The median over @rounds of the instructions around the loop. */
static uint64_t usual(unsigned long rounds, uint64_t count)
{
	uint64_t *n = array(rounds);

	for (unsigned long r = 0; r < rounds; r++) {
		n[r] = around_loop(count);
		if (n[r] < 2 * count && 2 * count - n[r] > lacks)
			lacks = 2 * count - n[r];
		if (r % CHECK_EVERY == 0) {
			uint64_t before = last, now = by_daemon();

			outside += now < before || by_page() < now;
		}
	}
	return median(n, rounds);
}

static uint64_t cost(uint64_t (*reading)(void))
{
	uint64_t *ns = array(COST_ROUNDS);

	for (unsigned r = 0; r < COST_ROUNDS; r++) {
		uint64_t begun = nsec_now(CLOCK_MONOTONIC);

		reading();
		ns[r] = nsec_now(CLOCK_MONOTONIC) - begun;
	}
	return median(ns, COST_ROUNDS);
}

/* --- Moves */

enum { MOVE_EVERY_US = 300 };

static atomic_bool ended;
static unsigned long moves;

/* From CPU 0 to 1 and back, in the middle of anything. */
static void *mover(void *arg)
{
	const pid_t *tid = arg;

	for (; !ended; moves++) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		CPU_SET(moves % 2, &cpus);
		if (sched_setaffinity(*tid, sizeof(cpus), &cpus) < 0)
			err(1, "moving");
		usleep(MOVE_EVERY_US);
	}
	return NULL;
}

static unsigned long switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (unsigned long)(u.ru_nvcsw + u.ru_nivcsw);
}

int main(int argc, char **argv)
{
	struct pfm_region_loss loss;
	uint64_t empty, loop, read;
	unsigned long rounds;
	pid_t tid = gettid();
	pthread_t thread;

	if (argc != 4 && (argc != 5 || strcmp(argv[4], "move") != 0))
		errx(2, "usage: selfread MOUNT ROUNDS COUNT [move]");
	rounds = strtoul(argv[2], NULL, 10);
	snprintf(table.mount, sizeof(table.mount), "%s", argv[1]);
	if (region_ctx_open(&ctx, &table, &loss) < 0)
		errx(1, "%s", loss.sentence);
	empty = usual(EMPTY_ROUNDS, 0);
	loops = 0;
	if (argc == 5 && pthread_create(&thread, NULL, mover, &tid) != 0)
		errx(1, "no thread");
	loop = usual(rounds, strtoul(argv[3], NULL, 10));
	read = loops;
	ended = true;
	if (argc == 5)
		pthread_join(thread, NULL);
	printf("ns %lu %lu ", cost(by_page), cost(by_daemon));
	by_daemon();
	printf("rdpmc %lu backwards %lu outside %lu short %lu usual %lu empty %lu moves %lu "
	       "switches %lu lost 0\n",
		read, backwards, outside, lacks, loop, empty, moves, switches());
	region_ctx_close(&ctx);
	return 0;
}
