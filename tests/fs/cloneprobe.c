// SPDX-License-Identifier: MIT
/*
 * An open clone and what is done with it, a step after another: for shell tests. Each step prints a
 * line: "ok" or what it gives, or an errno's name, and then the next one is taken. Exit 2: a step
 * was not understood.
 *
 *   cloneprobe PATH FLAGS STEP...     FLAGS: r, w or rw, then perhaps n: O_NONBLOCK. PATH - is the
 *                                     open descriptor 4
 *
 *   setup FLAGS FORMAT SIZE           of the argument of "default"; FORMAT - is none. The buffer's
 *                                     size and the context's number
 *   pmcs|pmds LIST                LIST: NUM[.SET]=VALUE[:FLAGS[:LONG[:SMPL]]],...
 *   read LIST                         NUM[.SET],...: the values
 *   make|delete LIST                  sets: ID[:FLAGS[:NS[:NEXT]]],...; made: their timeouts
 *   info LIST                         runs and PMDs that can be had, of each set
 *   loadon TID FLAGS MASK             a thread; MASK of CPUs, - is none. After an error: "taken",
 *                                     if the thread has a context
 *   what                              number, flags, state, tid, cpu and set
 *   load TARGET SET | start | stop | restart | unload
 *   signal SIG TYPE OWNER FD          TYPE: tid or pid; SIG is blocked
 *   sigwait SIG                       si_code and si_fd; none after a second
 *   msg SIZE                          read(2): the bytes it gave and the first message's type
 *   text TEXT                         write(2) of it
 *   poll MS | map HOW LENGTH SIZE     HOW: shared, private or write: SIZE bytes of it in hex
 *   mapset SET                        the same of the set's page: its version, and PMD 0's value
 *   mapped SIZE                       SIZE bytes of the latest mapping
 *   raw NUMBER SIZE                   that ioctl, with zeros
 *   sh COMMAND                        what system(3) has it print, and nothing else
 *   dup | fork | send                 the next steps have the only descriptor that is left of it, a
 *                                     duplicate, or are a child's, or of one that it was sent
 *   uid REAL EFFECTIVE                ids under which the next steps run
 *   second PATH                       a second clone is opened; the next steps are about that one
 *   swap | close                      back to the other one; closes it
 *   interrupt MS                      read(2) that a signal comes to after that time
 *   threads N                         so many threads read PMD 0, and ask of set 0 twice, at once,
 *                                     a hundred times each
 *
 * After an error of a vector, the flags of its elements that are not 0 follow: INDEX:FLAGS.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/slice.h"
#include "perfmonfs/ioctl.h"
#include "perfmonfs/live.h"
#include "perfmonfs/smpl_dfl.h"

enum { MAX_ELEMENTS = 512, READS = 100, OPEN_FD = 4 };

static int fd, other = -1;
static const unsigned char *mapped;

static void say(int rc)
{
	puts(rc < 0 ? err_name(errno) : "ok");
}

static uint64_t number(struct slice s)
{
	char text[32] = "";

	memcpy(text, s.p, s.n < sizeof(text) - 1 ? s.n : sizeof(text) - 1);
	return text[0] == '-' ? (uint64_t)strtoll(text, NULL, 0) : strtoull(text, NULL, 0);
}

static uint64_t arg_number(const char *arg)
{
	return number(slice_of(arg));
}

/* --- Vectors */

static unsigned char vector[PFM_IOC_SIZE_MAX];

/* The outcome of a vector's call; its elements have their flags at 4. */
static int call(unsigned long cmd, unsigned n)
{
	size_t size = _IOC_SIZE(cmd);
	int rc = ioctl(fd, PFM_IOC_VECTOR(cmd, n), vector);
	uint32_t flags;

	if (rc == 0)
		return 0;
	printf("%s", err_name(errno));
	for (unsigned i = 0; i < n; i++) {
		memcpy(&flags, vector + i * size + 4, sizeof(flags));
		if (flags >> 29)
			printf(" %u:%x", i, flags & ~0x1fffffffU);
	}
	putchar('\n');
	return rc;
}

