// SPDX-License-Identifier: MIT
/*
 * One file operation, its outcome in one word: for shell tests, which must not compare strerror
 * texts. Prints "ok", data in hex, a count, or an errno's name, and then exits 0: a test asks
 * for what is printed. Exit 2: the operation was not understood.
 *
 *   fsprobe open PATH FLAGS            FLAGS: rdonly|wronly|rdwr, then any of ,trunc ,append
 *                                      ,creat ,nonblock ,direct
 *   fsprobe pread PATH SIZE OFFSET     the bytes in hex; PATH - is the open standard input
 *   fsprobe read PATH SIZE FLAGS       the same by read(2)
 *   fsprobe splice PATH SIZE FLAGS     the same by splice(2), through a pipe
 *   fsprobe sendfile PATH SIZE FLAGS   the same by sendfile(2); both need SIZE below that of a pipe
 *   fsprobe interrupt PATH SIZE MS     a read(2) that a signal interrupts after that time, with a
 *                                      handler that has it restarted, if that can be
 *   fsprobe lseek PATH
 *   fsprobe pwrite PATH OFFSET HEX     the number of bytes written
 *   fsprobe write PATH                 all of standard input by one write(2); a number if it is
 *                                      not "ok"; PATH - is the open descriptor 4
 *   fsprobe writeas UID PATH           the same to a file that this user opened; the caller writes
 *   fsprobe readas UID PATH            reads a file that this user opened; the caller reads
 *   fsprobe mkdir|rmdir|unlink PATH
 *   fsprobe rename|symlink|link FROM TO
 *   fsprobe chmod PATH MODE            MODE in the shell's octal
 *   fsprobe chown PATH UID
 *   fsprobe truncate PATH SIZE
 *   fsprobe touch PAGES                how many minor faults writing to that much new memory costs
 *   fsprobe poll PATH EVENTS MS        what poll(2) answers: none, or words of those of EVENTS: in
 *                                      out pri rdnorm wrnorm; or err hup
 *   fsprobe select PATH EVENTS MS      the same by select(2)
 *   fsprobe epoll PATH EVENTS MS N     a line each for N times epoll_wait(2); EVENTS may have et
 *                                      and oneshot, too
 *   fsprobe sigwait SIG MS [PATH TEXT]...
 *                                      in a thread of its own: writes each TEXT by a write(2),
 *                                      then waits for SIG; its si_code, or none, or "astray" if
 *                                      another thread has got it
 *   fsprobe map PATH HOW LENGTH OFFSET SIZE [STEP ARG ARG]...
 *                                      maps the file, touches all of it and closes it; takes the
 *                                      steps; prints SIZE bytes at OFFSET in hex, or SIGBUS. HOW:
 *                                      shared|private, then any of ,write ,exec. Steps: write PATH
 *                                      TEXT, read PATH SIZE, poll PATH EVENTS, rmdir PATH -,
 *                                      protect write|exec -, which ends it with its outcome
 *   fsprobe reopen PATH FLAGS          opens it read-only, then again by /proc/self/fd
 *   fsprobe remap PATH FLAGS           the same by its mapping in /proc/self/map_files
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/num.h"

static int fail(void)
{
	puts(err_name(errno));
	return 0;
}

static int report(int rc)
{
	if (rc < 0)
		return fail();
	puts("ok");
	return 0;
}

static int misuse(const char *why)
{
	fprintf(stderr, "fsprobe: %s\n", why);
	return 2;
}

static bool parse(const char *arg, uint64_t max, uint64_t *v)
{
	struct err e;

	return num_max(slice_of(arg), max, v, &e) == 0;
}

static int parse_flags(const char *arg)
{
	static const struct {
		const char *name;
		int flag;
	} words[] = {
		{"rdonly", O_RDONLY},
		{"wronly", O_WRONLY},
		{"rdwr", O_RDWR},
		{"trunc", O_TRUNC},
		{"direct", O_DIRECT},
		{"append", O_APPEND},
		{"creat", O_CREAT},
		{"nonblock", O_NONBLOCK},
	};
	enum { NWORDS = sizeof(words) / sizeof(words[0]) };
	struct slice s = slice_of(arg);
	int flags = 0;

	while (s.n) {
		struct slice word = slice_cut(&s, ',');
		int i = 0;

		while (i < NWORDS && !slice_is(word, words[i].name))
			i++;
		if (i == NWORDS)
			return -1;
		flags |= words[i].flag;
	}
	return flags;
}

static int probe_open(char **arg)
{
	int flags = parse_flags(arg[1]);
	CLEANUP_CLOSE int fd = -1;

	if (flags < 0)
		return misuse("unknown open flag");
	fd = open(arg[0], flags | O_CLOEXEC, 0600);
	return report(fd);
}

static int print_bytes(const unsigned char *buf, ssize_t n)
{
	if (n < 0)
		return fail();
	for (ssize_t i = 0; i < n; i++)
		printf("%02x", buf[i]);
	putchar('\n');
	return 0;
}

/* PATH - is the open standard input. */
static int open_or_inherit(const char *path, int flags)
{
	return strcmp(path, "-") ? open(path, flags | O_CLOEXEC) : dup(STDIN_FILENO);
}

