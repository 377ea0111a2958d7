/* SPDX-License-Identifier: MIT */
/* The stubs through which a program calls the functions of libraries. They have no symbols. */
#ifndef TOOLS_PFM_SAMPLES_PLT_H
#define TOOLS_PFM_SAMPLES_PLT_H

#include <libelf.h>
#include <stdint.h>

/* Calls @add for each stub of a file for x86-64: with its address, its bytes, and the name of the
 * function that it calls, which stays as long as @elf. */
void plt_each(Elf *elf, void (*add)(void *of, uint64_t address, uint64_t size, const char *name),
	void *of);

#endif
