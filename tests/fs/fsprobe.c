// SPDX-License-Identifier: MIT
/*
 * One file operation, its outcome in one word: for shell tests, which must not compare strerror
 * texts. Prints "ok", data in hex, a count, or an errno's name, and then exits 0: a test asks
 * for what is printed. Exit 2: the operation was not understood.
 *
 *   fsprobe open PATH FLAGS            FLAGS: rdonly|wronly|rdwr, then any of ,trunc ,append
 *                                      ,creat
 *   fsprobe pread PATH SIZE OFFSET     the bytes in hex; PATH - is the open standard input
 *   fsprobe pwrite PATH OFFSET HEX     the number of bytes written
 *   fsprobe write PATH                 all of standard input by one write(2); a number if it is
 *                                      not "ok"; PATH - is the open descriptor 4
 *   fsprobe writeas UID PATH           the same to a file opened by that user, who does not write
 *   fsprobe readas UID PATH            reads a file opened by that user, who does not read
 *   fsprobe mkdir|rmdir|unlink PATH
 *   fsprobe rename|symlink|link FROM TO
 *   fsprobe chmod PATH MODE            MODE in the shell's octal
 *   fsprobe chown PATH UID
 *   fsprobe truncate PATH SIZE
 *   fsprobe touch PAGES                how many minor faults writing to that much new memory costs
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
		{"append", O_APPEND},
		{"creat", O_CREAT},
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

static int probe_pread(char **arg)
{
	CLEANUP_FREE unsigned char *buf = NULL;
	CLEANUP_CLOSE int fd = -1;
	uint64_t size, off;
	ssize_t n;

	if (!parse(arg[1], 1 << 20, &size) || !parse(arg[2], INT64_MAX, &off))
		return misuse("SIZE and OFFSET are numbers, SIZE at most 1 MiB");
	fd = strcmp(arg[0], "-") ? open(arg[0], O_RDONLY | O_CLOEXEC) : dup(STDIN_FILENO);
	if (fd < 0)
		return fail();
	buf = malloc(size + 1);
	n = buf ? pread(fd, buf, size, (off_t)off) : -1;
	if (n < 0)
		return fail();
	for (ssize_t i = 0; i < n; i++)
		printf("%02x", buf[i]);
	putchar('\n');
	return 0;
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
	int nargs;
	int (*run)(char **arg);
} probes[] = {
	{"open", 2, probe_open},
	{"pread", 3, probe_pread},
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
	{"truncate", 2, probe_truncate},
	{"touch", 1, probe_touch},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(probes) / sizeof(probes[0]); i++) {
		if (!strcmp(argv[1], probes[i].name) && argc - 2 == probes[i].nargs)
			return probes[i].run(argv + 2);
	}
	return misuse("no such operation, or not its number of arguments");
}
