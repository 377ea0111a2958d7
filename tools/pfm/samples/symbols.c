// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/symbols.h"

#include <errno.h>

#ifdef HAVE_LIBDW

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tools/pfm/samples/debug_info.h"
#include "tools/pfm/samples/indexed.h"
#include "tools/pfm/samples/interned.h"
#include "tools/pfm/samples/libdw.h"
#include "tools/pfm/samples/plt.h"
#include "tools/pfm/samples/regular.h"

enum { SYMBOLS_OVERLAP = 64, SYMBOLS_STUB = 256 };

struct symbol_range {
	uint64_t low, high; /* from @low to below @high; equal: a label without a size */
	uint64_t end;       /* of the section; 0: not a label */
	const char *name;
	int rank; /* of several at an address, the highest names it */
};

struct symbols {
	struct symbol_range *all; /* sorted */
	uint32_t n, room;
	struct interned stubs; /* their names */
	bool indexed;
	Dwfl *dwfl;
	Dwfl_Module *module;
	Elf *elf;
	uid_t owner;
	struct debug_info *lines; /* NULL: no memory */
};

static char *symbols_debuginfo_path;

/* Whether the debug file @link, which the program at @file names, can be opened without waiting:
 * the program may be another user's, and have a FIFO there. */
static bool symbols_link_is_safe(const char *file, const char *link)
{
	static const char *const folders[] = {"", ".debug/"};
	const char *slash = file ? strrchr(file, '/') : NULL;
	char path[PATH_MAX];
	struct stat st;

	for (size_t i = 0; slash && link && i < sizeof(folders) / sizeof(folders[0]); i++)
		if (snprintf(path, sizeof(path), "%.*s/%s%s", (int)(slash - file), file, folders[i],
			    link) >= PATH_MAX ||
			(stat(path, &st) == 0 && !S_ISREG(st.st_mode)))
			return false;
	return !link || !strchr(link, '/');
}

static int symbols_find_debug_file(Dwfl_Module *module, void **userdata, const char *name,
	Dwarf_Addr base, const char *file, const char *link, GElf_Word crc, char **found)
{
	if (!symbols_link_is_safe(file, link))
		return -1;
	return libdw.dwfl_standard_find_debuginfo(
		module, userdata, name, base, file, link, crc, found);
}

/* The other functions are set by symbols_supported(). */
static Dwfl_Callbacks symbols_callbacks = {
	.find_debuginfo = symbols_find_debug_file,
	.debuginfo_path = &symbols_debuginfo_path,
};

bool symbols_supported(void)
{
	if (!libdw_open())
		return false;
	symbols_callbacks.find_elf = libdw.dwfl_build_id_find_elf;
	symbols_callbacks.section_address = libdw.dwfl_offline_section_address;
	return true;
}

static int symbols_open_file(const char *path, struct err *e)
{
	int fd = regular_open(path);

	if (fd == -EINVAL)
		return err_set(e, EINVAL, "%s is not a regular file", path);
	return fd < 0 ? err_set(e, -fd, "%s: %s", path, err_name(-fd)) : fd;
}

static int symbols_check_id(Dwfl_Module *module, const struct object *o, struct err *e)
{
	const unsigned char *id;
	GElf_Addr at;
	int n = libdw.dwfl_module_build_id(module, &id, &at);

	if (!o->id_size || (n == o->id_size && memcmp(id, o->id, o->id_size) == 0))
		return 0;
	return err_set(e, ESTALE, "%s has another build ID than when it was recorded", o->path);
}

/* Checks a file without a build ID by its identity. */
static int symbols_check_file(int fd, const struct object *o, struct err *e)
{
	static const uint8_t unknown[REGULAR_IDENTITY];
	uint8_t id[REGULAR_IDENTITY];

	if (o->id_size)
		return 0;
	if (memcmp(o->id, unknown, sizeof(unknown)) == 0)
		return err_set(e, ESTALE,
			"%s: its process had ended before the file was identified: link programs "
			"with --build-id to have names",
			o->path);
	regular_identity(fd, id);
	if (memcmp(o->id, id, sizeof(id)) == 0)
		return 0;
	return err_set(e, ESTALE,
		"%s is another file than the one that was recorded, or was changed since: link "
		"programs with --build-id to have names from copies, too",
		o->path);
}

