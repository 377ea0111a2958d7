/* SPDX-License-Identifier: MIT */
/*
 * The journal on disk: a header, then records in slots. A slot of zeros, or one whose sum is
 * wrong, holds nothing. In the machine's own byte order: it never leaves the machine, nor
 * survives its boot.
 */
#ifndef BACKEND_MSR_JOURNAL_FORMAT_H
#define BACKEND_MSR_JOURNAL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define JOURNAL_MAGIC "pfmjrnl" /* and its NUL */

enum { JOURNAL_VERSION = 1, JOURNAL_BOOT_ID = 40, JOURNAL_DEV = 440 };

struct journal_head {
	char magic[8];
	uint64_t st_dev, st_ino; /* the device directory: its path may come to mean another one */
	char boot_id[JOURNAL_BOOT_ID];
	char dev[JOURNAL_DEV]; /* path of the device directory */
	uint32_t version;
	uint32_t sum; /* of all above */
};

/* Its size divides a page's: a record is written whole or not at all. */
struct journal_record {
	uint32_t cpu, addr;
	uint64_t orig, mask;
	uint32_t in_use;
	uint32_t sum; /* of all above */
};

_Static_assert(sizeof(struct journal_head) == 512, "records start aligned to their size");
_Static_assert(sizeof(struct journal_record) == 32, "records do not straddle pages");

/* FNV-1a */
static inline uint32_t journal_sum(const void *p, size_t n)
{
	const unsigned char *c = p;
	uint32_t sum = 2166136261u;

	while (n--)
		sum = (sum ^ *c++) * 16777619u;
	return sum;
}

#endif
