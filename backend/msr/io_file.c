// SPDX-License-Identifier: MIT
/*
 * Registers through files: the offset is the address, a value is 8 bytes. A path consists of the
 * configured directory and a CPU number that is printed here, never of user input.
 */
#include "backend/msr/io_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "backend/sysfs/sysfs.h"
#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/num.h"
#include "base/raw_syscall.h"

enum { PATH_ROOM = 512, CPU_MAX = 65535 };

struct io_file {
	struct msr_io io;
	char dir[PATH_ROOM - 32];
};

static const struct io_file *io_file_of(const struct msr_io *io)
{
	return (const struct io_file *)io;
}

static bool io_file_has_cpu(const struct io_file *f, unsigned cpu)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/%u", f->dir, cpu);
	return access(path, F_OK) == 0;
}

static int io_file_open_failed(
	const struct io_file *f, unsigned cpu, const char *name, int no, struct err *e)
{
	switch (no) {
	case ENOENT:
		if (io_file_has_cpu(f, cpu))
			return err_set(e, ENOENT,
				"%s/%u/%s: ENOENT: the driver is not loaded: 'modprobe %s', or use "
				"perfmonfs --backend=perf",
				f->dir, cpu, name, name);
		return err_set(e, ENXIO, "CPU %u: no %s/%u: ENXIO: offline, or no such CPU", cpu,
			f->dir, cpu);
	case ENXIO:
		return err_set(e, ENXIO, "CPU %u: %s/%u/%s: ENXIO: offline, or no such CPU", cpu,
			f->dir, cpu, name);
	case EPERM:
	case EACCES:
		return err_set(e, no,
			"%s/%u/%s: %s: opening it requires root and CAP_SYS_RAWIO, and in a "
			"container access to the device; or use perfmonfs --backend=perf",
			f->dir, cpu, name, err_name(no));
	default:
		return err_set(e, no, "cannot open %s/%u/%s: %s", f->dir, cpu, name, err_name(no));
	}
}

static int io_file_open_device(
	const struct io_file *f, unsigned cpu, const char *name, int flags, struct err *e)
{
	char path[PATH_ROOM];
	int fd;

	snprintf(path, sizeof(path), "%s/%u/%s", f->dir, cpu, name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? io_file_open_failed(f, cpu, name, errno, e) : fd;
}

static int io_file_open(struct msr_io *io, unsigned cpu, struct err *e)
{
	return io_file_open_device(io_file_of(io), cpu, "msr", O_RDWR, e);
}

static void io_file_close(struct msr_io *io, int handle)
{
	(void)io;
	close(handle);
}

static int io_file_read(struct msr_io *io, int handle, uint32_t addr, uint64_t *value)
{
	long n = raw_syscall4(SYS_pread64, handle, (long)value, sizeof(*value), addr);

	(void)io;
	if (n == sizeof(*value))
		return 0;
	return n < 0 ? (int)n : -EIO;
}

static int io_file_write(struct msr_io *io, int handle, uint32_t addr, uint64_t value)
{
	long n = raw_syscall4(SYS_pwrite64, handle, (long)&value, sizeof(value), addr);

	(void)io;
	if (n == sizeof(value))
		return 0;
	return n < 0 ? (int)n : -EIO;
}

static int io_file_cpuid(struct msr_io *io, unsigned cpu, uint32_t leaf, uint32_t subleaf,
	uint32_t out[4], struct err *e)
{
	CLEANUP_CLOSE int fd = io_file_open_device(io_file_of(io), cpu, "cpuid", O_RDONLY, e);
	const size_t size = 4 * sizeof(out[0]);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, out, size, (off_t)((uint64_t)subleaf << 32 | leaf));
	if (n == (ssize_t)size)
		return 0;
	return err_set(e, n < 0 ? errno : EIO, "%s/%u/cpuid: cannot read leaf %#x: %s",
		io_file_of(io)->dir, cpu, leaf, err_name(n < 0 ? errno : EIO));
}

static unsigned io_file_cpu_limit(struct msr_io *io)
{
	CLEANUP_CLOSEDIR DIR *d = opendir(io_file_of(io)->dir);
	struct err ignored;
	struct dirent *de;
	unsigned limit = 0;

	/* Ask sysfs, too, because an offline CPU has no file but is below the limit. */
	if (io->kernel)
		sysfs_cpu_limit(&limit, &ignored);
	while (d && (de = readdir(d))) {
		uint64_t cpu;

		if (num_max(slice_of(de->d_name), CPU_MAX, &cpu, &ignored) == 0 && cpu >= limit)
			limit = (unsigned)cpu + 1;
	}
	return limit;
}

static bool io_file_cpu_online(struct msr_io *io, unsigned cpu)
{
	struct err ignored;
	int fd;

	if (io->kernel)
		return sysfs_cpu_online(cpu);
	fd = io_file_open(io, cpu, &ignored);
	if (fd >= 0)
		close(fd);
	/* cpu_open() reports other errors. */
	return fd != -ENXIO;
}

static uint64_t io_file_now(struct msr_io *io)
{
	(void)io;
	return nsec_now(CLOCK_MONOTONIC);
}

static void io_file_free(struct msr_io *io)
{
	free(io);
}

static const struct msr_io_ops io_file_ops = {
	.open = io_file_open,
	.close = io_file_close,
	.read = io_file_read,
	.write = io_file_write,
	.cpuid = io_file_cpuid,
	.cpu_limit = io_file_cpu_limit,
	.cpu_online = io_file_cpu_online,
	.now = io_file_now,
	.free = io_file_free,
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
	f->io.ops = &io_file_ops;
	f->io.persistent = true;
	f->io.kernel = strcmp(dir, MSR_DEV_DEFAULT) == 0;
	if (access(dir, F_OK) < 0 && errno != ENOENT)
		return err_set(e, errno, "cannot access %s: %s", dir, err_name(errno));
	if (io_file_cpu_limit(&f->io) == 0)
		return err_set(e, ENOENT,
			"%s contains no CPU: ENOENT: the msr driver is not loaded: 'modprobe msr', "
			"or use perfmonfs --backend=perf",
			dir);
	*out = &take_ptr(&f)->io;
	return 0;
}
