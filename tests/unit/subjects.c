// SPDX-License-Identifier: MIT
#include "tests/unit/subjects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL    (~0ULL)
#define PTRACE CAP_BIT(CAP_SYS_PTRACE)
#define RAW    CAP_BIT(CAP_NET_RAW)
#define IDS(a)                                                                                     \
	{                                                                                          \
		a, a, a                                                                            \
	}
#define USER(u)    .uid = IDS(u), .gid = IDS(u)
#define CAPS(a)    .permitted = (a), .effective = (a)
#define BY(m, s)   .ns = MADE, .maker = (m), .map = (s)
#define EVERYTHING "0 100000 65536\n"

const struct subject_kind subject_kinds[] = {
	{"root", CAPS(ALL), .strict = STRICT_BEFORE_6_16},
	{"root without capabilities", .strict = STRICT_BEFORE_6_16},
	{"root without CAP_SYS_PTRACE", CAPS(ALL & ~PTRACE), .strict = STRICT_BEFORE_6_16},
	{"root with nothing effective", .permitted = ALL, .strict = STRICT_BEFORE_6_16},
	{"root, not dumpable", CAPS(ALL), .undumpable = true},
	{"root without capabilities, not dumpable", .undumpable = true},
	{"root, gid 1000", .gid = IDS(1000)},
	{"root, gid 1000, not dumpable", .gid = IDS(1000), .undumpable = true},
	{"user", USER(1000)},
	{"user, not dumpable", USER(1000), .undumpable = true},
	{"other user", USER(1001)},
	{"other group", .uid = IDS(1000), .gid = IDS(1001)},
	{"other real uid", .uid = {1001, 1000, 1000}, .gid = IDS(1000)},
	{"other effective uid", .uid = {1000, 1001, 1000}, .gid = IDS(1000)},
	{"other saved uid", .uid = {1000, 1000, 1001}, .gid = IDS(1000)},
	{"only the effective uid", .uid = {1001, 1000, 1001}, .gid = IDS(1000)},
	{"set-user-id root", .uid = {1000, 0, 0}, .gid = IDS(1000), CAPS(ALL)},
	{"set-user-id root, given up", .uid = {1000, 1000, 0}, .gid = IDS(1000)},
	{"other real gid", .uid = IDS(1000), .gid = {1001, 1000, 1000}},
	{"other effective gid", .uid = IDS(1000), .gid = {1000, 1001, 1000}},
	{"other saved gid", .uid = IDS(1000), .gid = {1000, 1000, 1001}},
	{"user with CAP_SYS_PTRACE", USER(1000), CAPS(PTRACE)},
	{"other user with CAP_SYS_PTRACE", USER(1001), CAPS(PTRACE)},
	{"user with CAP_SYS_PTRACE not effective", USER(1000), .permitted = PTRACE},
	{"user with CAP_NET_RAW", USER(1000), CAPS(RAW)},
	{"user with CAP_NET_RAW not effective", USER(1000), .permitted = RAW},
	{"thread of a user", USER(1000), .thread = true},
	{"thread with CAP_SYS_PTRACE", USER(1001), CAPS(PTRACE), .thread = true},

	{"user as root", CAPS(ALL), BY(1000, "0 1000 1")},
	{"user as root without capabilities", BY(1000, "0 1000 1")},
	{"user as root, not dumpable", CAPS(ALL), BY(1000, "0 1000 1"), .undumpable = true},
	{"user as root, executed", CAPS(ALL), BY(1000, "0 1000 1"), .exec = true},
	{"user as root, executed, not dumpable", CAPS(ALL), BY(1000, "0 1000 1"), .exec = true,
		.undumpable = true},
	{"user apart", USER(1000), BY(1000, "1000 1000 1")},
	{"user apart with capabilities", USER(1000), CAPS(ALL), BY(1000, "1000 1000 1")},
	{"user apart, not dumpable", USER(1000), BY(1000, "1000 1000 1"), .undumpable = true},
	{"user apart, executed, not dumpable", USER(1000), BY(1000, "1000 1000 1"), .exec = true,
		.undumpable = true, .strict = STRICT},
	{"other user as root", CAPS(ALL), BY(1001, "0 1001 1")},
	{"root apart", CAPS(ALL), BY(0, "0 0 65536"), .strict = STRICT_BEFORE_6_16},
	{"root apart, executed, not dumpable", CAPS(ALL), BY(0, "0 0 65536"), .exec = true,
		.undumpable = true, .strict = STRICT},
	{"user in root's", USER(1000), BY(0, "0 0 65536")},

	{"contained root", CAPS(ALL), .ns = SHARED, .strict = STRICT_BEFORE_6_16},
	{"contained root without capabilities", .ns = SHARED, .strict = STRICT_BEFORE_6_16},
	{"contained root with nothing effective", .permitted = ALL, .ns = SHARED,
		.strict = STRICT_BEFORE_6_16},
	{"contained root, not dumpable", CAPS(ALL), .ns = SHARED, .undumpable = true},
	{"contained root, executed, not dumpable", CAPS(ALL), .ns = SHARED, .exec = true,
		.undumpable = true},
	{"contained user", USER(5), .ns = SHARED},
	{"contained user with CAP_SYS_PTRACE", USER(5), CAPS(PTRACE), .ns = SHARED},
	{"contained user, executed", USER(5), .ns = SHARED, .exec = true},
	{"contained user, executed, not dumpable", USER(5), .ns = SHARED, .exec = true,
		.undumpable = true},
	{"contained twice", CAPS(ALL), .ns = NESTED, .map = "0 0 1", .strict = STRICT_BEFORE_6_16},
	{"contained twice, without capabilities", .ns = NESTED, .map = "0 0 1",
		.strict = STRICT_BEFORE_6_16},
	{"contained twice, executed, not dumpable", CAPS(ALL), .ns = NESTED, .map = "0 0 1",
		.exec = true, .undumpable = true, .strict = STRICT},
	{"contained twice, a user", USER(5), .ns = NESTED, .map = "0 0 100",
		.strict = STRICT_BEFORE_6_16},
};
const int subject_nkinds = sizeof(subject_kinds) / sizeof(*subject_kinds);

