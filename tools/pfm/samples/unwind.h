/* SPDX-License-Identifier: MIT */
/*
 * Finds the callers of a function in code without frame pointers, by the call frame information
 * (CFI) of programs and libraries: from the registers of a thread and a piece of its stack. What
 * damaged or hostile files can cost is bounded, apart from crashes: see unwinder.h.
 */
#ifndef TOOLS_PFM_SAMPLES_UNWIND_H
#define TOOLS_PFM_SAMPLES_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "perfmonfs/smpl_stack.h"

/* User frames of a chain at most. */
enum { UNWIND_FRAMES = PFM_STACK_MAX_FRAMES - 1 };

/* Why a chain ends. */
enum unwind_end {
	UNWIND_WHOLE,  /* with the outermost function */
	UNWIND_STACK,  /* its next frame is beyond the piece of the stack */
	UNWIND_CODE,   /* the code has no CFI, or damaged one, or is not known */
	UNWIND_DEEP,   /* it has UNWIND_FRAMES frames */
	UNWIND_BROKEN, /* a file is damaged: unwinding ended, or takes too long */
	UNWIND_ENDS,
};

struct unwound {
	uint32_t end; /* enum unwind_end */
	uint32_t n;
	uint64_t frames[UNWIND_FRAMES]; /* the instruction pointer, then return addresses */
};

/* An executable mapping of the file @fd, as in struct data_map. */
struct unwind_map {
	uint64_t addr;
	uint64_t pgoff;
	int fd;
	int debug_fd; /* its debug file; -1: there is none */
};

/* The mapped files of a process, and what was read of them. */
struct unwind_process;

/* Whether pfm was built with elfutils, which is installed, for x86-64. ENOSYS: it was not. */
int unwind_check(struct err *e);

/* The descriptors stay the caller's. NULL: no memory. */
struct unwind_process *unwind_process_new(const struct unwind_map *maps, unsigned n);
void unwind_process_free(struct unwind_process *p); /* NULL is allowed */

/* Unwinds from the registers of @user and its stack, which follows it. */
void unwind(struct unwind_process *p, const pfm_stack_smpl_user_t *user, struct unwound *out);

#endif
