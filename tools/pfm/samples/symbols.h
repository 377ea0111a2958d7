/* SPDX-License-Identifier: MIT */
/* Function names, inlined functions and source lines: for files, by elfutils, with separate debug
 * files and debuginfod where those are set up; for the kernel, by /proc/kallsyms. */
#ifndef TOOLS_PFM_SAMPLES_SYMBOLS_H
#define TOOLS_PFM_SAMPLES_SYMBOLS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "tools/pfm/samples/image.h"

struct symbols;

struct symbol {
	const char *name; /* NULL: none; valid as long as the symbols */
	uint64_t address; /* where it was looked up: for a file, in the file's own addresses */
	uint64_t offset;  /* from the function's beginning */
	uint64_t rest;    /* bytes from there to the function's end; 0: not known */
};

/* Whether pfm was built with elfutils, which is installed. If not, symbols_open() fails with
 * ENOSYS. */
bool symbols_supported(void);

/* Opens the file @fd, or the one at the path of @o if @fd is -1. NULL with a sentence: it cannot be
 * read, or is not the file that was mapped. */
struct symbols *symbols_open(const struct object *o, int fd, struct err *e);
void symbols_close(struct symbols *s);
/* The owner of the file. */
uid_t symbols_owner(const struct symbols *s);
/* Opens no debug file, neither for @s nor for files that are opened later: pfm
 * lacks their owners' rights. Functions still have the names that the programs themselves have. */
void symbols_without_debug_files(struct symbols *s);
/* @offset is an offset in the file. */
struct symbol symbols_find(struct symbols *s, uint64_t offset);
/* The same for one of the file's own addresses. */
struct symbol symbols_at(struct symbols *s, uint64_t address);

/* The @size bytes at @address, as long as the symbols are open. NULL: the file lacks them. */
const uint8_t *symbols_bytes(struct symbols *s, uint64_t address, uint64_t size);
/* The processor of the file, EM_X86_64 of elf.h or another. */
unsigned symbols_machine(struct symbols *s);

/* A position in the source. */
struct symbol_line {
	const char *file; /* NULL: not known */
	const char *dir;  /* of compilation, if @file is relative to it; else NULL */
	unsigned line;    /* from 1 on */
};

/* A function at an address, and the position there. */
struct symbol_frame {
	const char *name; /* of an inlined function, as the linker would have it; NULL: it has no
			     name, or is not inlined */
	struct symbol_line at;
};

enum { SYMBOL_FRAMES = 32 };

/* Finds the functions at @address, one of the file's own: inlined ones, from the innermost on, then
 * the one that contains them all, which symbols_find() names. Returns their number: 1 at least. */
unsigned symbols_frames(
	struct symbols *s, uint64_t address, struct symbol_frame frames[SYMBOL_FRAMES]);

struct kallsyms;

/* Reads @path, a file like /proc/kallsyms. NULL with a sentence: the kernel hides its addresses. */
struct kallsyms *kallsyms_open(const char *path, struct err *e);
void kallsyms_close(struct kallsyms *k);
/* Sets @module to the module's name, or to NULL for the kernel itself. A function is taken to end
 * where the next one begins. */
struct symbol kallsyms_find(const struct kallsyms *k, uint64_t ip, const char **module);

#endif