static void parse_pmd(struct slice text, struct pfm_ioc_pmd *p)
{
	struct slice value = text, name = slice_cut(&value, '=');

	*p = (struct pfm_ioc_pmd){0};
	p->num = (uint16_t)number(slice_cut(&name, '.'));
	p->set = (uint16_t)number(name);
	p->value = number(slice_cut(&value, ':'));
	p->flags = (uint32_t)number(slice_cut(&value, ':'));
	p->long_reset = p->short_reset = number(slice_cut(&value, ':'));
	p->smpl_pmds[0] = number(value);
}

static unsigned parse_list(const char *arg, unsigned long cmd)
{
	struct slice list = slice_of(arg);
	unsigned n = 0;

	for (; list.n && n < MAX_ELEMENTS; n++) {
		struct pfm_ioc_pmd p;

		parse_pmd(slice_cut(&list, ','), &p);
		/* struct pfm_ioc_pmc is the beginning of struct pfm_ioc_pmd, except for reserved
		 * fields. */
		memcpy(vector + n * _IOC_SIZE(cmd), &p, _IOC_SIZE(cmd));
		if (cmd == PFM_IOC_WRITE_PMCS)
			memset(vector + n * sizeof(struct pfm_ioc_pmc) + 16, 0, 32);
	}
	return n;
}

static void write_regs(unsigned long cmd, const char *arg)
{
	if (call(cmd, parse_list(arg, cmd)) == 0)
		puts("ok");
}

static void step_pmcs(char **arg)
{
	write_regs(PFM_IOC_WRITE_PMCS, arg[0]);
}

static void step_pmds(char **arg)
{
	write_regs(PFM_IOC_WRITE_PMDS, arg[0]);
}

static void print_field(unsigned n, size_t size, size_t at)
{
	uint64_t value;

	for (unsigned i = 0; i < n; i++) {
		memcpy(&value, vector + i * size + at, sizeof(value));
		printf("%s%" PRIu64, i ? " " : "", value);
	}
	putchar('\n');
}

static void step_read(char **arg)
{
	unsigned n = parse_list(arg[0], PFM_IOC_READ_PMDS);

	if (call(PFM_IOC_READ_PMDS, n) == 0)
		print_field(n, sizeof(struct pfm_ioc_pmd), offsetof(struct pfm_ioc_pmd, value));
}

static unsigned parse_sets(const char *arg)
{
	struct slice list = slice_of(arg);
	unsigned n = 0;

	for (; list.n && n < MAX_ELEMENTS / 2; n++) {
		struct slice one = slice_cut(&list, ',');
		struct pfm_ioc_setdesc d = {.id = (uint16_t)number(slice_cut(&one, ':'))};

		d.flags = (uint32_t)number(slice_cut(&one, ':'));
		d.timeout = number(slice_cut(&one, ':'));
		d.id_next = (uint16_t)number(one);
		memcpy(vector + n * sizeof(d), &d, sizeof(d));
	}
	return n;
}

static void step_make(char **arg)
{
	unsigned n = parse_sets(arg[0]);

	if (call(PFM_IOC_CREATE_EVTSETS, n) == 0)
		print_field(n, sizeof(struct pfm_ioc_setdesc),
			offsetof(struct pfm_ioc_setdesc, timeout));
}

static void step_delete(char **arg)
{
	if (call(PFM_IOC_DELETE_EVTSETS, parse_sets(arg[0])) == 0)
		puts("ok");
}

static int get_info(unsigned set, struct pfm_ioc_setinfo *info)
{
	*info = (struct pfm_ioc_setinfo){.id = (uint16_t)set};
	return ioctl(fd, PFM_IOC_GETINFO_EVTSETS, info);
}

