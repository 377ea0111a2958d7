// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/build_id.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/regular.h"

enum {
	BUILD_ID_HEADERS = 64, /* program headers examined at most */
	BUILD_ID_NOTES = 4096, /* bytes of notes at most */
};

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

/* The segments of an ELF file of either class. */
struct build_id_segments {
	union {
		Elf32_Phdr h32[BUILD_ID_HEADERS];
		Elf64_Phdr h64[BUILD_ID_HEADERS];
	};
	unsigned n;
	bool is32;
};

static unsigned build_id_read_headers(
	int fd, struct build_id_segments *s, uint64_t at, unsigned n, size_t size)
{
	ssize_t got = pread(fd, &s->h64, BUILD_ID_HEADERS * size, (off_t)at);
	size_t whole = got > 0 ? (size_t)got / size : 0;

	return n < whole ? n : (unsigned)whole;
}

static void build_id_find_segments(int fd, struct build_id_segments *s)
{
	union {
		Elf32_Ehdr h32;
		Elf64_Ehdr h64;
	} head = {.h64 = {.e_machine = EM_NONE}};

	s->n = 0;
	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.h64.e_ident, ELFMAG, SELFMAG) != 0)
		return;
	s->is32 = head.h64.e_ident[EI_CLASS] == ELFCLASS32;
	if (s->is32 && head.h32.e_phentsize == sizeof(s->h32[0]))
		s->n = build_id_read_headers(
			fd, s, head.h32.e_phoff, head.h32.e_phnum, sizeof(s->h32[0]));
	else if (!s->is32 && head.h64.e_phentsize == sizeof(s->h64[0]))
		s->n = build_id_read_headers(
			fd, s, head.h64.e_phoff, head.h64.e_phnum, sizeof(s->h64[0]));
}

static uint8_t build_id_of_segment(
	int fd, const struct build_id_segments *s, unsigned i, uint8_t id[DATA_BUILD_ID_MAX])
{
	uint32_t type = s->is32 ? s->h32[i].p_type : s->h64[i].p_type;
	uint64_t at = s->is32 ? s->h32[i].p_offset : s->h64[i].p_offset;
	uint64_t size = s->is32 ? s->h32[i].p_filesz : s->h64[i].p_filesz;
	char notes[BUILD_ID_NOTES];
	ssize_t n;

	if (type != PT_NOTE)
		return 0;
	n = pread(fd, notes, size < sizeof(notes) ? size : sizeof(notes), (off_t)at);
	return n > 0 ? build_id_of_notes(notes, (size_t)n, id) : 0;
}

uint8_t build_id_read(int fd, uint8_t id[DATA_BUILD_ID_MAX])
{
	struct build_id_segments s;
	uint8_t size = 0;

	memset(id, 0, DATA_BUILD_ID_MAX);
	build_id_find_segments(fd, &s);
	for (unsigned i = 0; !size && i < s.n; i++)
		size = build_id_of_segment(fd, &s, i, id);
	if (!size)
		regular_identity(fd, id);
	return size;
}
