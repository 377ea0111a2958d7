// SPDX-License-Identifier: MIT
#include "tools/pfm/samples/debug_info.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "tools/pfm/samples/libdw.h"

/* Bounds for damaged files. */
enum { DEBUG_INFO_DEPTH = 64, DEBUG_INFO_RANGES = 1 << 22, DEBUG_INFO_DIES = 1 << 24 };

/* Addresses that belong to a compile unit, or to a function of one. */
struct range {
	uint64_t low, high; /* from @low to below @high */
	unsigned unit;
	Dwarf_Off die; /* of the function */
};

struct ranges {
	struct range *all; /* sorted by @low */
	size_t n, room;
};

struct unit {
	Dwarf_Die die;
	Dwarf_Die tree;  /* has the functions; of split DWARF, it is in another file */
	Dwarf_Addr bias; /* subtracted from an address, gives the unit's own */
	struct ranges functions;
	unsigned dies; /* read for the index */
	bool indexed;
};

struct debug_info {
	Dwfl_Module *module;
	struct unit *units;
	unsigned n, room;
	struct ranges ranges;
	bool indexed;
};

struct debug_info *debug_info_new(Dwfl_Module *module)
{
	struct debug_info *d = calloc(1, sizeof(*d));

	if (d)
		d->module = module;
	return d;
}

void debug_info_free(struct debug_info *d)
{
	for (unsigned i = 0; d && i < d->n; i++)
		free(d->units[i].functions.all);
	if (d) {
		free(d->units);
		free(d->ranges.all);
	}
	free(d);
}

/* --- Indexes. What they have no memory for is not found. */

static void debug_ranges_add(struct ranges *r, const struct range *one)
{
	size_t room = r->room ? 2 * r->room : 64;
	struct range *all;

	if (one->high <= one->low)
		return;
	if (r->n == r->room) {
		all = room <= DEBUG_INFO_RANGES ? realloc(r->all, room * sizeof(*all)) : NULL;
		if (!all)
			return;
		r->all = all;
		r->room = room;
	}
	r->all[r->n++] = *one;
}

static int debug_ranges_compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void debug_ranges_sort(struct ranges *r)
{
	if (r->n)
		qsort(r->all, r->n, sizeof(*r->all), debug_ranges_compare);
}

/* The range with @address. Ranges of different functions do not overlap, except in damaged files.
 */