static void step_info(char **arg)
{
	struct slice list = slice_of(arg[0]);
	unsigned n = 0;
	int rc;

	for (; list.n; n++) {
		struct pfm_ioc_setinfo in = {.id = (uint16_t)number(slice_cut(&list, ','))};

		memcpy(vector + n * sizeof(in), &in, sizeof(in));
	}
	rc = call(PFM_IOC_GETINFO_EVTSETS, n);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		struct pfm_ioc_setinfo out;

		memcpy(&out, vector + i * sizeof(out), sizeof(out));
		printf("%srun %" PRIu64 " pmds %" PRIx64, i ? " " : "", out.runs,
			out.avail_pmds[0]);
	}
	if (rc == 0)
		putchar('\n');
}

/* --- Single commands */

static void step_setup(char **arg)
{
	struct {
		struct pfm_ioc_setup s;
		pfm_dfl_smpl_arg_t arg;
	} s = {.s.flags = (uint32_t)arg_number(arg[0]), .arg.buf_size = arg_number(arg[2])};
	bool none = strcmp(arg[1], "-") == 0;

	snprintf(s.s.format, sizeof(s.s.format), "%s", none ? "" : arg[1]);
	s.s.arg_size = none ? 0 : sizeof(s.arg);
	if (ioctl(fd, PFM_IOC_TAILED(PFM_IOC_SETUP, s.s.arg_size), &s) < 0)
		say(-1);
	else
		printf("%" PRIu64 " %" PRIu64 "\n", s.s.buf_size, s.s.number);
}

static void step_load(char **arg)
{
	struct pfm_ioc_load l = {
		.target = (uint32_t)arg_number(arg[0]), .set = (uint16_t)arg_number(arg[1])};

	say(ioctl(fd, PFM_IOC_LOAD, &l));
}

static void step_loadon(char **arg)
{
	struct {
		struct pfm_ioc_load l;
		uint64_t mask;
	} on = {.l.target = (uint32_t)arg_number(arg[0]), .l.flags = (uint32_t)arg_number(arg[1])};
	size_t tail = strcmp(arg[2], "-") == 0 ? 0 : sizeof(on.mask);

	on.mask = arg_number(arg[2]);
	if (ioctl(fd, PFM_IOC_TAILED(PFM_IOC_LOAD, tail), &on) == 0)
		puts("ok");
	else
		printf("%s%s\n", err_name(errno),
			on.l.flags & PFM_IOC_LOADFL_TAKEN ? " taken" : "");
}

static void step_start(char **arg)
{
	(void)arg;
	say(ioctl(fd, PFM_IOC_START));
}

static void step_stop(char **arg)
{
	(void)arg;
	say(ioctl(fd, PFM_IOC_STOP));
}

static void step_restart(char **arg)
{
	(void)arg;
	say(ioctl(fd, PFM_IOC_RESTART));
}

static void step_unload(char **arg)
{
	(void)arg;
	say(ioctl(fd, PFM_IOC_UNLOAD));
}

static void step_what(char **arg)
{
	struct pfm_ioc_info i;

	(void)arg;
	if (ioctl(fd, PFM_IOC_INFO, &i) < 0)
		say(-1);
	else
		printf("%" PRIu64 " %x %u %u %u %u\n", i.number, i.flags, i.state, i.tid, i.cpu,
			i.set);
}

static void step_raw(char **arg)
{
	size_t size = arg_number(arg[1]);

	memset(vector, 0, sizeof(vector));
	say(ioctl(fd,
		_IOC(size ? _IOC_READ | _IOC_WRITE : _IOC_NONE, 'p', arg_number(arg[0]), size),
		vector));
}

/* --- Signals and messages */

static void step_signal(char **arg)
{
	struct pfm_ioc_signal s = {.sig = (int)arg_number(arg[0]),
		.type = strcmp(arg[1], "pid") == 0 ? PFM_IOC_OWNER_PID : PFM_IOC_OWNER_TID,
		.owner = (int)arg_number(arg[2]),
		.fd = (int)arg_number(arg[3])};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, s.sig ? s.sig : SIGIO);
	sigprocmask(SIG_BLOCK, &set, NULL);
	say(ioctl(fd, PFM_IOC_SIGNAL, &s));
}