/* Loads the file at its own addresses. */
static int symbols_load(struct symbols *s, const struct object *o, int from, struct err *e)
{
	CLEANUP_CLOSE int fd = -1;
	struct stat st;
	GElf_Addr bias;

	if (!symbols_supported())
		return err_set(e, ENOSYS, "%s: elfutils (libdw1) is missing: install it", o->path);
	fd = from >= 0 ? fcntl(from, F_DUPFD_CLOEXEC, 3) : symbols_open_file(o->path, e);
	if (fd < 0 || (o->path[0] == '/' && symbols_check_file(fd, o, e) < 0))
		return -e->no;
	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "%s: %s", o->path, err_name(errno));
	s->owner = st.st_uid;
	s->dwfl = libdw.dwfl_begin(&symbols_callbacks);
	if (!s->dwfl)
		return err_set(e, ENOMEM, "no memory for the symbols of %s", o->path);
	libdw.dwfl_report_begin(s->dwfl);
	s->module = libdw.dwfl_report_elf(s->dwfl, o->path, o->path, fd, 0, true);
	if (s->module)
		(void)take_fd(&fd);
	libdw.dwfl_report_end(s->dwfl, NULL, NULL);
	s->elf = s->module ? libdw.dwfl_module_getelf(s->module, &bias) : NULL;
	if (!s->elf)
		return err_set(e, ENOEXEC, "%s is not an ELF file", o->path);
	s->lines = debug_info_new(s->module);
	return symbols_check_id(s->module, o, e);
}

struct symbols *symbols_open(const struct object *o, int fd, struct err *e)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s) {
		err_set(e, ENOMEM, "no memory for the symbols of %s", o->path);
		return NULL;
	}
	if (symbols_load(s, o, fd, e) == 0)
		return s;
	symbols_close(s);
	return NULL;
}

void symbols_close(struct symbols *s)
{
	if (s)
		debug_info_free(s->lines);
	if (s && s->dwfl)
		libdw.dwfl_end(s->dwfl);
	if (s) {
		interned_free(&s->stubs);
		free(s->all);
	}
	free(s);
}

uid_t symbols_owner(const struct symbols *s)
{
	return s->owner;
}

void symbols_without_debug_files(struct symbols *s)
{
	symbols_callbacks.find_debuginfo = libdw_find_no_file;
	debug_info_free(s->lines);
	s->lines = NULL;
}

/* The address of a byte of the file; its offset if no segment contains it. */
static uint64_t symbols_address(Elf *elf, uint64_t offset)
{
	size_t n = 0;

	if (libdw.elf_getphdrnum(elf, &n) < 0)
		return offset;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr h;

		if (libdw.gelf_getphdr(elf, (int)i, &h) && h.p_type == PT_LOAD &&
			offset - h.p_offset < h.p_filesz)
			return offset - h.p_offset + h.p_vaddr;
	}
	return offset;
}

/* --- Functions. libdwfl searches all symbols of a file for each address. */

/* Adds a range. Without memory, its addresses have no name. */
static void symbols_put(struct symbols *s, const struct symbol_range *range)
{
	struct symbol_range *all = indexed_room(s->all, s->n, &s->room, sizeof(*all));

	if (!all)
		return;
	s->all = all;
	all[s->n++] = *range;
}

