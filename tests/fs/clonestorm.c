// SPDX-License-Identifier: MIT
/*
 * clonestorm CLONE SECONDS [SEED]: threads that share open clones, and do anything with them, most
 * of it nearly right: commands with a field or the size or the address wrong, reads, mappings,
 * duplicates, closing while others are in a call. Whatever comes, an errno that clone knows must
 * answer it. Prints how many calls there were, and how many were answered with what. Exit 1: there
 * was another answer, or the daemon is gone.
 *
 * The same SEED begins the same series in each thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/nsec.h"
#include "perfmonfs/ioctl.h"
#include "perfmonfs/live.h"
#include "perfmonfs/smpl_dfl.h"

enum { THREADS = 4, CLONES = 8, ERRNOS = 134 };

static const char *path;
static uint64_t until;
static atomic_int clones[CLONES]; /* -1: not open now */
static atomic_ulong answers[ERRNOS];
static atomic_bool wrong;

/* What clone documents, and what the kernel answers by itself: EFAULT, and EPERM of mprotect. */
static const int known[] = {0, EPERM, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, EBADF, EAGAIN,
	ENOMEM, EACCES, EFAULT, EBUSY, EEXIST, ENODEV, EINVAL, ENOTTY, ENOSPC, ERANGE};

static void note(const char *what, long rc)
{
	int no = rc < 0 ? errno : 0;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i] == no) {
			atomic_fetch_add(&answers[no], 1);
			return;
		}
	if (!atomic_exchange(&wrong, true))
		printf("%s: %s\n", what, strerrorname_np(no));
}

struct dice {
	uint64_t state;
};

/* xorshift64*: nothing here depends on how good it is. */
static uint64_t draw(struct dice *d)
{
	d->state ^= d->state >> 12;
	d->state ^= d->state << 25;
	d->state ^= d->state >> 27;
	return d->state * UINT64_C(0x2545f4914f6cdd1d);
}

static unsigned below(struct dice *d, unsigned n)
{
	return (unsigned)(draw(d) >> 32) % n;
}

static bool one_in(struct dice *d, unsigned n)
{
	return below(d, n) == 0;
}

/* Values near the edges of something. */
static uint64_t edge(struct dice *d)
{
	static const uint64_t edges[] = {0, 1, 2, 3, 16, 31, 63, 64, 100, 319, 320, 65535, 65536,
		0x4100c0, 0x5300c0, 0xb0b, 1000000, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
	uint64_t value = edges[below(d, sizeof(edges) / sizeof(edges[0]))];

	return one_in(d, 4) ? -value : one_in(d, 8) ? draw(d) : value;
}

static const unsigned long commands[] = {PFM_IOC_WRITE_PMCS, PFM_IOC_WRITE_PMDS, PFM_IOC_READ_PMDS,
	PFM_IOC_LOAD, PFM_IOC_START, PFM_IOC_START_SET, PFM_IOC_STOP, PFM_IOC_RESTART,
	PFM_IOC_CREATE_EVTSETS, PFM_IOC_GETINFO_EVTSETS, PFM_IOC_DELETE_EVTSETS, PFM_IOC_UNLOAD,
	PFM_IOC_SETUP, PFM_IOC_SIGNAL, PFM_IOC_WRITE_PMCS_V06, PFM_IOC_INFO};

/* All commands' first four bytes are two numbers, or one. Small ones are mostly valid. */
static void fill(struct dice *d, unsigned char *bytes, size_t size, size_t step)
{
	memset(bytes, 0, size);
	for (size_t at = 0; at + step <= size && step; at += step) {
		uint16_t num = (uint16_t)below(d, 6), set = (uint16_t)below(d, 3);

		memcpy(bytes + at, &num, sizeof(num));
		memcpy(bytes + at + 2, &set, sizeof(set));
	}
	for (unsigned n = below(d, 6); n && size >= 8; n--) {
		uint64_t value = edge(d);
		size_t width = one_in(d, 2) ? 8 : 4;

		memcpy(bytes + below(d, (unsigned)(size / width)) * width, &value, width);
	}
}

static void set_up(struct dice *d, unsigned char *bytes)
{
	struct pfm_ioc_setup s = {
		.flags = (one_in(d, 4) ? 0 : PFM_IOC_FL_SYSTEM_WIDE) |
			 (one_in(d, 2) ? PFM_IOC_FL_MAP_SETS : 0),
	};
	pfm_dfl_smpl_arg_t arg = {.buf_size = 4096 + below(d, 65536)};

	if (one_in(d, 2)) {
		strcpy(s.format, "default");
		s.arg_size = sizeof(arg);
	}
	memcpy(bytes, &s, sizeof(s));
	memcpy(bytes + sizeof(s), &arg, sizeof(arg));
}

/* The bytes of its mask of CPUs. */
static size_t set_load(struct dice *d, unsigned char *bytes)
{
	struct pfm_ioc_load load = {
		.target = one_in(d, 2) ? below(d, 3) : (uint32_t)gettid(),
		.flags = one_in(d, 2) ? 0 : below(d, 4),
	};
	uint64_t mask = 1 + below(d, 7);

	memcpy(bytes, &load, sizeof(load));
	memcpy(bytes + sizeof(load), &mask, sizeof(mask));
	return one_in(d, 2) ? 0 : below(d, sizeof(mask) + 1);
}

/* Those that can be ignored, and some that there are not. */
static const int signals[] = {0, SIGIO, SIGUSR1, SIGURG, 40, 65, -1};
enum { NSIGNALS = sizeof(signals) / sizeof(signals[0]) };

static void command(struct dice *d, int fd)
{
	static _Thread_local unsigned char bytes[1 << 14];
	unsigned long cmd = commands[below(d, sizeof(commands) / sizeof(commands[0]))];
	size_t step = _IOC_SIZE(cmd), size = step * (1 + below(d, one_in(d, 8) ? 100 : 4));

	if (size > PFM_IOC_SIZE_MAX)
		size = step;
	fill(d, bytes, size, step);
	if (cmd == PFM_IOC_SETUP && !one_in(d, 4)) {
		set_up(d, bytes);
		size = step + ((struct pfm_ioc_setup *)(void *)bytes)->arg_size;
	} else if (cmd == PFM_IOC_LOAD && !one_in(d, 4)) {
		size = step + set_load(d, bytes);
	} else if (cmd == PFM_IOC_SIGNAL) {
		struct pfm_ioc_signal s = {
			.sig = signals[below(d, NSIGNALS)], .type = one_in(d, 2)};

		memcpy(bytes, &s, size = sizeof(s));
	}
	if (one_in(d, 16))
		size = below(d, PFM_IOC_SIZE_MAX);
	if (one_in(d, 16))
		cmd = _IOC(below(d, 4), one_in(d, 4) ? below(d, 256) : 'p', below(d, 256), 0);
	cmd = _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
	note("ioctl", ioctl(fd, cmd, one_in(d, 64) ? (void *)8 : bytes));
}

/* What is mapped may be nothing but the first page, and be closed already. */
static void map(struct dice *d, int fd)
{
	size_t size = 4096 * (1 + below(d, 16));
	off_t at = one_in(d, 2) ? 0 : 4096 * (off_t)below(d, 1024);
	void *p = mmap(NULL, size, one_in(d, 8) ? PROT_READ | PROT_WRITE : PROT_READ,
		one_in(d, 2) ? MAP_SHARED : MAP_PRIVATE, fd, at);

	note("mmap", p == MAP_FAILED ? -1 : 0);
	if (p == MAP_FAILED)
		return;
	usleep(below(d, 200));
	munmap(p, size);
}

static void take(struct dice *d, int fd)
{
	static _Thread_local unsigned char bytes[4096];

	note("read", read(fd, bytes, one_in(d, 4) ? below(d, 4096) : 64));
}

static void wait_for(struct dice *d, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLPRI};

	note("poll", poll(&p, 1, (int)below(d, 3)));
}

