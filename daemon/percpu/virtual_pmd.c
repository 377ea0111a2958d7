// SPDX-License-Identifier: MIT
/*
 * Values of virtual PMDs, a function for each kind. What cannot be told is said to be so; what
 * was read before is never given again. They are read up to as often as counters are looked at,
 * so files stay open as long as they are the ones that their names stand for.
 */
#include "daemon/cpu/virtual.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/raw_syscall.h"

enum { TEXT_MAX = 4096 };

/* One round of it. */
struct fetch {
	struct virtuals *v;
	const struct pmu *pmu;
	const pfm_smpl_where_t *where;
	uint64_t now;
	bool asked, told; /* the kernel has been asked for: */
	struct sysinfo info;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool in_word(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	       c == '.' || (unsigned char)c >= 0x80;
}

/* The digit's value in @base, or -1. */
static int digit(char c, unsigned base)
{
	int n = -1;

	if (is_digit(c))
		n = c - '0';
	else if (c >= 'a' && c <= 'f')
		n = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		n = c - 'A' + 10;
	return n < (int)base ? n : -1;
}

static bool convert(const char *p, const char *end, bool negative, uint64_t *value)
{
	bool hex = end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x' && digit(p[2], 16) >= 0;
	unsigned base = hex ? 16 : 10;
	uint64_t n = 0;

	for (p += hex ? 2 : 0; p < end && digit(*p, base) >= 0; p++)
		if (__builtin_mul_overflow(n, base, &n) ||
			__builtin_add_overflow(n, (uint64_t)digit(*p, base), &n))
			return false;
	if (negative && n > 1ULL << 63)
		return false;
	*value = negative ? -n : n;
	return true;
}

bool virtual_number(const char *text, size_t n, uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		bool negative = i && text[i - 1] == '-' && (i < 2 || !in_word(text[i - 2]));

		if (is_digit(text[i]) && (!i || !in_word(text[i - 1])))
			return convert(text + i, text + n, negative, value);
	}
	return false;
}

static long read_start(int fd, char *text, size_t room)
{
	return raw_syscall4(SYS_pread64, fd, (long)text, (long)room, 0);
}

/* A number that is cut off at the end of what has been read is none. */
static bool read_number(int fd, uint64_t *value)
{
	char text[TEXT_MAX];
	long n = read_start(fd, text, sizeof(text));

	if (n == (long)sizeof(text))
		while (n > 0 && in_word(text[n - 1]))
			n--;
	return n > 0 && virtual_number(text, (size_t)n, value);
}

static bool read_clock(struct fetch *f, unsigned row, uint64_t *value)
{
	(void)row;
	*value = f->now;
	return true;
}

/* -1: the thread is gone, or there is no way to tell. */
static int open_thread(struct virtuals *v, uint32_t tid)
{
	unsigned slot = tid % VIRTUAL_THREADS;
	char path[40];

	if (v->threads[slot].tid)
		close(v->threads[slot].fd);
	snprintf(path, sizeof(path), "/proc/%u/schedstat", tid);
	v->threads[slot].fd = open(path, O_RDONLY | O_CLOEXEC);
	v->threads[slot].tid = v->threads[slot].fd < 0 ? 0 : tid;
	return v->threads[slot].fd;
}

/* It begins with the nanoseconds; a kernel without the statistics has 0 there. */
static bool read_schedstat(int fd, uint64_t *value)
{
	char text[80];
	long n = fd < 0 ? -1 : read_start(fd, text, sizeof(text));

	return n > 0 && virtual_number(text, (size_t)n, value) && *value;
}

/*
 * An open file of a thread that has ended stays that thread's and cannot be read any more: then
 * the number belongs to another one.
 */
static bool read_cputime(struct fetch *f, unsigned row, uint64_t *value)
{
	uint32_t tid = f->where->known ? f->where->tid : 0;
	unsigned slot = tid % VIRTUAL_THREADS;

	(void)row;
	if (!tid)
		return false;
	if (f->v->threads[slot].tid == tid && read_schedstat(f->v->threads[slot].fd, value))
		return true;
	return read_schedstat(open_thread(f->v, tid), value);
}

static const struct sysinfo *system_info(struct fetch *f)
{
	if (!f->asked)
		f->told = raw_syscall4(SYS_sysinfo, (long)&f->info, 0, 0, 0) == 0;
	f->asked = true;
	return f->told ? &f->info : NULL;
}

static bool read_free_memory(struct fetch *f, unsigned row, uint64_t *value)
{
	const struct sysinfo *info = system_info(f);

	(void)row;
	if (!info)
		return false;
	*value = (uint64_t)info->freeram * info->mem_unit;
	return true;
}

static bool read_load(struct fetch *f, unsigned row, uint64_t *value)
{
	const struct sysinfo *info = system_info(f);

	(void)row;
	if (!info)
		return false;
	*value = (uint64_t)info->loads[0] * 1000 >> SI_LOAD_SHIFT;
	return true;
}

static void close_file(struct virtuals *v, unsigned row)
{
	if (v->open & 1u << row)
		close(v->fd[row]);
	v->open &= ~(1u << row);
}

/* One that was removed or replaced is still there for those who have it open. */
static bool is_current(const struct virtuals *v, unsigned row)
{
	struct stat st;

	return (v->open & 1u << row) && fstat(v->fd[row], &st) == 0 && st.st_nlink;
}

static bool open_file(struct fetch *f, unsigned row)
{
	struct err why;
	int fd;

	close_file(f->v, row);
	fd = pmu_virtual_open(&f->pmu->virtuals[row], &why);
	if (fd < 0)
		return false;
	f->v->fd[row] = fd;
	f->v->open |= 1u << row;
	return true;
}

/* One that cannot be read may be a device's that has gone and come back: anew the next time. */
static bool read_file(struct fetch *f, unsigned row, uint64_t *value)
{
	if (!is_current(f->v, row) && !open_file(f, row))
		return false;
	if (read_number(f->v->fd[row], value))
		return true;
	close_file(f->v, row);
	return false;
}

static bool (*const kinds[])(struct fetch *f, unsigned row, uint64_t *value) = {
	[PMU_VIRTUAL_CLOCK] = read_clock,
	[PMU_VIRTUAL_CPUTIME] = read_cputime,
	[PMU_VIRTUAL_FREE_MEMORY] = read_free_memory,
	[PMU_VIRTUAL_LOAD] = read_load,
	[PMU_VIRTUAL_TEMPERATURE] = read_file,
	[PMU_VIRTUAL_FILE] = read_file,
};

void virtuals_fetch(struct virtuals *v, const struct pmu *pmu, const pfm_smpl_where_t *where,
	uint64_t now, struct virtual_values *out)
{
	uint32_t rows = out->want & ~out->asked;
	struct fetch f = {.v = v, .pmu = pmu, .where = where, .now = now};

	out->asked |= rows;
	for (unsigned row = 0; row < pmu->nvirtuals; row++)
		if ((rows & 1u << row) && kinds[pmu->virtuals[row].kind](&f, row, &out->value[row]))
			out->valid |= 1u << row;
}

void virtuals_close(struct virtuals *v)
{
	for (unsigned row = 0; row < PMU_MAX_VIRTUALS; row++)
		close_file(v, row);
	for (unsigned slot = 0; slot < VIRTUAL_THREADS; slot++)
		if (v->threads[slot].tid)
			close(v->threads[slot].fd);
	*v = (struct virtuals){0};
}
