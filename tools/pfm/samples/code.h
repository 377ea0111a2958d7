/* SPDX-License-Identifier: MIT */
/* The instructions of functions, disassembled by capstone. */
#ifndef TOOLS_PFM_SAMPLES_CODE_H
#define TOOLS_PFM_SAMPLES_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tools/pfm/samples/data.h"
#include "tools/pfm/samples/symbols.h"

/* Values of code_insn.file, besides the numbers of files. */
enum { CODE_NO_LINE = -1, CODE_OTHER = -2 };

struct code_insn {
	uint64_t address; /* in the file's own addresses */
	char *text;

	/* These are set by the caller. */
	uint64_t weight;
	int file; /* the number of the source file; CODE_OTHER: it is another function's */
	unsigned line;
	bool near; /* to one with a weight */
};

struct code {
	const struct object *in;
	uint64_t low, high;    /* addresses of the function: from @low to below @high */
	struct code_insn *all; /* sorted */
	uint32_t n, room;
};

/* Bounds the memory for one function. */
enum { CODE_MAX = 1 << 20 }; /* bytes */

/* Whether pfm was built with capstone, which is installed. If not, code_read() fails with ENOSYS.
 */
bool code_supported(void);

/* Disassembles the function that contains the byte @offset of @in, whose symbols @s are. Targets of
 * jumps and calls become FUNCTION+OFFSET. @demangle: functions are named as in the source. */
int code_read(struct code *c, const struct object *in, struct symbols *s, uint64_t offset,
	bool demangle, struct err *e);
/* The same for a function @name whose code is stored in the recording. */
int code_read_stored(struct code *c, const struct object *in, const struct data_code *from,
	const char *name, struct err *e);
void code_free(struct code *c);

/* The instruction that contains @address; NULL: none does. */
struct code_insn *code_find(const struct code *c, uint64_t address);

/* The name of a function as it is shown, from malloc. NULL: no memory. */
char *code_name(const char *name, bool demangle);

#endif