/* Another thread may be in a call with what is closed here. */
static void renew(struct dice *d, unsigned i)
{
	static const int modes[] = {O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY};
	int mode = modes[below(d, sizeof(modes) / sizeof(modes[0]))], fd = -1;
	int old = atomic_exchange(&clones[i], -1);

	if (old >= 0 && one_in(d, 4)) {
		fd = dup(old); /* the same context goes on */
		note("dup", fd);
	}
	if (old >= 0)
		note("close", close(old));
	if (fd < 0) {
		fd = open(path, mode | O_NONBLOCK | O_CLOEXEC);
		note("open", fd);
	}
	old = fd < 0 ? -1 : atomic_exchange(&clones[i], fd);
	if (old >= 0)
		close(old);
}

static void act(struct dice *d)
{
	unsigned i = below(d, CLONES);
	int fd = atomic_load(&clones[i]);

	if (fd < 0 || one_in(d, 64)) {
		renew(d, i);
		return;
	}
	switch (below(d, 16)) {
	case 0:
		map(d, fd);
		break;
	case 1:
		take(d, fd);
		break;
	case 2:
		wait_for(d, fd);
		break;
	default:
		command(d, fd);
	}
}

static void *storm(void *arg)
{
	struct dice d = {.state = (uint64_t)(uintptr_t)arg};

	while (!atomic_load(&wrong) && nsec_now(CLOCK_MONOTONIC) < until)
		act(&d);
	return NULL;
}

static void report(void)
{
	unsigned long all = 0;

	for (int no = 0; no < ERRNOS; no++)
		all += answers[no];
	printf("%lu calls:", all);
	for (int no = 0; no < ERRNOS; no++)
		if (answers[no])
			printf(" %s %lu", no ? strerrorname_np(no) : "ok", answers[no]);
	putchar('\n');
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : nsec_now(CLOCK_REALTIME);
	pthread_t threads[THREADS];

	if (argc < 3) {
		fputs("usage: clonestorm CLONE SECONDS [SEED]\n", stderr);
		return 2;
	}
	path = argv[1];
	until = nsec_now(CLOCK_MONOTONIC) + strtoull(argv[2], NULL, 0) * NSEC_PER_SEC;
	printf("SEED %llu\n", (unsigned long long)seed);
	for (unsigned i = 0; i < NSIGNALS; i++)
		signal(signals[i], SIG_IGN);
	for (unsigned i = 0; i < CLONES; i++)
		clones[i] = -1;
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, storm, (void *)((seed + i) * 2 + 1)))
			return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	report();
	return wrong;
}