static void symbols_add(struct symbols *s, const GElf_Sym *sym, GElf_Addr address, const char *name)
{
	int type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
	struct symbol_range range;
	Elf_Scn *scn = libdw.elf_getscn(s->elf, sym->st_shndx);
	GElf_Shdr section;

	if (!name || !name[0] || sym->st_shndx == SHN_UNDEF ||
		(type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
		return;
	range = (struct symbol_range){.low = address,
		.high = address + sym->st_size,
		.name = name,
		.rank = bind == STB_GLOBAL ? 2 : bind == STB_WEAK};
	if (!sym->st_size && scn && libdw.gelf_getshdr(scn, &section))
		range.end = section.sh_addr + section.sh_size;
	symbols_put(s, &range);
}

/* Adds a stub that calls the function @name of a library, as NAME@plt. */
static void symbols_add_stub(void *of, uint64_t address, uint64_t size, const char *name)
{
	struct symbol_range range = {.low = address, .high = address + size};
	struct symbols *s = of;
	char text[SYMBOLS_STUB];
	uint32_t number;
	int n = snprintf(text, sizeof(text), "%s@plt", name);

	if (n >= (int)sizeof(text) || interned_number(&s->stubs, text, (size_t)n + 1, &number) < 0)
		return;
	range.name = interned_get(&s->stubs, number).p;
	symbols_put(s, &range);
}

/* Sorts by address. Of several at one address, the last one names it: one with a size. */
static int symbols_compare(const void *a, const void *b)
{
	const struct symbol_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if ((x->high > x->low) != (y->high > y->low))
		return x->high > x->low ? 1 : -1;
	return x->rank != y->rank ? x->rank - y->rank : strcmp(y->name, x->name);
}

unsigned symbols_machine(struct symbols *s)
{
	size_t bytes = 0;
	const char *raw = libdw.elf_rawfile(s->elf, &bytes);
	Elf64_Half machine = EM_NONE;

	if (raw && bytes >= sizeof(Elf32_Ehdr))
		memcpy(&machine, raw + offsetof(Elf32_Ehdr, e_machine), sizeof(machine));
	return machine;
}

static void symbols_index(struct symbols *s)
{
	int n = libdw.dwfl_module_getsymtab(s->module);

	s->indexed = true;
	for (int i = 1; i < n; i++) {
		GElf_Addr address;
		GElf_Sym sym;
		const char *name = libdw.dwfl_module_getsym_info(
			s->module, i, &sym, &address, NULL, NULL, NULL);

		symbols_add(s, &sym, address, name);
	}
	interned_init(&s->stubs);
	if (symbols_machine(s) == EM_X86_64)
		plt_each(s->elf, symbols_add_stub, s);
	if (s->n)
		qsort(s->all, s->n, sizeof(*s->all), symbols_compare);
}

/* The function that contains @address or, if none with a size does, the label before it in its
 * section. Functions rarely overlap: a few before the nearest one are tried. */
static const struct symbol_range *symbols_search(const struct symbols *s, uint64_t address)
{
	const struct symbol_range *label = NULL;
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->all[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i-- > 0 && low - i <= SYMBOLS_OVERLAP;) {
		const struct symbol_range *r = &s->all[i];

		if (address < r->high)
			return r;
		if (!label && address < r->end)
			label = r;
	}
	return label;
}

/* Where the function ends; of a label, at the next symbol or the end of its section. */
static uint64_t symbols_end(const struct symbols *s, const struct symbol_range *r)
{
	const struct symbol_range *next = r;

	if (r->high > r->low)
		return r->high;
	while (next < s->all + s->n && next->low == r->low)
		next++;
	return next < s->all + s->n && next->low < r->end ? next->low : r->end;
}

struct symbol symbols_at(struct symbols *s, uint64_t address)
{
	struct symbol found = {.address = address};
	const struct symbol_range *r;
	uint64_t end;

	if (!s->indexed)
		symbols_index(s);
	r = symbols_search(s, address);
	if (r) {
		found.name = r->name;
		found.offset = address - r->low;
		end = symbols_end(s, r);
		found.rest = end > address ? end - address : 0;
	}
	return found;
}

struct symbol symbols_find(struct symbols *s, uint64_t offset)
{
	return symbols_at(s, symbols_address(s->elf, offset));
}

const uint8_t *symbols_bytes(struct symbols *s, uint64_t address, uint64_t size)
{
	size_t n = 0, bytes = 0;
	const char *raw = libdw.elf_rawfile(s->elf, &bytes);

	if (!raw || libdw.elf_getphdrnum(s->elf, &n) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr h;

		if (libdw.gelf_getphdr(s->elf, (int)i, &h) && h.p_type == PT_LOAD &&
			address - h.p_vaddr < h.p_filesz &&
			size <= h.p_filesz - (address - h.p_vaddr) && h.p_offset <= bytes &&
			h.p_filesz <= bytes - h.p_offset)
			return (const uint8_t *)raw + h.p_offset + (address - h.p_vaddr);
	}
	return NULL;
}

unsigned symbols_frames(
	struct symbols *s, uint64_t address, struct symbol_frame frames[SYMBOL_FRAMES])
{
	frames[0] = (struct symbol_frame){NULL};
	return s->lines ? debug_info_find(s->lines, address, frames) : 1;
}

#else

bool symbols_supported(void)
{
	return false;
}

struct symbols *symbols_open(const struct object *o, int fd, struct err *e)
{
	(void)fd;
	err_set(e, ENOSYS, "%s: this pfm was built without elfutils (libdw-dev)", o->path);
	return NULL;
}

void symbols_close(struct symbols *s)
{
	(void)s;
}

uid_t symbols_owner(const struct symbols *s)
{
	(void)s;
	return 0;
}

void symbols_without_debug_files(struct symbols *s)
{
	(void)s;
}

struct symbol symbols_at(struct symbols *s, uint64_t address)
{
	(void)s;
	return (struct symbol){.address = address};
}

struct symbol symbols_find(struct symbols *s, uint64_t offset)
{
	return symbols_at(s, offset);
}

const uint8_t *symbols_bytes(struct symbols *s, uint64_t address, uint64_t size)
{
	(void)s;
	(void)address;
	(void)size;
	return NULL;
}

unsigned symbols_machine(struct symbols *s)
{
	(void)s;
	return 0;
}

unsigned symbols_frames(
	struct symbols *s, uint64_t address, struct symbol_frame frames[SYMBOL_FRAMES])
{
	(void)s;
	(void)address;
	frames[0] = (struct symbol_frame){NULL};
	return 1;
}

#endif