void must_at(bool ok, const char *what, const char *file, int line)
{
	if (ok)
		return;
	fprintf(stderr, "# %s:%d: not so: %s (%s)\n", file, line, what, strerror(errno));
	_exit(1);
}

/* Raw: only the calling thread becomes another. */
void set_capabilities(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct data[2];
	uint64_t have;

	must(syscall(SYS_capget, &head, data) == 0);
	have = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	permitted &= have;
	effective &= permitted;
	for (int i = 0; i < 2; i++)
		data[i] = (struct __user_cap_data_struct){
			(uint32_t)(effective >> 32 * i), (uint32_t)(permitted >> 32 * i), 0};
	must(syscall(SYS_capset, &head, data) == 0);
}

void drop_capabilities(void)
{
	uint64_t keep = CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_SYS_RAWIO) | CAP_BIT(CAP_SYS_NICE) |
			CAP_BIT(38) /* CAP_PERFMON */ | CAP_BIT(39) /* CAP_BPF */;

	set_capabilities(keep, keep);
}

/* The credentials that are kept by executing a program, if it is root in its namespace. */
static void become(const struct subject_kind *k)
{
	must(prctl(PR_SET_KEEPCAPS, 1) == 0);
	must(syscall(SYS_setresgid, k->gid[0], k->gid[1], k->gid[2]) == 0);
	must(syscall(SYS_setresuid, k->uid[0], k->uid[1], k->uid[2]) == 0);
}

static void finish(const struct subject_kind *k)
{
	set_capabilities(k->permitted, k->effective);
	must(prctl(PR_SET_DUMPABLE, !k->undumpable) == 0);
}

/* Nothing is at this address: reading it fails by EFAULT if the kernel lets us try. */
static int query_kernel(pid_t tid)
{
	char byte;
	struct iovec local = {&byte, 1}, remote = {(void *)1, 1};

	if (process_vm_readv(tid, &local, 1, &remote, 1, 0) >= 0)
		return EIO;
	return errno == EFAULT ? 0 : errno;
}

static _Noreturn void serve(int sock)
{
	pid_t tid = gettid();
	int answer;

	must(write(sock, &tid, sizeof(tid)) == sizeof(tid));
	while (read(sock, &tid, sizeof(tid)) == sizeof(tid)) {
		answer = query_kernel(tid);
		must(write(sock, &answer, sizeof(answer)) == sizeof(answer));
	}
	_exit(0);
}

