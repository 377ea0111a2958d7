/* SPDX-License-Identifier: MIT */
/* The code of the running kernel and its modules, as root can read it in /proc/kcore. */
#ifndef TOOLS_PFM_SAMPLES_KCORE_H
#define TOOLS_PFM_SAMPLES_KCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kcore;

/* Opens @path, a file like /proc/kcore. NULL: it is not there, is not permitted, or is no such
 * file. */
struct kcore *kcore_open(const char *path);
void kcore_close(struct kcore *k); /* NULL is allowed */
/* The processor, EM_X86_64 of elf.h or another. */
unsigned kcore_machine(const struct kcore *k);
/* Reads the @n bytes at @address. False: they are not all there. */
bool kcore_read(const struct kcore *k, uint64_t address, void *to, size_t n);

#endif
