/* SPDX-License-Identifier: MIT */
/* Functions of elfutils, if pfm was built with it and it is installed. Opened by libdw_open(). */
#ifndef TOOLS_PFM_SAMPLES_LIBDW_H
#define TOOLS_PFM_SAMPLES_LIBDW_H

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "base/library.h"

#define LIBDW_FUNCTIONS(F)                                                                         \
	F(struct libdw, dwarf_attr)                                                                \
	F(struct libdw, dwarf_attr_integrate)                                                      \
	F(struct libdw, dwarf_cfi_addrframe)                                                       \
	F(struct libdw, dwarf_child)                                                               \
	F(struct libdw, dwarf_cu_getdwarf)                                                         \
	F(struct libdw, dwarf_cu_info)                                                             \
	F(struct libdw, dwarf_dieoffset)                                                           \
	F(struct libdw, dwarf_filesrc)                                                             \
	F(struct libdw, dwarf_formstring)                                                          \
	F(struct libdw, dwarf_formudata)                                                           \
	F(struct libdw, dwarf_frame_register)                                                      \
	F(struct libdw, dwarf_getsrc_die)                                                          \
	F(struct libdw, dwarf_getsrcfiles)                                                         \
	F(struct libdw, dwarf_hasattr)                                                             \
	F(struct libdw, dwarf_haspc)                                                               \
	F(struct libdw, dwarf_lineno)                                                              \
	F(struct libdw, dwarf_linesrc)                                                             \
	F(struct libdw, dwarf_offdie)                                                              \
	F(struct libdw, dwarf_ranges)                                                              \
	F(struct libdw, dwarf_siblingof)                                                           \
	F(struct libdw, dwarf_tag)                                                                 \
	F(struct libdw, dwfl_addrmodule)                                                           \
	F(struct libdw, dwfl_attach_state)                                                         \
	F(struct libdw, dwfl_begin)                                                                \
	F(struct libdw, dwfl_build_id_find_elf)                                                    \
	F(struct libdw, dwfl_end)                                                                  \
	F(struct libdw, dwfl_frame_pc)                                                             \
	F(struct libdw, dwfl_getthread_frames)                                                     \
	F(struct libdw, dwfl_module_build_id)                                                      \
	F(struct libdw, dwfl_module_dwarf_cfi)                                                     \
	F(struct libdw, dwfl_module_eh_cfi)                                                        \
	F(struct libdw, dwfl_module_getelf)                                                        \
	F(struct libdw, dwfl_module_getsym_info)                                                   \
	F(struct libdw, dwfl_module_getsymtab)                                                     \
	F(struct libdw, dwfl_module_nextcu)                                                        \
	F(struct libdw, dwfl_offline_section_address)                                              \
	F(struct libdw, dwfl_report_begin)                                                         \
	F(struct libdw, dwfl_report_elf)                                                           \
	F(struct libdw, dwfl_report_end)                                                           \
	F(struct libdw, dwfl_standard_find_debuginfo)                                              \
	F(struct libdw, dwfl_thread_state_registers)                                               \
	F(struct libdw, elf_getdata)                                                               \
	F(struct libdw, elf_getphdrnum)                                                            \
	F(struct libdw, elf_getscn)                                                                \
	F(struct libdw, elf_nextscn)                                                               \
	F(struct libdw, elf_rawfile)                                                               \
	F(struct libdw, elf_strptr)                                                                \
	F(struct libdw, gelf_getphdr)                                                              \
	F(struct libdw, gelf_getrela)                                                              \
	F(struct libdw, gelf_getshdr)                                                              \
	F(struct libdw, gelf_getsym)

extern struct libdw {
	LIBDW_FUNCTIONS(LIBRARY_POINTER)
} libdw;

/* False: it is not installed. */
bool libdw_open(void);
/* A Dwfl_Callbacks.find_debuginfo: no debug file is opened. */
int libdw_find_no_file(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base,
	const char *file, const char *link, GElf_Word crc, char **found);

#endif
