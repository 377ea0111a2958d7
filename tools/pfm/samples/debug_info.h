/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined functions, from the debug information (DWARF) of a program or library.
 * Each compile unit is indexed when the first of its addresses is looked up.
 */
#ifndef TOOLS_PFM_SAMPLES_DEBUG_INFO_H
#define TOOLS_PFM_SAMPLES_DEBUG_INFO_H

#include <stdint.h>

#include <elfutils/libdwfl.h>

#include "tools/pfm/samples/symbols.h"

struct debug_info;

/* @module stays the caller's. NULL: no memory. */
struct debug_info *debug_info_new(Dwfl_Module *module);
void debug_info_free(struct debug_info *d);

/* Finds the functions at @address: inlined ones, from the innermost on, then the one that contains
 * them all. Strings stay as long as the module. Returns their number: 1 at least. */
unsigned debug_info_find(
	struct debug_info *d, uint64_t address, struct symbol_frame frames[SYMBOL_FRAMES]);

#endif