static int probe_pread(char **arg)
{
	CLEANUP_FREE unsigned char *buf = NULL;
	CLEANUP_CLOSE int fd = -1;
	uint64_t size, off;
	ssize_t n;

	if (!parse(arg[1], 1 << 20, &size) || !parse(arg[2], INT64_MAX, &off))
		return misuse("SIZE and OFFSET are numbers, SIZE at most 1 MiB");
	fd = open_or_inherit(arg[0], O_RDONLY);
	if (fd < 0)
		return fail();
	buf = malloc(size + 1);
	n = buf ? pread(fd, buf, size, (off_t)off) : -1;
	return print_bytes(buf, n);
}

/* Bytes that a pipe has got, or -1 of the call that was to fill it. */
static int probe_pipe(char **arg, bool by_splice)
{
	int flags = parse_flags(arg[2]), ends[2];
	CLEANUP_CLOSE int fd = -1;
	unsigned char buf[16384];
	uint64_t size;
	ssize_t n;

	if (flags < 0 || !parse(arg[1], sizeof(buf), &size))
		return misuse("SIZE is a number, at most 16384");
	fd = open(arg[0], flags | O_CLOEXEC);
	if (fd < 0 || pipe(ends) < 0)
		return fail();
	n = by_splice ? splice(fd, NULL, ends[1], NULL, size, 0)
		      : sendfile(ends[1], fd, NULL, size);
	if (n > 0)
		n = read(ends[0], buf, sizeof(buf));
	return print_bytes(buf, n);
}

static int probe_splice(char **arg)
{
	return probe_pipe(arg, true);
}

static int probe_sendfile(char **arg)
{
	return probe_pipe(arg, false);
}

static int probe_read(char **arg)
{
	int flags = parse_flags(arg[2]);
	CLEANUP_FREE unsigned char *buf = NULL;
	CLEANUP_CLOSE int fd = -1;
	uint64_t size;

	if (flags < 0 || !parse(arg[1], 1 << 20, &size))
		return misuse("SIZE is a number up to 1 MiB, FLAGS are words");
	fd = open_or_inherit(arg[0], flags);
	if (fd < 0)
		return fail();
	buf = malloc(size + 1);
	return print_bytes(buf, buf ? read(fd, buf, size) : -1);
}

static void ignore_signal(int sig)
{
	(void)sig;
}

static int probe_interrupt(char **arg)
{
	const struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
	struct itimerval timer = {.it_value = {0}};
	uint64_t ms;

	if (!parse(arg[2], 10000, &ms))
		return misuse("MS is a number up to 10000");
	timer.it_value.tv_sec = (time_t)(ms / 1000);
	timer.it_value.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	timer.it_interval = timer.it_value; /* the first signal may come before the read */
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	return probe_read((char *[]){arg[0], arg[1], (char[]){"rdonly"}});
}

static int probe_lseek(char **arg)
{
	CLEANUP_CLOSE int fd = open_or_inherit(arg[0], O_RDONLY);

	return fd < 0 ? fail() : report((int)lseek(fd, 0, SEEK_SET));
}

