/* SPDX-License-Identifier: MIT */
/* Functions of capstone, if pfm was built with it and it is installed. Opened by capstone_open().
 */
#ifndef TOOLS_PFM_SAMPLES_CAPSTONE_H
#define TOOLS_PFM_SAMPLES_CAPSTONE_H

#include <capstone/capstone.h>
#include <stdbool.h>

#include "base/library.h"

#define CAPSTONE_FUNCTIONS(F)                                                                      \
	F(struct capstone, cs_close)                                                               \
	F(struct capstone, cs_disasm_iter)                                                         \
	F(struct capstone, cs_free)                                                                \
	F(struct capstone, cs_insn_group)                                                          \
	F(struct capstone, cs_malloc)                                                              \
	F(struct capstone, cs_open)                                                                \
	F(struct capstone, cs_option)

extern struct capstone {
	CAPSTONE_FUNCTIONS(LIBRARY_POINTER)
} capstone;

/* False: the version whose header pfm was built with is not installed. */
bool capstone_open(void);

#endif
