// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/mapped_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "tools/pfm/samples/build_id.h"
#include "tools/pfm/samples/image.h"
#include "tools/pfm/samples/proc_maps.h"
#include "tools/pfm/samples/regular.h"

/* How long before a change of a file the kernel may date it: the clock of files moves by ticks. */
enum { MAPPED_TICK_NS = 10000000 };

int mapped_file_open_inside(uint32_t pid, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)flags | O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	CLEANUP_CLOSE int root = -1, at = -1;
	char root_path[32];

	snprintf(root_path, sizeof(root_path), "/proc/%u/root", pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	at = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	return at < 0 ? -errno : regular_reopen(at);
}

int mapped_file_identify(int fd, pfm_smpl_file_t *file)
{
	void *p = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	int rc;

	if (p == MAP_FAILED)
		return -errno;
	rc = proc_maps_find("/proc/self/maps", (uintptr_t)p, NULL, file);
	munmap(p, 1);
	return rc;
}

/* Whether the file has been what it is since before @time: another one may have had its inode. */
static bool mapped_is_older(int fd, uint64_t time)
{
	uint64_t age = nsec_now(CLOCK_MONOTONIC) - time, now = nsec_now(CLOCK_REALTIME);
	struct stat st;

	return !time || (fstat(fd, &st) == 0 && nsec_of(st.st_ctim) + MAPPED_TICK_NS < now - age);
}

static bool mapped_is(int fd, const pfm_smpl_file_t *file)
{
	uint8_t id[DATA_BUILD_ID_MAX];
	pfm_smpl_file_t found;

	if (file->build_id_size)
		return build_id_read(fd, id) == file->build_id_size &&
		       memcmp(id, file->build_id, sizeof(id)) == 0;
	return mapped_file_identify(fd, &found) == 0 && found.inode == file->inode &&
	       found.dev_major == file->dev_major && found.dev_minor == file->dev_minor;
}

/* Takes over the descriptor @from if it is the file @file, unchanged since @time; 0: at all. */
static int mapped_check(int from, const pfm_smpl_file_t *file, uint64_t time)
{
	CLEANUP_CLOSE int fd = from;

	return fd >= 0 && mapped_is(fd, file) && mapped_is_older(fd, time) ? take_fd(&fd) : -ESTALE;
}

/* While a process has a file mapped, no other file gets the inode: the time of its change, which a
 * deletion is, too, matters only for what is opened by a path. A jitdump goes on being written. */
static int mapped_find(const struct data_map *m, const char *name, const pfm_smpl_file_t *file)
{
	uint64_t time = file->build_id_size || object_is_dump(name) ? 0 : m->time;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, m->pid, m->addr,
		m->addr + m->len);
	fd = mapped_check(regular_open(path), file, 0); /* root alone may */
	if (fd < 0)
		fd = mapped_check(mapped_file_open_inside(m->pid, name, 0), file, time);
	if (fd < 0)
		fd = mapped_check(regular_open(name), file, time);
	snprintf(path, sizeof(path), "/proc/%u/exe", m->pid);
	return fd < 0 ? mapped_check(regular_open(path), file, 0) : fd;
}

int mapped_file_open(const struct data_map *m, const char *name, const pfm_smpl_file_t *file)
{
	pfm_smpl_file_t present;
	char path[32];

	if (file->inode || file->build_id_size)
		return mapped_find(m, name, file);
	snprintf(path, sizeof(path), "/proc/%u/maps", m->pid);
	return proc_maps_find(path, m->addr, name, &present) == 0 ? mapped_find(m, name, &present)
								  : -ESRCH;
}

int mapped_file_open_vdso(void)
{
	CLEANUP_CLOSE int fd = memfd_create("vdso", MFD_CLOEXEC);
	const void *own = (const void *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *head = own;

	if (!own || fd < 0)
		return -ENOENT;
	if (write(fd, own, head->e_shoff + (size_t)head->e_shnum * head->e_shentsize) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Gets the effective user of process @own, and its number in its own PID namespace. */
static int mapped_identity(uint32_t own, unsigned *uid, unsigned *pid)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	char path[32], line[256];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/status", own);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		found |= sscanf(line, "Uid: %*u %u", uid) == 1;
		if (strncmp(line, "NSpid:", strlen("NSpid:")) == 0 && last)
			return found && sscanf(last, "%u", pid) == 1 ? 0 : -ESRCH;
	}
	return -ESRCH;
}

int mapped_file_open_names(uint32_t pid)
{
	CLEANUP_CLOSE int fd = -1;
	unsigned uid, own;
	char path[40];
	struct stat st;

	if (mapped_identity(pid, &uid, &own) < 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", own);
	fd = mapped_file_open_inside(pid, path, O_NOFOLLOW);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == uid ? take_fd(&fd) : -EPERM;
}

bool mapped_file_is_dump_of(uint32_t pid, const char *name, int fd)
{
	const char *slash = strrchr(name, '/');
	unsigned uid, own;
	char dump[32];
	struct stat st;

	if (mapped_identity(pid, &uid, &own) < 0)
		return false;
	snprintf(dump, sizeof(dump), "/jit-%u.dump", own);
	return slash && strcmp(slash, dump) == 0 && fstat(fd, &st) == 0 && st.st_uid == uid;
}