static int probe_pwrite(char **arg)
{
	size_t size = strlen(arg[2]) / 2;
	CLEANUP_FREE unsigned char *buf = malloc(size + 1);
	CLEANUP_CLOSE int fd = -1;
	uint64_t off;
	ssize_t n;

	if (!parse(arg[1], INT64_MAX, &off) || strlen(arg[2]) % 2 || !buf)
		return misuse("OFFSET is a number, HEX two digits a byte");
	for (size_t i = 0; i < size; i++) {
		if (sscanf(arg[2] + 2 * i, "%2hhx", &buf[i]) != 1)
			return misuse("HEX has digits only");
	}
	fd = open(arg[0], O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fail();
	n = pwrite(fd, buf, size, (off_t)off);
	if (n < 0)
		return fail();
	printf("%zd\n", n);
	return 0;
}

/* One write(2) must carry it all, so it is all read first. */
static int write_input(int fd)
{
	enum { ROOM = 4 << 20 };
	CLEANUP_FREE char *buf = malloc(ROOM);
	size_t size = buf ? fread(buf, 1, ROOM, stdin) : 0;
	ssize_t n;

	if (!buf || size == ROOM)
		return misuse("standard input is less than 4 MiB");
	n = write(fd, buf, size);
	if (n < 0 || (size_t)n == size)
		return report((int)n);
	printf("%zd\n", n);
	return 0;
}

static int probe_write(char **arg)
{
	enum { OPEN_FD = 4 };
	CLEANUP_CLOSE int fd = -1;

	fd = strcmp(arg[0], "-") ? open(arg[0], O_WRONLY | O_CLOEXEC) : dup(OPEN_FD);
	return fd < 0 ? fail() : write_input(fd);
}

static int probe_readas(char **arg)
{
	CLEANUP_CLOSE int fd = -1;
	uint64_t uid;
	char buf[4096];
	ssize_t n;

	if (!parse(arg[0], UINT32_MAX - 1, &uid))
		return misuse("UID is a number");
	setfsuid((uid_t)uid);
	fd = open(arg[1], O_RDONLY | O_CLOEXEC);
	setfsuid(geteuid());
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
	if (n < 0)
		return fail();
	fwrite(buf, 1, (size_t)n, stdout);
	return 0;
}

static int probe_writeas(char **arg)
{
	CLEANUP_CLOSE int fd = -1;
	uint64_t uid;

	if (!parse(arg[0], UINT32_MAX - 1, &uid))
		return misuse("UID is a number");
	setfsuid((uid_t)uid);
	fd = open(arg[1], O_WRONLY | O_CLOEXEC);
	setfsuid(geteuid());
	return fd < 0 ? fail() : write_input(fd);
}

static int probe_mkdir(char **arg)
{
	return report(mkdir(arg[0], 0700));
}

static int probe_rmdir(char **arg)
{
	return report(rmdir(arg[0]));
}

static int probe_unlink(char **arg)
{
	return report(unlink(arg[0]));
}

static int probe_rename(char **arg)
{
	return report(rename(arg[0], arg[1]));
}

static int probe_symlink(char **arg)
{
	return report(symlink(arg[0], arg[1]));
}

static int probe_link(char **arg)
{
	return report(link(arg[0], arg[1]));
}

static int probe_chown(char **arg)
{
	uint64_t uid;

	if (!parse(arg[1], UINT32_MAX - 1, &uid))
		return misuse("UID is a number");
	return report(chown(arg[0], (uid_t)uid, (gid_t)-1));
}

static int probe_truncate(char **arg)
{
	uint64_t size;

	if (!parse(arg[1], INT64_MAX, &size))
		return misuse("SIZE is a number");
	return report(truncate(arg[0], (off_t)size));
}

static long minor_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* Huge pages would make one fault of many. */
static int probe_touch(char **arg)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint64_t pages;
	long before;
	char *p;

	if (!parse(arg[0], 1 << 20, &pages))
		return misuse("PAGES is a number up to a million");
	p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return fail();
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	before = minor_faults();
	for (uint64_t i = 0; i < pages; i++)
		((volatile char *)p)[i * page] = 1;
	printf("%ld\n", minor_faults() - before);
	return 0;
}

