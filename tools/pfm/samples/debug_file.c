// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "base/cleanup.h"
#include "tools/pfm/samples/regular.h"

enum {
	DEBUG_SECTIONS = 256, /* section headers examined at most */
	DEBUG_NAMES = 8192,   /* bytes of their names */
	DEBUG_LINK = 256,     /* bytes of .gnu_debuglink */
	DEBUG_MAX = 1 << 26,  /* bytes of a file whose checksum is computed */
};

/* The contents of .gnu_debuglink. */
struct debug_link {
	char name[DEBUG_LINK];
	uint32_t crc;
};

/* Finds the section .gnu_debuglink. False: there is none, or it is damaged. */
static bool debug_find_link(int fd, Elf64_Shdr *link)
{
	Elf64_Shdr all[DEBUG_SECTIONS];
	char names[DEBUG_NAMES];
	Elf64_Ehdr head;
	ssize_t n, size;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_shentsize != sizeof(all[0]))
		return false;
	n = pread(fd, all, sizeof(all), (off_t)head.e_shoff) / (ssize_t)sizeof(all[0]);
	if (n > head.e_shnum)
		n = head.e_shnum;
	if (head.e_shstrndx >= n)
		return false;
	size = pread(fd, names, sizeof(names) - 1, (off_t)all[head.e_shstrndx].sh_offset);
	names[size > 0 ? size : 0] = '\0';
	for (ssize_t i = 0; i < n; i++) {
		*link = all[i];
		if (link->sh_name < size && strcmp(names + link->sh_name, ".gnu_debuglink") == 0)
			return true;
	}
	return false;
}

/* Reads the name, which has no directory, and the checksum. */
static bool debug_read_link(int fd, struct debug_link *link)
{
	Elf64_Shdr at;
	size_t length;

	memset(link, 0, sizeof(*link));
	if (!debug_find_link(fd, &at) || at.sh_size < 8 || at.sh_size > sizeof(link->name) ||
		pread(fd, link->name, at.sh_size, (off_t)at.sh_offset) != (ssize_t)at.sh_size)
		return false;
	memcpy(&link->crc, link->name + at.sh_size - sizeof(link->crc), sizeof(link->crc));
	length = strnlen(link->name, at.sh_size - sizeof(link->crc));
	return length && length < at.sh_size - sizeof(link->crc) && !strchr(link->name, '/');
}

/* Continues the checksum of gdb: CRC-32, as in zlib. */
#ifdef HAVE_ZLIB
static uint32_t debug_crc(uint32_t crc, const unsigned char *p, size_t n)
{
	return (uint32_t)crc32(crc, p, (unsigned)n);
}
#else
static uint32_t debug_crc(uint32_t crc, const unsigned char *p, size_t n)
{
	uint32_t table[256];

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	crc = ~crc;
	for (size_t i = 0; i < n; i++)
		crc = crc >> 8 ^ table[(crc ^ p[i]) & 0xff];
	return ~crc;
}
#endif

static bool debug_has_crc(int fd, uint32_t wanted, off_t size)
{
	unsigned char part[1 << 16];
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t n;

	for (; at < size && (n = pread(fd, part, sizeof(part), at)) > 0; at += n)
		crc = debug_crc(crc, part, (size_t)n);
	return crc == wanted;
}

/* Whether both files are for the same processor: the checksum need not be computed of others. */
static bool debug_is_alike(int fd, int program)
{
	Elf64_Ehdr a, b;

	return pread(fd, &a, sizeof(a), 0) == sizeof(a) &&
	       pread(program, &b, sizeof(b), 0) == sizeof(b) &&
	       memcmp(a.e_ident, b.e_ident, EI_VERSION) == 0 && a.e_machine == b.e_machine;
}

/* Opens a regular file of @owner. A user's link must not lead to another user's file. */
static int debug_open(const char *path, uid_t owner)
{
	CLEANUP_CLOSE int at = open(path, O_PATH | O_CLOEXEC | (owner ? O_NOFOLLOW : 0));
	struct stat st;

	if (at < 0 || fstat(at, &st) < 0 || st.st_uid != owner)
		return -ENOENT;
	return regular_reopen(at);
}

/* Opens the file of @link in @before DIR @after, where DIR is that of the program. */
static int debug_open_link(const struct object *o, const struct debug_link *link,
	const char *const around[2], uint64_t *budget)
{
	int length = (int)(strrchr(o->path, '/') - o->path);
	CLEANUP_CLOSE int fd = -1;
	char path[PATH_MAX];
	struct stat st;

	if (fstat(o->fd, &st) < 0 || snprintf(path, sizeof(path), "%s%.*s%s/%s", around[0], length,
					     o->path, around[1], link->name) >= (int)sizeof(path))
		return -ENOENT;
	fd = debug_open(path, around[0][0] ? 0 : st.st_uid);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > DEBUG_MAX || !debug_is_alike(fd, o->fd))
		return -ENOENT;
	if ((uint64_t)st.st_size > *budget)
		return -E2BIG;
	*budget -= (uint64_t)st.st_size;
	return debug_has_crc(fd, link->crc, st.st_size) ? take_fd(&fd) : -ENOENT;
}

static int debug_open_by_id(const struct object *o)
{
	char path[64 + 2 * DATA_BUILD_ID_MAX];
	CLEANUP_CLOSE int fd = -1;
	int n = snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%02x/", o->id[0]);

	for (unsigned i = 1; i < o->id_size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", o->id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	fd = debug_open(path, 0);
	return fd >= 0 && debug_is_alike(fd, o->fd) ? take_fd(&fd) : -ENOENT;
}

int debug_file_open(const struct object *o, uint64_t *budget)
{
	static const char *const around[][2] = {{"", ""}, {"", "/.debug"}, {"/usr/lib/debug", ""}};
	struct debug_link link;
	int fd = o->id_size ? debug_open_by_id(o) : -ENOENT;

	if (fd >= 0 || o->path[0] != '/' || !debug_read_link(o->fd, &link))
		return fd;
	for (size_t i = 0; fd == -ENOENT && i < sizeof(around) / sizeof(around[0]); i++)
		fd = debug_open_link(o, &link, around[i], budget);
	return fd;
}