static void write_file(pid_t pid, const char *file, const char *text)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	must(fd >= 0);
	must(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void write_maps(pid_t pid, const char *map)
{
	write_file(pid, "uid_map", map);
	write_file(pid, "gid_map", map);
}

/* A process that remains outside, as root, to write the id maps of the new namespace. */
static pid_t new_mapper(const char *map, int go[2])
{
	pid_t of = getpid(), pid;
	char byte;

	must(pipe(go) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		close(go[1]);
		must(read(go[0], &byte, 1) == 1);
		write_maps(of, map);
		_exit(0);
	}
	close(go[0]);
	return pid;
}

static void make_ns(const struct subject_kind *k)
{
	int go[2], status;
	pid_t mapper = new_mapper(k->map, go);

	must(setresgid(k->maker, k->maker, k->maker) == 0);
	must(setresuid(k->maker, k->maker, k->maker) == 0);
	/* Else the file to write it into is not the mapper's. */
	must(prctl(PR_SET_DUMPABLE, 1) == 0);
	must(unshare(CLONE_NEWUSER) == 0);
	must(write(go[1], "", 1) == 1);
	must(waitpid(mapper, &status, 0) == mapper && status == 0);
	close(go[1]);
}

static void enter(const struct subject_kind *k, int shared)
{
	if (k->ns == SHARED || k->ns == NESTED) {
		must(setns(shared, CLONE_NEWUSER) == 0);
		must(setresgid(0, 0, 0) == 0);
		must(setresuid(0, 0, 0) == 0);
	}
	if (k->map)
		make_ns(k);
}

struct start {
	const struct subject_kind *kind;
	int sock;
};

static void *start_thread(void *arg)
{
	const struct start *s = arg;

	become(s->kind);
	finish(s->kind);
	serve(s->sock);
	return NULL;
}

static _Noreturn void start(const struct subject_kind *k, int sock)
{
	struct start s = {k, sock};
	char number[16], fd[16];
	pthread_t thread;

	if (k->thread) {
		must(pthread_create(&thread, NULL, start_thread, &s) == 0);
		pthread_join(thread, NULL);
	}
	become(k);
	if (k->exec) {
		snprintf(number, sizeof(number), "%d", (int)(k - subject_kinds));
		snprintf(fd, sizeof(fd), "%d", sock);
		must(execl("/proc/self/exe", "subject", "--subject", number, fd, (char *)NULL) ==
			0);
	}
	finish(k);
	serve(sock);
}

void subject_main(int argc, char **argv)
{
	if (argc != 4 || strcmp(argv[1], "--subject") != 0)
		return;
	finish(&subject_kinds[atoi(argv[2])]);
	serve(atoi(argv[3]));
}

/* A namespace to join, once for all; -1 if there cannot be any. */
static int shared_ns(void)
{
	static int ns = -2;
	int up[2], down[2];
	char path[64], byte = 0;
	pid_t pid;

	if (ns != -2)
		return ns;
	must(pipe(up) == 0 && pipe(down) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		byte = unshare(CLONE_NEWUSER) == 0;
		must(write(up[1], &byte, 1) == 1);
		must(read(down[0], &byte, 1) == 1);
		_exit(0);
	}
	must(read(up[0], &byte, 1) == 1);
	ns = -1;
	if (byte) {
		write_maps(pid, EVERYTHING);
		snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
		ns = open(path, O_RDONLY | O_CLOEXEC);
		must(ns >= 0);
	}
	must(write(down[1], &byte, 1) == 1);
	for (int i = 0; i < 2; i++) {
		close(up[i]);
		close(down[i]);
	}
	return ns;
}

bool subject_new(int kind, struct subject *out)
{
	const struct subject_kind *k = &subject_kinds[kind];
	int socks[2], shared = shared_ns();

	if (k->ns != OURS && shared < 0)
		return false;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, socks) == 0);
	fcntl(socks[0], F_SETFD, FD_CLOEXEC);
	out->kind = k;
	out->sock = socks[0];
	out->pid = fork();
	must(out->pid >= 0);
	if (out->pid == 0) {
		/* It ends when ours does: the others' ends must not be kept open here. */
		for (int fd = 3; fd < 1024; fd++)
			if (fd != socks[1] && fd != shared)
				close(fd);
		enter(k, shared);
		start(k, socks[1]);
	}
	close(socks[1]);
	must(read(out->sock, &out->tid, sizeof(out->tid)) == sizeof(out->tid));
	return true;
}

int subject_query(const struct subject *s, pid_t tid)
{
	int answer;

	must(write(s->sock, &tid, sizeof(tid)) == sizeof(tid));
	must(read(s->sock, &answer, sizeof(answer)) == sizeof(answer));
	return answer;
}