static const struct {
	const char *name;
	short poll;
	unsigned epoll;
} event_words[] = {
	{"in", POLLIN, EPOLLIN},
	{"out", POLLOUT, EPOLLOUT},
	{"pri", POLLPRI, EPOLLPRI},
	{"rdnorm", POLLRDNORM, EPOLLRDNORM},
	{"wrnorm", POLLWRNORM, EPOLLWRNORM},
	{"err", POLLERR, EPOLLERR},
	{"hup", POLLHUP, EPOLLHUP},
	{"et", 0, EPOLLET},
	{"oneshot", 0, EPOLLONESHOT},
};
enum { NEVENT_WORDS = sizeof(event_words) / sizeof(event_words[0]) };

/* poll's in the lower, epoll's in the upper half; 0: one is unknown. */
static uint64_t parse_events(const char *arg)
{
	struct slice s = slice_of(arg);
	uint64_t events = 0;

	while (s.n) {
		struct slice word = slice_cut(&s, ',');
		int i = 0;

		while (i < NEVENT_WORDS && !slice_is(word, event_words[i].name))
			i++;
		if (i == NEVENT_WORDS)
			return 0;
		events |= (uint64_t)event_words[i].epoll << 32 | (uint16_t)event_words[i].poll;
	}
	return events;
}

static void print_events(short events)
{
	const char *sep = "";

	for (int i = 0; i < NEVENT_WORDS; i++) {
		if (!(events & event_words[i].poll))
			continue;
		printf("%s%s", sep, event_words[i].name);
		sep = ",";
	}
	puts(events ? "" : "none");
	fflush(stdout);
}

/* The arguments PATH EVENTS MS: 0, or what to exit with. */
static int parse_wait(char **arg, int *fd, uint64_t *events, uint64_t *ms)
{
	*events = parse_events(arg[1]);
	if (!*events || !parse(arg[2], 20000, ms))
		return misuse("EVENTS are words, MS a number up to 20000");
	*fd = open_or_inherit(arg[0], O_RDONLY);
	return 0;
}

static int probe_poll(char **arg)
{
	CLEANUP_CLOSE int fd = -1;
	uint64_t events, ms;
	struct pollfd p;

	if (parse_wait(arg, &fd, &events, &ms))
		return 2;
	p = (struct pollfd){.fd = fd, .events = (short)events};
	if (fd < 0 || poll(&p, 1, (int)ms) < 0)
		return fail();
	print_events(p.revents);
	return 0;
}

static int probe_select(char **arg)
{
	struct timeval timeout = {0};
	CLEANUP_CLOSE int fd = -1;
	fd_set in, out, pri;
	uint64_t events, ms;

	if (parse_wait(arg, &fd, &events, &ms))
		return 2;
	if (fd < 0)
		return fail();
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&pri);
	if (events & POLLIN)
		FD_SET(fd, &in);
	if (events & POLLOUT)
		FD_SET(fd, &out);
	if (events & POLLPRI)
		FD_SET(fd, &pri);
	timeout.tv_sec = (time_t)(ms / 1000);
	timeout.tv_usec = (suseconds_t)(ms % 1000 * 1000);
	if (select(fd + 1, &in, &out, &pri, &timeout) < 0)
		return fail();
	print_events((short)((FD_ISSET(fd, &in) ? POLLIN : 0) | (FD_ISSET(fd, &out) ? POLLOUT : 0) |
			     (FD_ISSET(fd, &pri) ? POLLPRI : 0)));
	return 0;
}

static int probe_epoll(char **arg)
{
	CLEANUP_CLOSE int epoll = epoll_create1(EPOLL_CLOEXEC);
	CLEANUP_CLOSE int fd = -1;
	struct epoll_event want = {0}, got;
	uint64_t events, ms, n;

	if (!parse(arg[3], 1000, &n))
		return misuse("N is a number up to 1000");
	if (parse_wait(arg, &fd, &events, &ms))
		return 2;
	want.events = (uint32_t)(events >> 32);
	if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &want) < 0)
		return fail();
	while (n--) {
		got.events = 0;
		if (epoll_wait(epoll, &got, 1, (int)ms) < 0)
			return fail();
		print_events((short)got.events); /* poll's and epoll's bits are the same */
	}
	return 0;
}

