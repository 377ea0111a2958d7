// SPDX-License-Identifier: MIT
/*
 * One function for each kind of virtual PMD. A value that cannot be read is reported as such; no
 * earlier value replaces it. Values may be read as often as counters, so files stay open until they
 * are removed or replaced.
 */
#include "daemon/percpu/virtual_pmd.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/num.h"
#include "base/raw_syscall.h"

enum { TEXT_MAX = 4096 };

/* One call of virtual_pmd_fetch(). */
struct virtual_fetch {
	struct virtuals *v;
	const struct pmu *pmu;
	const struct virtual_moment *at;
	/* The row of pmu->virtuals that is being read. */
	unsigned row;
	/* sysinfo(2) was called, and it succeeded. */
	bool sysinfo_done, sysinfo_ok;
	struct sysinfo info;
};

static bool virtual_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool virtual_in_word(char c)
{
	return virtual_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '.' || (unsigned char)c >= 0x80;
}

static bool virtual_convert(const char *p, const char *end, bool negative, uint64_t *value)
{
	bool hex = end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x' && num_digit(p[2], 16) >= 0;
	unsigned base = hex ? 16 : 10;
	uint64_t n = 0;

	for (p += hex ? 2 : 0; p < end && num_digit(*p, base) >= 0; p++)
		if (__builtin_mul_overflow(n, base, &n) ||
			__builtin_add_overflow(n, (uint64_t)num_digit(*p, base), &n))
			return false;
	if (negative && n > 1ULL << 63)
		return false;
	*value = negative ? -n : n;
	return true;
}

bool virtual_pmd_parse(const char *text, size_t n, uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		bool negative = i && text[i - 1] == '-' && (i < 2 || !virtual_in_word(text[i - 2]));

		if (virtual_is_digit(text[i]) && (!i || !virtual_in_word(text[i - 1])))
			return virtual_convert(text + i, text + n, negative, value);
	}
	return false;
}

static long virtual_read_text(int fd, char *text, size_t room)
{
	return raw_syscall4(SYS_pread64, fd, (long)text, (long)room, 0);
}

/* Ignores a number at the end of the buffer, which may be incomplete. */
static bool virtual_read_number(int fd, uint64_t *value)
{
	char text[TEXT_MAX];
	long n = virtual_read_text(fd, text, sizeof(text));

	if (n == (long)sizeof(text))
		while (n > 0 && virtual_in_word(text[n - 1]))
			n--;
	return n > 0 && virtual_pmd_parse(text, (size_t)n, value);
}

bool virtual_pmd_read_file(const struct pmu_virtual *v, uint64_t *value)
{
	struct err why;
	CLEANUP_CLOSE int fd = pmu_virtual_open(v, &why);

	return fd >= 0 && virtual_read_number(fd, value);
}

static bool virtual_read_clock(struct virtual_fetch *f, uint64_t *value)
{
	*value = f->at->now;
	return true;
}

/* -1: the thread has ended, or its file cannot be opened. */
static int virtual_open_thread(struct virtuals *v, uint32_t tid)
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

/* The file begins with the CPU time in ns; without CONFIG_SCHED_INFO that is 0. */
static bool virtual_read_schedstat(int fd, uint64_t *value)
{
	char text[80];
	long n = fd < 0 ? -1 : virtual_read_text(fd, text, sizeof(text));

	return n > 0 && virtual_pmd_parse(text, (size_t)n, value) && *value;
}

/*
 * The open file of a thread that has ended cannot be read any more; if the thread's number is in
 * use again, the file is opened for the new thread.
 */
static bool virtual_read_cputime(struct virtual_fetch *f, uint64_t *value)
{
	uint32_t tid = f->at->where.known ? f->at->where.tid : 0;
	unsigned slot = tid % VIRTUAL_THREADS;

	if (!tid)
		return false;
	if (f->v->threads[slot].tid == tid && virtual_read_schedstat(f->v->threads[slot].fd, value))
		return true;
	return virtual_read_schedstat(virtual_open_thread(f->v, tid), value);
}

static bool virtual_read_process(struct virtual_fetch *f, uint64_t *value)
{
	*value = f->at->where.pid;
	return f->at->where.known;
}

static bool virtual_read_thread(struct virtual_fetch *f, uint64_t *value)
{
	*value = f->at->where.tid;
	return f->at->where.known;
}

static bool virtual_read_elapsed(struct virtual_fetch *f, uint64_t *value)
{
	*value = f->at->elapsed;
	return true;
}

