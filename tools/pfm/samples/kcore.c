// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/kcore.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KCORE_SEGMENTS = 512 };

struct kcore {
	int fd;
	unsigned machine;
	size_t n;
	Elf64_Phdr segments[KCORE_SEGMENTS];
};

static bool kcore_read_head(struct kcore *k)
{
	Elf64_Ehdr head;
	ssize_t size;

	if (k->fd < 0 || pread(k->fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(k->segments[0]))
		return false;
	k->machine = head.e_machine;
	k->n = head.e_phnum < KCORE_SEGMENTS ? head.e_phnum : KCORE_SEGMENTS;
	size = (ssize_t)(k->n * sizeof(k->segments[0]));
	return pread(k->fd, k->segments, (size_t)size, (off_t)head.e_phoff) == size;
}

struct kcore *kcore_open(const char *path)
{
	struct kcore *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (kcore_read_head(k))
		return k;
	kcore_close(k);
	return NULL;
}

void kcore_close(struct kcore *k)
{
	if (k && k->fd >= 0)
		close(k->fd);
	free(k);
}

unsigned kcore_machine(const struct kcore *k)
{
	return k->machine;
}

bool kcore_read(const struct kcore *k, uint64_t address, void *to, size_t n)
{
	for (size_t i = 0; i < k->n; i++) {
		const Elf64_Phdr *p = &k->segments[i];
		uint64_t from = address - p->p_vaddr;

		if (p->p_type == PT_LOAD && from < p->p_filesz && n <= p->p_filesz - from)
			return pread(k->fd, to, n, (off_t)(p->p_offset + from)) == (ssize_t)n;
	}
	return false;
}