static void step_sigwait(char **arg)
{
	const struct timespec second = {.tv_sec = 1};
	siginfo_t si;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, (int)arg_number(arg[0]));
	if (sigtimedwait(&set, &si, &second) < 0)
		puts("none");
	else
		printf("%s fd %d\n", si.si_code == POLL_IN ? "POLL_IN" : "?", si.si_fd);
}

static void read_message(size_t size)
{
	uint32_t type;
	ssize_t n = read(fd, vector, size);

	memcpy(&type, vector, sizeof(type));
	if (n < 0)
		say(-1);
	else
		printf("%zd bytes type %u\n", n, type);
}

static void step_msg(char **arg)
{
	read_message(arg_number(arg[0]));
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void step_interrupt(char **arg)
{
	/* Again and again: the first signal may come before the read. */
	const struct timeval ms = {.tv_usec = (suseconds_t)arg_number(arg[0]) * 1000};
	const struct itimerval after = {.it_value = ms, .it_interval = ms}, never = {{0}};
	const struct sigaction act = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &after, NULL);
	read_message(64);
	setitimer(ITIMER_REAL, &never, NULL);
}

static void step_text(char **arg)
{
	say((int)write(fd, arg[0], strlen(arg[0])));
}

static void step_poll(char **arg)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, (int)arg_number(arg[0])) <= 0)
		puts("none");
	else
		printf("%s%s\n", p.revents & POLLIN ? "in" : "", p.revents & POLLERR ? "err" : "");
}

/* --- Memory */

static void print_mapped(size_t size)
{
	for (size_t i = 0; i < size; i++)
		printf("%02x", mapped[i]);
	putchar('\n');
}

static bool map(int prot, int flags, size_t length, off_t at)
{
	void *p = mmap(NULL, length, prot, flags, fd, at);

	if (p == MAP_FAILED) {
		say(-1);
		return false;
	}
	mapped = p;
	return true;
}

static void step_map(char **arg)
{
	bool write = strcmp(arg[0], "write") == 0;
	int flags = strcmp(arg[0], "private") == 0 ? MAP_PRIVATE : MAP_SHARED;

	if (map(PROT_READ | (write ? PROT_WRITE : 0), flags, arg_number(arg[1]), 0))
		print_mapped(arg_number(arg[2]));
}

static void step_mapped(char **arg)
{
	print_mapped(arg_number(arg[0]));
}

static void step_mapset(char **arg)
{
	struct pfm_ioc_setinfo info;
	uint64_t value = 0;

	if (get_info((unsigned)arg_number(arg[0]), &info) < 0) {
		say(-1);
	} else if (!info.cookie) {
		puts("no page");
	} else if (map(PROT_READ, MAP_SHARED, sizeof(struct pfm_live), (off_t)info.cookie)) {
		const struct pfm_live *page = (const void *)mapped;
		int rc = pfm_live_read(page, 0, 0, &value);

		printf("version %" PRIu32 " pmd0 %" PRIu64 "%s\n", page->version, value,
			rc ? " unread" : "");
	}
}

/* --- Lifetimes */

static void step_sh(char **arg)
{
	fflush(stdout);
	if (system(arg[0]) < 0)
		say(-1);
}

static void step_dup(char **arg)
{
	int copy = dup(fd);

	(void)arg;
	close(fd);
	fd = copy;
}

/* The parent's end is the child's. */
static void become_child(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		return;
	close(fd);
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void step_fork(char **arg)
{
	(void)arg;
	become_child();
}

/* Over a socket to itself: until it is received, no process has a descriptor. */
static void step_send(char **arg)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	int ends[2];

	(void)arg;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || sendmsg(ends[0], &m, 0) < 0) {
		say(-1);
		return;
	}
	close(fd);
	if (recvmsg(ends[1], &m, 0) < 0)
		say(-1);
	else
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
}

