// SPDX-License-Identifier: MIT
/*
 * Registers through files: the offset is the address, a value is 8 bytes. A path is made of the
 * directory and a number that this program printed, never of anyone's bytes.
 */
#include "backend/msr/io_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "base/raw_syscall.h"
#include "backend/sysfs/sysfs.h"

enum { PATH_ROOM = 512, CPU_MAX = 65535 };

struct io_file {
	struct msr_io io;
	char dir[PATH_ROOM - 32];
};

static const struct io_file *of(const struct msr_io *io)
{
	return (const struct io_file *)io;
}

static bool has_dir(const struct io_file *f, unsigned cpu)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%u", f->dir, cpu);
	return access(path, F_OK) == 0;
}

static int open_failed(
	const struct io_file *f, unsigned cpu, const char *name, int no, struct err *e)
{
	switch (no) {
	case ENOENT:
		if (has_dir(f, cpu))
			return err_set(e, ENOENT,
				"%s/%u/%s: ENOENT: the driver is not loaded: 'modprobe %s', or use "
				"--backend=perf",
				f->dir, cpu, name, name);
		return err_set(e, ENXIO, "CPU %u: no %s/%u: ENXIO: offline, or no such CPU", cpu,
			f->dir, cpu);
	case ENXIO:
		return err_set(e, ENXIO, "CPU %u: %s/%u/%s: ENXIO: offline, or no such CPU", cpu,
			f->dir, cpu, name);
	case EPERM:
	case EACCES:
		return err_set(e, no,
			"%s/%u/%s: %s: opening it takes root with CAP_SYS_RAWIO, and in a "
			"container the device as well; or use --backend=perf",
			f->dir, cpu, name, err_name(no));
	default:
		return err_set(e, no, "cannot open %s/%u/%s: %s", f->dir, cpu, name, err_name(no));
	}
}

static int open_device(
	const struct io_file *f, unsigned cpu, const char *name, int flags, struct err *e)
{
	char path[PATH_ROOM];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/%s", f->dir, cpu, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? open_failed(f, cpu, name, errno, e) : fd;
}

static int file_open(struct msr_io *io, unsigned cpu, struct err *e)
{
	return open_device(of(io), cpu, "msr", O_RDWR, e);
}

static void file_close(struct msr_io *io, int handle)
{
	(void)io;
	close(handle);
}

static int file_read(struct msr_io *io, int handle, uint32_t addr, uint64_t *value)
{
	long n = raw_syscall4(SYS_pread64, handle, (long)value, sizeof(*value), addr);

	(void)io;
	if (n == sizeof(*value))
		return 0;
	return n < 0 ? (int)n : -EIO;
}

static int file_write(struct msr_io *io, int handle, uint32_t addr, uint64_t value)
{
	long n = raw_syscall4(SYS_pwrite64, handle, (long)&value, sizeof(value), addr);

	(void)io;
	if (n == sizeof(value))
		return 0;
	return n < 0 ? (int)n : -EIO;
}

static int file_cpuid(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
	uint32_t out[4], struct err *e)
{
	CLEANUP_CLOSE int fd = open_device(of(io), cpu, "cpuid", O_RDONLY, e);
	const size_t size = 4 * sizeof(out[0]);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, out, size, (off_t)((uint64_t)subleaf << 32 | leaf));
	if (n == (ssize_t)size)
		return 0;
	return err_set(e, n < 0 ? errno : EIO, "%s/%u/cpuid: cannot read leaf %#x: %s", of(io)->dir,
		cpu, leaf, err_name(n < 0 ? errno : EIO));
}

static unsigned file_cpu_limit(struct msr_io *io)
{
	CLEANUP_CLOSEDIR DIR *d = opendir(of(io)->dir);
	struct err ignored;
	struct dirent *de;
	unsigned limit = 0;

	/* The kernel removes an offline CPU's files; it is one of ours all the same. */
	if (io->kernel)
		sysfs_cpu_limit(&limit, &ignored);
	while (d && (de = readdir(d))) {
		uint64_t cpu;

		if (num_max(slice_of(de->d_name), CPU_MAX, &cpu, &ignored) == 0 && cpu >= limit)
			limit = (unsigned)cpu + 1;
	}
	return limit;
}

static bool file_cpu_online(struct msr_io *io, unsigned cpu)
{
	struct err ignored;
	int fd;

	if (io->kernel)
		return sysfs_cpu_online(cpu);
	fd = file_open(io, cpu, &ignored);
	if (fd >= 0)
		close(fd);
	/* Any other refusal is for whoever really opens it to explain. */
	return fd != -ENXIO;
}

static uint64_t file_now(struct msr_io *io)
{
	(void)io;
	return nsec_now(CLOCK_MONOTONIC);
}

static void file_free(struct msr_io *io)
{
	free(io);
}

static const struct msr_io_ops file_ops = {
	.open = file_open,
	.close = file_close,
	.read = file_read,
	.write = file_write,
	.cpuid = file_cpuid,
	.cpu_limit = file_cpu_limit,
	.cpu_online = file_cpu_online,
	.now = file_now,
	.free = file_free,
};

int msr_io_file(const char *dir, struct msr_io **out, struct err *e)
{
	CLEANUP_FREE struct io_file *f = calloc(1, sizeof(*f));

	if (!f)
		return err_set(e, ENOMEM, "no memory for the msr device");
	if (!dir)
		dir = MSR_DEV_DEFAULT;
	if (strlen(dir) >= sizeof(f->dir))
		return err_set(e, ENAMETOOLONG, "%.80s...: ENAMETOOLONG", dir);
	strcpy(f->dir, dir);
	f->io.ops = &file_ops;
	f->io.lasts = true;
	f->io.kernel = strcmp(dir, MSR_DEV_DEFAULT) == 0;
	if (access(dir, F_OK) < 0 && errno != ENOENT)
		return err_set(e, errno, "cannot look at %s: %s", dir, err_name(errno));
	if (file_cpu_limit(&f->io) == 0)
		return err_set(e, ENOENT,
			"%s has no CPU: ENOENT: the msr driver is not loaded: 'modprobe msr', or "
			"use --backend=perf",
			dir);
	*out = &take_ptr(&f)->io;
	return 0;
}
