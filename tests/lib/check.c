// SPDX-License-Identifier: MIT
#include "tests/lib/check.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void check_is(const char *file, int line, const char *what, long long is, long long wanted)
{
	if (is == wanted)
		return;
	fprintf(stderr, "%s:%d: %s is %lld, should be %lld (%s)\n", file, line, what, is, wanted,
		strerrorname_np(errno));
	exit(1);
}

void check_fails(const char *file, int line, const char *what, long long rc, int error)
{
	if (rc == -1 && errno == error)
		return;
	fprintf(stderr, "%s:%d: %s: %lld with %s, should fail with %s\n", file, line, what, rc,
		strerrorname_np(errno), strerrorname_np(error));
	exit(1);
}

int check_fd(const char *file, int line, const char *what, int fd)
{
	if (fd >= 0)
		return fd;
	fprintf(stderr, "%s:%d: %s: %s\n", file, line, what, strerrorname_np(errno));
	exit(1);
}

static int open_below(const char *path, int flags)
{
	char whole[4096];
	const char *mnt = getenv("PERFMONFS");
	int fd;

	if (!mnt)
		errx(1, "PERFMONFS is not set");
	snprintf(whole, sizeof(whole), "%s/%s", mnt, path);
	fd = open(whole, flags | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", whole);
	return fd;
}

void write_to(const char *text, const char *format, ...)
{
	char path[256];
	va_list ap;
	int fd;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	fd = open_below(path, O_WRONLY);
	if (write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

void advance(uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)ns);
	write_to(text, "sim/advance");
}

int open_file(const char *path)
{
	return open_below(path, O_RDONLY);
}

static void read_below(const char *path, char *text, size_t size)
{
	int fd = open_below(path, O_RDONLY);
	ssize_t n = read(fd, text, size - 1);

	if (n < 0)
		err(1, "%s", path);
	text[n] = 0;
	close(fd);
}

uint64_t number_in(const char *format, ...)
{
	char path[256], text[64];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	read_below(path, text, sizeof(text));
	return strtoull(text, NULL, 0);
}

bool file_says(const char *path, const char *beginning)
{
	char text[4096];

	read_below(path, text, sizeof(text));
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool has_line(const char *text, const char *wanted)
{
	size_t n = strlen(wanted);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += at != text;
		if (strncmp(at, wanted, n) == 0 && (at[n] == '\n' || !at[n]))
			return true;
	}
	return false;
}

void check_has(const char *file, int line, const char *wanted, const char *format, ...)
{
	char path[256], text[4096];
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	read_below(path, text, sizeof(text));
	if (has_line(text, wanted))
		return;
	fprintf(stderr, "%s:%d: no line \"%s\" in %s:\n%s", file, line, wanted, path, text);
	exit(1);
}

void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		err(1, "running on CPU %d", cpu);
}

/* Their number; *@last is the last one's. */
static int count_contexts(unsigned long *last)
{
	DIR *dir = fdopendir(open_below("ctx", O_RDONLY | O_DIRECTORY));
	const struct dirent *d;
	int n = 0;

	if (!dir)
		err(1, "ctx");
	while ((d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.') {
			*last = strtoul(d->d_name, NULL, 10);
			n++;
		}
	closedir(dir);
	return n;
}

unsigned long the_context(void)
{
	unsigned long number = 0;

	if (count_contexts(&number) != 1)
		errx(1, "there is not one context in ctx/");
	return number;
}

int contexts(void)
{
	unsigned long number;

	return count_contexts(&number);
}

void all_gone(void)
{
	const struct timespec ms = {0, 1000000};

	for (int i = 0; i < 20000 && contexts() != 0; i++)
		nanosleep(&ms, NULL);
	IS(contexts(), 0);
}

void ends_well(pid_t pid)
{
	int status;

	IS(waitpid(pid, &status, 0), pid);
	IS(status, 0);
}

int bad_descriptor(unsigned i)
{
	static const char *const paths[] = {"version", "", "ctx"};
	static int opened[3];

	switch (i) {
	case 0:
		return -1;
	case 1:
		return 0;
	case 2:
		return 999;
	default:
		i -= 3;
		if (!opened[i])
			opened[i] = open_file(paths[i]);
		return opened[i];
	}
}

void fault(int n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	IS(area != MAP_FAILED, 1);
	for (int i = 0; i < n; i++) {
		OK(madvise(area, page, MADV_DONTNEED));
		*(volatile char *)area = 1;
	}
	OK(munmap(area, page));
}
