// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/build_id.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/regular.h"

enum {
	BUILD_ID_HEADERS = 64, /* program headers examined at most */
	BUILD_ID_NOTES = 4096, /* bytes of notes at most */
};

int build_id_open(uint32_t pid, const char *path)
{
	char inside[PATH_MAX + 32];

	snprintf(inside, sizeof(inside), "/proc/%u/root%s", pid, path);
	return regular_open(inside);
}

static size_t build_id_align(size_t n)
{
	return (n + 3) / 4 * 4;
}

/* Finds the build ID among @n bytes of notes. Returns its size; 0: none. */
static uint8_t build_id_of_notes(const char *p, size_t n, uint8_t id[DATA_BUILD_ID_MAX])
{
	Elf64_Nhdr h;

	while (n >= sizeof(h)) {
		size_t name, desc;

		memcpy(&h, p, sizeof(h));
		name = sizeof(h) + build_id_align(h.n_namesz);
		desc = build_id_align(h.n_descsz);
		if (name > n || desc > n - name)
			return 0;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 &&
			memcmp(p + sizeof(h), ELF_NOTE_GNU, 4) == 0 && h.n_descsz > 0 &&
			h.n_descsz <= DATA_BUILD_ID_MAX) {
			memcpy(id, p + name, h.n_descsz);
			return (uint8_t)h.n_descsz;
		}
		p += name + desc;
		n -= name + desc;
	}
	return 0;
}

static uint8_t build_id_of_segment(int fd, const Elf64_Phdr *h, uint8_t id[DATA_BUILD_ID_MAX])
{
	char notes[BUILD_ID_NOTES];
	size_t size = h->p_filesz < sizeof(notes) ? h->p_filesz : sizeof(notes);
	ssize_t n;

	if (h->p_type != PT_NOTE)
		return 0;
	n = pread(fd, notes, size, (off_t)h->p_offset);
	return n > 0 ? build_id_of_notes(notes, (size_t)n, id) : 0;
}

static bool build_id_is_elf(const Elf64_Ehdr *h)
{
	return memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
	       h->e_phentsize == sizeof(Elf64_Phdr);
}

uint8_t build_id_read(int fd, uint8_t id[DATA_BUILD_ID_MAX])
{
	Elf64_Phdr h[BUILD_ID_HEADERS];
	Elf64_Ehdr head;
	uint8_t size = 0;
	ssize_t n;

	memset(id, 0, DATA_BUILD_ID_MAX);
	if (pread(fd, &head, sizeof(head), 0) == sizeof(head) && build_id_is_elf(&head)) {
		n = pread(fd, h, sizeof(h), (off_t)head.e_phoff);
		for (unsigned i = 0;
			!size && i < head.e_phnum && n >= (ssize_t)((i + 1) * sizeof(h[0])); i++)
			size = build_id_of_segment(fd, &h[i], id);
	}
	if (!size)
		regular_identity(fd, id);
	return size;
}