static const struct sysinfo *virtual_sysinfo(struct virtual_fetch *f)
{
	if (!f->sysinfo_done)
		f->sysinfo_ok = raw_syscall4(SYS_sysinfo, (long)&f->info, 0, 0, 0) == 0;
	f->sysinfo_done = true;
	return f->sysinfo_ok ? &f->info : NULL;
}

static bool virtual_read_free_memory(struct virtual_fetch *f, uint64_t *value)
{
	const struct sysinfo *info = virtual_sysinfo(f);

	if (!info)
		return false;
	*value = (uint64_t)info->freeram * info->mem_unit;
	return true;
}

static bool virtual_read_load(struct virtual_fetch *f, uint64_t *value)
{
	const struct sysinfo *info = virtual_sysinfo(f);

	if (!info)
		return false;
	*value = (uint64_t)info->loads[0] * 1000 >> SI_LOAD_SHIFT;
	return true;
}

static void virtual_close_file(struct virtuals *v, unsigned row)
{
	if (v->open & ROW(row))
		close(v->fd[row]);
	v->open &= ~ROW(row);
}

/* A file that was removed or replaced can still be read, but has no links. */
static bool virtual_file_is_current(const struct virtuals *v, unsigned row)
{
	struct stat st;

	return (v->open & ROW(row)) && fstat(v->fd[row], &st) == 0 && st.st_nlink;
}

static bool virtual_open_file(struct virtual_fetch *f)
{
	struct err why;
	int fd;

	virtual_close_file(f->v, f->row);
	fd = pmu_virtual_open(&f->pmu->virtuals[f->row], &why);
	if (fd < 0)
		return false;
	f->v->fd[f->row] = fd;
	f->v->open |= ROW(f->row);
	return true;
}

/* If the file cannot be read, its device may be unplugged: the next call opens it again. */
static bool virtual_read_file(struct virtual_fetch *f, uint64_t *value)
{
	if (!virtual_file_is_current(f->v, f->row) && !virtual_open_file(f))
		return false;
	if (virtual_read_number(f->v->fd[f->row], value))
		return true;
	virtual_close_file(f->v, f->row);
	return false;
}

static bool virtual_read_reading(struct virtual_fetch *f, uint64_t *value)
{
	const struct pmu_virtual *v = &f->pmu->virtuals[f->row];
	struct reg_op op = {.verb = REG_READ, .addr = f->pmu->frees[v->free].addr};
	struct err ignored;

	if (pmu_virtual_counts_kernel(v) && !f->at->kernel)
		return false;
	if (!f->at->cpu || f->at->be->ops->run(f->at->cpu, &op, 1, &ignored) != 1)
		return false;
	*value = op.value;
	return true;
}

static bool (*const virtual_kinds[])(struct virtual_fetch *f, uint64_t *value) = {
	[PMU_VIRTUAL_CLOCK] = virtual_read_clock,
	[PMU_VIRTUAL_CPUTIME] = virtual_read_cputime,
	[PMU_VIRTUAL_FREE_MEMORY] = virtual_read_free_memory,
	[PMU_VIRTUAL_LOAD] = virtual_read_load,
	[PMU_VIRTUAL_TEMPERATURE] = virtual_read_file,
	[PMU_VIRTUAL_PROCESS] = virtual_read_process,
	[PMU_VIRTUAL_ELAPSED] = virtual_read_elapsed,
	[PMU_VIRTUAL_THREAD] = virtual_read_thread,
	[PMU_VIRTUAL_READING] = virtual_read_reading,
	[PMU_VIRTUAL_FILE] = virtual_read_file,
};

void virtual_pmd_fetch(struct virtuals *v, const struct pmu *pmu, const struct virtual_moment *at,
	struct virtual_values *out)
{
	pmu_rows rows = out->want & ~out->asked;
	struct virtual_fetch f = {.v = v, .pmu = pmu, .at = at};

	out->asked |= rows;
	for_each_row (row, rows) {
		f.row = row;
		if (virtual_kinds[pmu->virtuals[row].kind](&f, &out->value[row]))
			out->valid |= ROW(row);
	}
}

void virtual_pmd_close(struct virtuals *v)
{
	for (unsigned row = 0; row < PMU_MAX_VIRTUALS; row++)
		virtual_close_file(v, row);
	for (unsigned slot = 0; slot < VIRTUAL_THREADS; slot++)
		if (v->threads[slot].tid)
			close(v->threads[slot].fd);
	*v = (struct virtuals){0};
}