struct sigwait {
	char **arg;
	uint64_t sig, ms;
	const char *outcome;
};

static const char *code_name(int code)
{
	switch (code) {
	case POLL_IN:
		return "POLL_IN";
	case SI_KERNEL:
		return "SI_KERNEL";
	case SI_SIGIO:
		return "SI_SIGIO";
	default:
		return code > 0 ? "another" : "from a process";
	}
}

static void *sigwait_thread(void *data)
{
	struct sigwait *w = data;
	struct timespec timeout = {
		.tv_sec = (time_t)(w->ms / 1000), .tv_nsec = (long)(w->ms % 1000 * 1000000)};
	siginfo_t info;
	sigset_t set;

	for (; w->arg[0] && w->arg[1]; w->arg += 2) {
		CLEANUP_CLOSE int fd = open(w->arg[0], O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, w->arg[1], strlen(w->arg[1])) < 0) {
			w->outcome = err_name(errno);
			return NULL;
		}
	}
	sigemptyset(&set);
	sigaddset(&set, (int)w->sig);
	if (sigtimedwait(&set, &info, &timeout) < 0)
		w->outcome = errno == EAGAIN ? "none" : err_name(errno);
	else
		w->outcome = code_name(info.si_code);
	return NULL;
}

static int probe_sigwait(char **arg)
{
	struct sigwait w = {.arg = arg + 2};
	pthread_t thread;
	sigset_t set;

	if (!parse(arg[0], 64, &w.sig) || !w.sig || !parse(arg[1], 20000, &w.ms))
		return misuse("SIG is a number of 1 to 64, MS one up to 20000");
	sigemptyset(&set);
	sigaddset(&set, (int)w.sig);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (pthread_create(&thread, NULL, sigwait_thread, &w))
		return misuse("no thread");
	pthread_join(thread, NULL);
	sigpending(&set);
	puts(sigismember(&set, (int)w.sig) ? "astray" : w.outcome);
	return 0;
}

static void on_bus_error(int sig)
{
	static const char name[] = "SIGBUS\n";

	(void)sig;
	_exit(write(STDOUT_FILENO, name, sizeof(name) - 1) < 0);
}

static int parse_map(const char *arg, int *prot, int *flags)
{
	struct slice rest = slice_of(arg);
	struct slice word = slice_cut(&rest, ',');

	*flags = slice_is(word, "shared") ? MAP_SHARED : MAP_PRIVATE;
	*prot = PROT_READ;
	while (rest.n) {
		word = slice_cut(&rest, ',');
		if (slice_is(word, "write"))
			*prot |= PROT_WRITE;
		else if (slice_is(word, "exec"))
			*prot |= PROT_EXEC;
		else
			return -1;
	}
	return 0;
}

static int step_write(const char *path, const char *text)
{
	CLEANUP_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

static int step_read(const char *path, const char *size)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	char buf[4096];
	uint64_t n;

	if (!parse(size, sizeof(buf), &n))
		errno = EINVAL;
	else if (fd >= 0 && read(fd, buf, n) >= 0)
		return 0;
	return -1;
}

static int step_poll(const char *path, const char *events)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct pollfd p = {.fd = fd, .events = (short)parse_events(events)};

	errno = ETIMEDOUT;
	return fd >= 0 && poll(&p, 1, 10000) == 1 ? 0 : -1;
}

static int step(char **arg)
{
	if (!strcmp(arg[0], "write"))
		return step_write(arg[1], arg[2]);
	if (!strcmp(arg[0], "read"))
		return step_read(arg[1], arg[2]);
	if (!strcmp(arg[0], "poll"))
		return step_poll(arg[1], arg[2]);
	if (!strcmp(arg[0], "rmdir"))
		return rmdir(arg[1]);
	errno = EINVAL;
	return -1;
}

static int map_file(const char *path, const char *how, uint64_t length, unsigned char **map)
{
	CLEANUP_CLOSE int fd = open_or_inherit(path, O_RDONLY);
	int prot, flags;
	void *p;

	if (parse_map(how, &prot, &flags) < 0)
		return misuse("HOW is shared or private, then ,write or ,exec");
	if (fd < 0)
		return fail() - 1;
	p = mmap(NULL, length, prot, flags, fd, 0);
	if (p == MAP_FAILED)
		return fail() - 1;
	*map = p;
	return 0;
}

