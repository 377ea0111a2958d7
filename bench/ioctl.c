// SPDX-License-Identifier: MIT
/*
 * ioctl ROUNDS FLOOR CLONE PMC: what one READ_PMDS of 1, 8 and 32 registers of a context that
 * counts on this CPU costs, in nanoseconds, and its ratio to what the least of its kind does: an
 * ioctl of as many bytes on FLOOR, which gives them back; next to it a request and its answer of as
 * many bytes over a local socket, to another process on this CPU, and getpid(). They take turns in
 * batches; each figure is the median of the batches' averages. Then the life of a context as a
 * whole, whose PMC 0 is PMC.
 */
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "bench/compare.h"
#include "perfmonfs/ioctl.h"

enum { BATCH = 50, LIVES = 2, NSIZES = 3, MOST = 32 };

static const unsigned sizes[NSIZES] = {1, 8, MOST};
static struct pfm_ioc_pmd pmds[MOST];
static int floor_fd, clone_fd, sock, cpu;
static const char *clone_path;
static uint64_t pmc;

static void by_getpid(unsigned n)
{
	(void)n;
	syscall(SYS_getpid);
}

static void by_floor(unsigned n)
{
	if (ioctl(floor_fd, PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, n), pmds) < 0)
		err(1, "ioctl of the floor");
}

static void by_socket(unsigned n)
{
	size_t size = n * sizeof(pmds[0]);

	if (send(sock, pmds, size, 0) != (ssize_t)size ||
		recv(sock, pmds, size, 0) != (ssize_t)size)
		err(1, "socket");
}

static void by_clone(unsigned n)
{
	if (ioctl(clone_fd, PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, n), pmds) < 0)
		err(1, "READ_PMDS");
}

static int counting(void)
{
	struct pfm_ioc_setup setup = {.flags = PFM_IOC_FL_SYSTEM_WIDE};
	struct pfm_ioc_pmc select = {.value = pmc};
	struct pfm_ioc_load load = {.target = (uint32_t)cpu};
	int fd = open(clone_path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, PFM_IOC_SETUP, &setup) < 0 ||
		ioctl(fd, PFM_IOC_WRITE_PMCS, &select) < 0 || ioctl(fd, PFM_IOC_LOAD, &load) < 0 ||
		ioctl(fd, PFM_IOC_START) < 0)
		err(1, "a context on CPU %d", cpu);
	return fd;
}

static void by_life(unsigned n)
{
	int fd = counting();

	if (ioctl(fd, PFM_IOC_STOP) < 0 ||
		ioctl(fd, PFM_IOC_VECTOR(PFM_IOC_READ_PMDS, n), pmds) < 0)
		err(1, "stop and read");
	close(fd);
}

/* Gives back whatever it is sent. */
static pid_t start_echo(void)
{
	static char buf[sizeof(pmds)];
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) < 0)
		err(1, "socketpair");
	sock = ends[0];
	pid = fork();
	if (pid)
		return pid;
	close(ends[0]);
	while ((n = recv(ends[1], buf, sizeof(buf), 0)) > 0)
		send(ends[1], buf, (size_t)n, 0);
	_exit(0);
}

static double batch(void (*once)(unsigned), unsigned n, int times)
{
	uint64_t t = nsec_now(CLOCK_MONOTONIC);

	for (int i = 0; i < times; i++)
		once(n);
	return (double)(nsec_now(CLOCK_MONOTONIC) - t) / times;
}

static double report(const char *name, unsigned n, double *ns, int rounds, double floor_ns)
{
	qsort(ns, (size_t)rounds, sizeof(*ns), compare_double);
	printf("%-24s %2u registers  median %8.0f ns  p99 %8.0f ns", name, n, ns[rounds / 2],
		ns[rounds * 99 / 100]);
	if (floor_ns > 0)
		printf("  ratio %.2f", ns[rounds / 2] / floor_ns);
	printf("\n");
	return ns[rounds / 2];
}

static const struct {
	const char *name;
	void (*once)(unsigned);
} ways[] = {
	{"FUSE that does nothing", by_floor},
	{"AF_UNIX to and fro", by_socket},
	{"READ_PMDS", by_clone},
	{"getpid()", by_getpid},
};

enum { NWAYS = sizeof(ways) / sizeof(ways[0]) };

static void compare_reads(unsigned n, double *ns[NWAYS], int rounds)
{
	double floor_ns = 0;

	for (int r = 0; r < rounds; r++)
		for (unsigned w = 0; w < NWAYS; w++)
			ns[w][r] = batch(ways[w].once, n, BATCH);
	for (unsigned w = 0; w < NWAYS; w++) {
		double median = report(ways[w].name, n, ns[w], rounds, floor_ns);

		if (!w)
			floor_ns = median;
	}
}

int main(int argc, char **argv)
{
	int rounds = argc == 5 ? atoi(argv[1]) : 0;
	double *ns[NWAYS];
	pid_t echo;

	if (rounds < 1)
		errx(2, "usage: ioctl ROUNDS FLOOR CLONE PMC");
	clone_path = argv[3];
	pmc = strtoull(argv[4], NULL, 0);
	cpu = sched_getcpu();
	floor_fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (floor_fd < 0)
		err(1, "%s", argv[2]);
	for (unsigned w = 0; w < NWAYS; w++) {
		ns[w] = calloc((size_t)rounds, sizeof(*ns[w]));
		if (!ns[w])
			err(1, "memory");
	}
	echo = start_echo(); /* first: it is to have no part in the context */
	clone_fd = counting();
	for (unsigned i = 0; i < NSIZES; i++)
		compare_reads(sizes[i], ns, rounds);
	close(clone_fd);
	for (int r = 0; r < rounds; r++)
		ns[0][r] = batch(by_life, 1, LIVES);
	report("open to close", 1, ns[0], rounds, 0);
	close(sock);
	waitpid(echo, NULL, 0);
	return 0;
}
