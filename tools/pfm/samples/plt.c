// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/plt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/samples/libdw.h"

enum {
	PLT_STUB = 16,       /* bytes of a stub, at most */
	PLT_SLOTS = 1 << 20, /* slots that are read, at most */
};

/* Where the loader writes the address of a function. */
struct plt_slot {
	uint64_t address;
	const char *name;
};

struct plt {
	Elf *elf;
	struct plt_slot *slots; /* sorted */
	uint32_t n, room;
};

static int plt_compare(const void *a, const void *b)
{
	const struct plt_slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int plt_add_slot(struct plt *p, uint64_t address, const char *name)
{
	struct plt_slot *slots =
		p->n < PLT_SLOTS ? indexed_room(p->slots, p->n, &p->room, sizeof(*slots)) : NULL;

	if (!slots)
		return -ENOMEM;
	p->slots = slots;
	p->slots[p->n++] = (struct plt_slot){address, name};
	return 0;
}

/* Adds the slots of a section of relocations. */
static void plt_read_slots(struct plt *p, Elf_Scn *scn, const GElf_Shdr *h)
{
	Elf_Scn *symbols = libdw.elf_getscn(p->elf, h->sh_link);
	Elf_Data *data = libdw.elf_getdata(scn, NULL);
	Elf_Data *table = symbols ? libdw.elf_getdata(symbols, NULL) : NULL;
	GElf_Shdr strings;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!data || !table || !libdw.gelf_getshdr(symbols, &strings))
		return;
	for (int i = 0; i < PLT_SLOTS && libdw.gelf_getrela(data, i, &rela); i++) {
		unsigned type = GELF_R_TYPE(rela.r_info);
		const char *name = NULL;

		if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
			libdw.gelf_getsym(table, (int)GELF_R_SYM(rela.r_info), &sym))
			name = libdw.elf_strptr(p->elf, strings.sh_link, sym.st_name);
		if (name && name[0] && plt_add_slot(p, rela.r_offset, name) < 0)
			return;
	}
}

/* The slot to which a stub jumps: its instruction is jmp *slot(%rip). */
static const struct plt_slot *plt_target(
	const struct plt *p, const uint8_t *stub, size_t n, uint64_t address)
{
	for (size_t i = 0; i + 6 <= n; i++) {
		struct plt_slot slot = {0};
		int32_t distance;

		if (stub[i] != 0xff || stub[i + 1] != 0x25)
			continue;
		memcpy(&distance, stub + i + 2, sizeof(distance));
		slot.address = address + i + 6 + (uint64_t)(int64_t)distance;
		return bsearch(&slot, p->slots, p->n, sizeof(slot), plt_compare);
	}
	return NULL;
}

/* Finds the stubs of a section with code of entries. */
static void plt_read_stubs(const struct plt *p, Elf_Scn *scn, const GElf_Shdr *h,
	void (*add)(void *of, uint64_t address, uint64_t size, const char *name), void *of)
{
	Elf_Data *data = libdw.elf_getdata(scn, NULL);
	size_t n = h->sh_entsize;

	if (!data || !data->d_buf)
		return;
	for (size_t at = 0; at + n <= data->d_size; at += n) {
		const struct plt_slot *slot =
			plt_target(p, (const uint8_t *)data->d_buf + at, n, h->sh_addr + at);

		if (slot)
			add(of, h->sh_addr + at, n, slot->name);
	}
}

void plt_each(Elf *elf, void (*add)(void *of, uint64_t address, uint64_t size, const char *name),
	void *of)
{
	struct plt p = {.elf = elf};
	Elf_Scn *scn = NULL;
	GElf_Shdr h;

	while ((scn = libdw.elf_nextscn(elf, scn)) != NULL)
		if (libdw.gelf_getshdr(scn, &h) && h.sh_type == SHT_RELA && h.sh_flags & SHF_ALLOC)
			plt_read_slots(&p, scn, &h);
	if (p.n)
		qsort(p.slots, p.n, sizeof(*p.slots), plt_compare);
	while (p.n && (scn = libdw.elf_nextscn(elf, scn)) != NULL)
		if (libdw.gelf_getshdr(scn, &h) && h.sh_type == SHT_PROGBITS &&
			h.sh_flags & SHF_EXECINSTR && h.sh_entsize >= 8 && h.sh_entsize <= PLT_STUB)
			plt_read_stubs(&p, scn, &h, add, of);
	free(p.slots);
}
