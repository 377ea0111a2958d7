// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/mapped_file.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/regular.h"

/* The inode of the file that process @pid has mapped at @address; 0: there is none. */
static uint64_t mapped_inode(uint32_t pid, uint64_t address)
{
	CLEANUP_FCLOSE FILE *f = NULL;
	CLEANUP_FREE char *line = NULL;
	uint64_t low, high, inode;
	size_t room = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	f = fopen(path, "re");
	while (f && getline(&line, &room, f) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &low, &high,
			    &inode) == 3 &&
			address >= low && address < high)
			return inode;
	return 0;
}

/* Opens @path if it is the file with that inode, which cannot be another one's while it is mapped.
 */
static int mapped_open_inode(const char *path, uint64_t inode)
{
	CLEANUP_CLOSE int fd = regular_open(path);
	struct stat st;

	if (fd < 0)
		return fd;
	return fstat(fd, &st) == 0 && st.st_ino == inode ? take_fd(&fd) : -ESTALE;
}

int mapped_file_open(const struct data_map *m, const char *name)
{
	char path[PATH_MAX + 32];
	uint64_t inode;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, m->pid, m->addr,
		m->addr + m->len);
	fd = regular_open(path); /* root alone may */
	if (fd >= 0)
		return fd;
	inode = mapped_inode(m->pid, m->addr);
	if (!inode)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/root%s", m->pid, name);
	fd = mapped_open_inode(path, inode);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%u/exe", m->pid);
	fd = mapped_open_inode(path, inode);
	return fd >= 0 ? fd : -ESTALE;
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
	char path[64];
	struct stat st;

	if (mapped_identity(pid, &uid, &own) < 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, own);
	if (lstat(path, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	fd = regular_open(path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == uid ? take_fd(&fd) : -EPERM;
}