/* Root can come back. */
static void step_uid(char **arg)
{
	say(setresuid((uid_t)arg_number(arg[0]), (uid_t)arg_number(arg[1]), 0));
}

static void step_second(char **arg)
{
	other = fd;
	fd = open(arg[0], O_RDWR | O_CLOEXEC);
	say(fd);
}

static void step_swap(char **arg)
{
	int now = fd;

	(void)arg;
	fd = other;
	other = now;
}

static void step_close(char **arg)
{
	(void)arg;
	say(close(fd));
}

static void *read_often(void *arg)
{
	unsigned *failed = arg;

	for (unsigned i = 0; i < READS; i++) {
		struct pfm_ioc_setinfo info[2] = {{.id = 0}};
		struct pfm_ioc_pmd p = {.num = 0};

		if (ioctl(fd, PFM_IOC_READ_PMDS, &p) < 0 ||
			ioctl(fd, PFM_IOC_VECTOR(PFM_IOC_GETINFO_EVTSETS, 2), info) < 0)
			__atomic_fetch_add(failed, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void step_threads(char **arg)
{
	unsigned n = (unsigned)arg_number(arg[0]), failed = 0;
	pthread_t threads[16];

	for (unsigned i = 0; i < n && i < 16; i++)
		pthread_create(&threads[i], NULL, read_often, &failed);
	for (unsigned i = 0; i < n && i < 16; i++)
		pthread_join(threads[i], NULL);
	printf("%u failed\n", failed);
}

static const struct {
	const char *name;
	int nargs;
	void (*take)(char **arg);
} steps[] = {
	{"setup", 3, step_setup},
	{"pmcs", 1, step_pmcs},
	{"pmds", 1, step_pmds},
	{"read", 1, step_read},
	{"make", 1, step_make},
	{"delete", 1, step_delete},
	{"info", 1, step_info},
	{"load", 2, step_load},
	{"loadon", 3, step_loadon},
	{"start", 0, step_start},
	{"stop", 0, step_stop},
	{"restart", 0, step_restart},
	{"unload", 0, step_unload},
	{"what", 0, step_what},
	{"signal", 4, step_signal},
	{"sigwait", 1, step_sigwait},
	{"msg", 1, step_msg},
	{"text", 1, step_text},
	{"poll", 1, step_poll},
	{"map", 3, step_map},
	{"mapset", 1, step_mapset},
	{"mapped", 1, step_mapped},
	{"raw", 2, step_raw},
	{"sh", 1, step_sh},
	{"dup", 0, step_dup},
	{"fork", 0, step_fork},
	{"send", 0, step_send},
	{"uid", 2, step_uid},
	{"second", 1, step_second},
	{"swap", 0, step_swap},
	{"close", 0, step_close},
	{"interrupt", 1, step_interrupt},
	{"threads", 1, step_threads},
};

enum { NSTEPS = sizeof(steps) / sizeof(steps[0]) };

/* How many words it has been; 0: it is none. */
static int take(char **word, int left)
{
	for (unsigned i = 0; i < NSTEPS; i++) {
		if (strcmp(word[0], steps[i].name) != 0 || left <= steps[i].nargs)
			continue;
		steps[i].take(word + 1);
		return 1 + steps[i].nargs;
	}
	fprintf(stderr, "cloneprobe: no step '%s', or not all of it\n", word[0]);
	return 0;
}

static int open_flags(const char *word)
{
	int flags = strstr(word, "rw") ? O_RDWR : strchr(word, 'w') ? O_WRONLY : O_RDONLY;

	return flags | O_CLOEXEC | (strchr(word, 'n') ? O_NONBLOCK : 0);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: cloneprobe PATH FLAGS STEP...\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	fd = strcmp(argv[1], "-") == 0 ? dup(OPEN_FD) : open(argv[1], open_flags(argv[2]));
	if (fd < 0) {
		say(-1);
		return 0;
	}
	for (int i = 3, n; i < argc; i += n) {
		n = take(argv + i, argc - i);
		if (!n)
			return 2;
	}
	return 0;
}