static const struct range *debug_ranges_find(const struct ranges *r, uint64_t address)
{
	size_t low = 0, high = r->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (r->all[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < r->all[low - 1].high ? &r->all[low - 1] : NULL;
}

/* Adds the addresses of @die, a unit or a function. */
static void debug_ranges_add_die(struct ranges *r, Dwarf_Die *die, unsigned unit)
{
	struct range one = {.unit = unit, .die = libdw.dwarf_dieoffset(die)};
	Dwarf_Addr base;
	ptrdiff_t at = 0;

	while ((at = libdw.dwarf_ranges(die, at, &base, &one.low, &one.high)) > 0)
		debug_ranges_add(r, &one);
}

static void debug_info_add_unit(struct debug_info *d, Dwarf_Die *die, Dwarf_Addr bias)
{
	struct unit *u = &d->units[d->n];
	Dwarf_Die split;

	*u = (struct unit){.die = *die, .tree = *die, .bias = bias};
	if (libdw.dwarf_cu_info(die->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
		split.addr)
		u->tree = split;
	debug_ranges_add_die(&d->ranges, die, d->n++);
}

static void debug_info_index(struct debug_info *d)
{
	Dwarf_Addr bias;
	Dwarf_Die *die = NULL;

	d->indexed = true;
	while ((die = libdw.dwfl_module_nextcu(d->module, die, &bias)) != NULL) {
		if (d->n == d->room) {
			unsigned room = d->room ? 2 * d->room : 16;
			struct unit *units = realloc(d->units, room * sizeof(*units));

			if (!units)
				break;
			d->units = units;
			d->room = room;
		}
		debug_info_add_unit(d, die, bias);
	}
	debug_ranges_sort(&d->ranges);
}

/* Adds the functions below @parent. Functions may be in namespaces, classes and other functions. */
static void debug_unit_index_below(struct unit *u, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;
	int rc = depth < DEBUG_INFO_DEPTH ? libdw.dwarf_child(parent, &die) : 1;

	for (; rc == 0 && u->dies < DEBUG_INFO_DIES; rc = libdw.dwarf_siblingof(&die, &die)) {
		u->dies++;
		switch (libdw.dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			debug_ranges_add_die(&u->functions, &die, 0);
			if (!libdw.dwarf_hasattr(&die, DW_AT_declaration) &&
				!libdw.dwarf_hasattr(&die, DW_AT_inline))
				debug_unit_index_below(u, &die, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_lexical_block:
			debug_unit_index_below(u, &die, depth + 1);
			break;
		default:
			break;
		}
	}
}

static struct unit *debug_info_unit(struct debug_info *d, uint64_t address)
{
	const struct range *r;
	struct unit *u;

	if (!d->indexed)
		debug_info_index(d);
	if (!d->n)
		return NULL;
	/* All units have the bias of the file that they come from. */
	r = debug_ranges_find(&d->ranges, address - d->units[0].bias);
	if (!r)
		return NULL;
	u = &d->units[r->unit];
	if (!u->indexed) {
		u->indexed = true;
		debug_unit_index_below(u, &u->tree, 0);
		debug_ranges_sort(&u->functions);
	}
	return u;
}

/* --- Positions */

/* A line of a file, whose name is shortened to the part below the directory of compilation. */
static struct symbol_line debug_unit_position(struct unit *u, const char *file, unsigned line)
{
	Dwarf_Attribute attribute;
	const char *dir =
		libdw.dwarf_formstring(libdw.dwarf_attr(&u->die, DW_AT_comp_dir, &attribute));
	size_t n = dir ? strlen(dir) : 0;

	if (n && strncmp(file, dir, n) == 0 && file[n] == '/')
		file += n + 1;
	return (struct symbol_line){.file = file, .dir = *file == '/' ? NULL : dir, .line = line};
}

static struct symbol_line debug_unit_line(struct unit *u, uint64_t address)
{
	Dwarf_Line *found = libdw.dwarf_getsrc_die(&u->die, address);
	const char *file = found ? libdw.dwarf_linesrc(found, NULL, NULL) : NULL;
	int line = 0;

	if (!file || libdw.dwarf_lineno(found, &line) < 0 || line <= 0)
		return (struct symbol_line){NULL};
	return debug_unit_position(u, file, (unsigned)line);
}

static bool debug_die_number(Dwarf_Die *die, unsigned name, Dwarf_Word *value)
{
	Dwarf_Attribute attribute;

	return libdw.dwarf_formudata(libdw.dwarf_attr(die, name, &attribute), value) == 0;
}

/* Where an inlined function was called. */
static struct symbol_line debug_unit_call(struct unit *u, Dwarf_Die *inlined)
{
	Dwarf_Word file, line;
	Dwarf_Files *files;
	const char *name;

	if (!debug_die_number(inlined, DW_AT_call_file, &file) ||
		!debug_die_number(inlined, DW_AT_call_line, &line) || !line ||
		libdw.dwarf_getsrcfiles(&u->die, &files, NULL) < 0)
		return (struct symbol_line){NULL};
	name = libdw.dwarf_filesrc(files, file, NULL, NULL);
	if (!name)
		return (struct symbol_line){NULL};
	return debug_unit_position(u, name, (unsigned)line);
}

/* --- Inlined functions */

static const char *debug_die_string(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return libdw.dwarf_formstring(libdw.dwarf_attr_integrate(die, name, &attribute));
}

static const char *debug_die_name(Dwarf_Die *die)
{
	const char *name = debug_die_string(die, DW_AT_linkage_name);

	if (!name)
		name = debug_die_string(die, DW_AT_MIPS_linkage_name);
	return name ? name : debug_die_string(die, DW_AT_name);
}

/* Finds the inlined functions that contain @address, from the outermost on. Returns their number.
 */
static unsigned debug_die_inlined(
	Dwarf_Die *function, uint64_t address, Dwarf_Die found[], unsigned most)
{
	Dwarf_Die die, child = *function;
	unsigned n = 0, dies = 0;

	for (unsigned depth = 0; depth < DEBUG_INFO_DEPTH && n < most; depth++) {
		int rc = libdw.dwarf_child(&child, &die);

		for (; rc == 0;
			rc = dies++ < DEBUG_INFO_DIES ? libdw.dwarf_siblingof(&die, &die) : 1) {
			int tag = libdw.dwarf_tag(&die);

			if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
				libdw.dwarf_haspc(&die, address) > 0)
				break;
		}
		if (rc != 0)
			break;
		if (libdw.dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			found[n++] = die;
		child = die;
	}
	return n;
}

static unsigned debug_unit_inlined(
	struct unit *u, uint64_t address, Dwarf_Die found[], unsigned most)
{
	const struct range *r = debug_ranges_find(&u->functions, address);
	Dwarf_Die function;

	if (!r || !libdw.dwarf_offdie(libdw.dwarf_cu_getdwarf(u->tree.cu), r->die, &function))
		return 0;
	return debug_die_inlined(&function, address, found, most);
}

unsigned debug_info_find(
	struct debug_info *d, uint64_t address, struct symbol_frame frames[SYMBOL_FRAMES])
{
	struct unit *u = debug_info_unit(d, address);
	Dwarf_Die inlined[SYMBOL_FRAMES - 1];
	unsigned n;

	frames[0] = (struct symbol_frame){NULL};
	if (!u)
		return 1;
	address -= u->bias;
	n = debug_unit_inlined(u, address, inlined, SYMBOL_FRAMES - 1);
	frames[0].at = debug_unit_line(u, address);
	for (unsigned i = 0; i < n; i++) {
		Dwarf_Die *die = &inlined[n - 1 - i];

		frames[i].name = debug_die_name(die);
		frames[i + 1] = (struct symbol_frame){.at = debug_unit_call(u, die)};
	}
	return n + 1;
}
