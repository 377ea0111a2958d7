// SPDX-License-Identifier: MIT
/*
 * mmap(2) of sampling buffers, with the errors of the specification (3.5.4) and of kernels. A FUSE
 * file cannot refuse a mapping: where the kernel passes mappings through to the daemon's memory,
 * writes to a writable mapping would be visible to other processes that share the descriptor. Calls
 * for contexts that another program has created, for other descriptors and for other memory go to
 * the kernel.
 */
#include "lib/lib_i.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/debug.h"
#include "lib/lines.h"

/* The exported symbols. They need other names in C, since <sys/mman.h> may define one as the other.
 */
void *mmap_api(void *addr, size_t size, int prot, int flags, int fd, long offset) __asm__("mmap");
void *mmap64_api(void *addr, size_t size, int prot, int flags, int fd, int64_t offset) __asm__(
	"mmap64");

/* The @n-th word of a line, from 0; NULL if there are fewer. */
static char *mmap_word(char *line, int n)
{
	char *word = lines_word(&line);

	while (word && n-- > 0)
		word = lines_word(&line);
	return word;
}

/* True if the process has a mapping of the file. /proc/self/maps: RANGE PERMS OFFSET MAJ:MIN INODE
 */
static bool mmap_is_mapped(const struct ctx_fd *t)
{
	bool mapped = false;
	struct lines l;
	char *line;

	if (lines_open(&l, "/proc/self/maps") < 0)
		return false;
	while (!mapped && (line = lines_next(&l)) != NULL) {
		char *word = mmap_word(line, 3), *end;
		struct device d = {0};

		if (!word)
			continue;
		d.major = (unsigned)strtoul(word, &end, 16);
		d.minor = *end == ':' ? (unsigned)strtoul(end + 1, &end, 16) : 0;
		mapped = d.major == t->device.major && d.minor == t->device.minor &&
			 strtoull(end + 1, NULL, 10) == t->inode;
	}
	lines_close(&l);
	return mapped;
}

static size_t mmap_pages(uint64_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (size_t)((bytes + page - 1) / page);
}

/* Whether no version allows the mapping. */
static bool mmap_is_wrong(const struct ctx_cache *c, size_t size, int prot, int64_t offset)
{
	return (prot & PROT_WRITE) || offset || !c->buf_size ||
	       mmap_pages(size) > mmap_pages(c->buf_size);
}

/* Whether the specification forbids a mapping that later versions allow. It also excludes
 * MAP_PRIVATE, which is accepted here, because no other mapping is possible if the kernel cannot
 * pass mappings through. */
static bool mmap_is_against_v06(
	const struct ctx_fd *t, const struct ctx_cache *c, size_t size, int prot, int flags)
{
	return prot != PROT_READ || (flags & (MAP_LOCKED | MAP_GROWSDOWN | MAP_EXECUTABLE)) ||
	       mmap_pages(size) != mmap_pages(c->buf_size) || mmap_is_mapped(t);
}

static bool mmap_is_refused(int fd, size_t size, int prot, int flags, int64_t offset)
{
	struct ctx_cache c;
	struct ctx_fd t;
	int err = errno;
	bool refused = fd >= 0 && !(flags & MAP_ANONYMOUS) && ctx_fd_stat(&t, fd) == 0 &&
		       ctx_cache_find_created(&t, &c) &&
		       (mmap_is_wrong(&c, size, prot, offset) ||
			       (c.created == CREATED_BY_V06 &&
				       mmap_is_against_v06(&t, &c, size, prot, flags)));

	errno = err;
	return refused;
}

static void *mmap_call(void *addr, size_t size, int prot, int flags, int fd, int64_t offset)
{
	if (mmap_is_refused(fd, size, prot, flags, offset)) {
		debug_fail(EINVAL, "map a buffer with PROT_READ, from offset 0, not beyond its "
				   "end; with the specification's calls, map it once and whole");
		debug_result("mmap", fd, -1);
		return MAP_FAILED;
	}
#ifdef SYS_mmap2
	if (offset % 4096) {
		errno = EINVAL;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap2, addr, size, prot, flags, fd, (long)(offset / 4096));
#else
	return (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, offset);
#endif
}

API void *mmap_api(void *addr, size_t size, int prot, int flags, int fd, long offset)
{
	return mmap_call(addr, size, prot, flags, fd, offset);
}

API void *mmap64_api(void *addr, size_t size, int prot, int flags, int fd, int64_t offset)
{
	return mmap_call(addr, size, prot, flags, fd, offset);
}