static void touch_map(const unsigned char *map, uint64_t length)
{
	for (uint64_t i = 0; i < length; i += 4096)
		*(const volatile unsigned char *)(map + i);
}

/* 0 if all steps have been taken; 1: there is nothing to print any more. */
static int steps(char **arg, void *map, uint64_t length)
{
	for (; arg[0] && arg[1] && arg[2]; arg += 3) {
		if (!strcmp(arg[0], "protect")) {
			report(mprotect(map, length,
				PROT_READ | (strcmp(arg[1], "exec") ? PROT_WRITE : PROT_EXEC)));
			return 1;
		}
		if (step(arg) < 0) {
			fail();
			return 1;
		}
	}
	return 0;
}

static int probe_map(char **arg)
{
	uint64_t length, off, size;
	unsigned char *map;
	int rc;

	if (!parse(arg[2], 1 << 30, &length) || !parse(arg[3], length, &off) ||
		!parse(arg[4], length - off, &size))
		return misuse("LENGTH, OFFSET and SIZE are numbers within each other");
	rc = map_file(arg[0], arg[1], length, &map);
	if (rc)
		return rc < 0 ? 0 : rc;
	signal(SIGBUS, on_bus_error);
	touch_map(map, length);
	return steps(arg + 5, map, length) ? 0 : print_bytes(map + off, (ssize_t)size);
}

static int probe_reopen(char **arg)
{
	CLEANUP_CLOSE int fd = open(arg[0], O_RDONLY | O_CLOEXEC);
	CLEANUP_CLOSE int again = -1;
	int flags = parse_flags(arg[1]);
	char path[64];

	if (fd < 0)
		return fail();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, flags | O_CLOEXEC);
	return report(again);
}

static int probe_remap(char **arg)
{
	CLEANUP_CLOSE int again = -1;
	int flags = parse_flags(arg[1]);
	unsigned char *map;
	char path[64];

	if (map_file(arg[0], "shared", 4096, &map))
		return 0;
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)map,
		(unsigned long)map + 4096);
	again = open(path, flags | O_CLOEXEC);
	return report(again);
}

static int probe_chmod(char **arg)
{
	char *end;
	unsigned long mode = strtoul(arg[1], &end, 8);

	if (*end || mode > 07777)
		return misuse("MODE is octal");
	return report(chmod(arg[0], (mode_t)mode));
}

static const struct {
	const char *name;
	int nargs; /* -N: N at least */
	int (*run)(char **arg);
} probes[] = {
	{"open", 2, probe_open},
	{"pread", 3, probe_pread},
	{"read", 3, probe_read},
	{"interrupt", 3, probe_interrupt},
	{"lseek", 1, probe_lseek},
	{"pwrite", 3, probe_pwrite},
	{"write", 1, probe_write},
	{"readas", 2, probe_readas},
	{"writeas", 2, probe_writeas},
	{"mkdir", 1, probe_mkdir},
	{"rmdir", 1, probe_rmdir},
	{"unlink", 1, probe_unlink},
	{"rename", 2, probe_rename},
	{"symlink", 2, probe_symlink},
	{"link", 2, probe_link},
	{"chmod", 2, probe_chmod},
	{"chown", 2, probe_chown},
	{"splice", 3, probe_splice},
	{"sendfile", 3, probe_sendfile},
	{"truncate", 2, probe_truncate},
	{"touch", 1, probe_touch},
	{"poll", 3, probe_poll},
	{"select", 3, probe_select},
	{"epoll", 4, probe_epoll},
	{"sigwait", -2, probe_sigwait},
	{"map", -5, probe_map},
	{"reopen", 2, probe_reopen},
	{"remap", 2, probe_remap},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		int given = argc - 2, wanted = probes[i].nargs;

		if (!strcmp(argv[1], probes[i].name) &&
			(given == wanted || (wanted < 0 && given >= -wanted)))
			return probes[i].run(argv + 2);
	}
	return misuse("no such operation, or not its number of arguments");
}
