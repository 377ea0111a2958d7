// SPDX-License-Identifier: MIT
/*
 * probe MOUNTPOINT: does what any user does, again and again, until standard input ends: how long
 * each of it takes, in milliseconds.
 */
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "bench/compare.h"

enum { ROUNDS_MAX = 1000000, PAUSE_MS = 2 };

static char context[32], pmd[64];

static void probe_cat(void)
{
	char text[256];
	int fd = open("version", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		err(1, "version");
	close(fd);
}

static void probe_mkdir(void)
{
	if (mkdir(context, 0700) < 0)
		err(1, "%s", context);
}

static void probe_write(void)
{
	int fd = open(pmd, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		err(1, "%s", pmd);
	close(fd);
}

static void probe_rmdir(void)
{
	if (rmdir(context) < 0)
		err(1, "%s", context);
}

static struct operation {
	const char *name;
	void (*run)(void);
	uint64_t *took;
} operations[] = {
	{"cat", probe_cat, NULL},
	{"mkdir", probe_mkdir, NULL},
	{"write", probe_write, NULL},
	{"rmdir", probe_rmdir, NULL},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static size_t measure(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t n = 0;

	do {
		for (struct operation *op = operations; op < operations + OPERATIONS; op++) {
			uint64_t begun = nsec_now(CLOCK_MONOTONIC);

			op->run();
			op->took[n] = nsec_now(CLOCK_MONOTONIC) - begun;
		}
		n++;
	} while (n < ROUNDS_MAX && poll(&in, 1, PAUSE_MS) == 0);
	return n;
}

int main(int argc, char **argv)
{
	size_t n;

	if (argc != 2)
		errx(2, "usage: probe MOUNTPOINT");
	if (chdir(argv[1]) < 0)
		err(1, "%s", argv[1]);
	snprintf(context, sizeof(context), "ctx/probe%d", (int)getpid());
	snprintf(pmd, sizeof(pmd), "%s/pmd/0", context);
	for (size_t i = 0; i < OPERATIONS; i++) {
		operations[i].took = calloc(ROUNDS_MAX, sizeof(uint64_t));
		if (!operations[i].took)
			err(1, "memory");
	}
	n = measure();
	printf("%7zu", n);
	for (struct operation *op = operations; op < operations + OPERATIONS; op++) {
		qsort(op->took, n, sizeof(*op->took), compare_u64);
		printf("  %5s %7.2f %7.1f", op->name, (double)op->took[n / 2] / 1e6,
			(double)op->took[n - 1] / 1e6);
	}
	putchar('\n');
	return 0;
}
