/* SPDX-License-Identifier: MIT */
/*
 * The journal on disk: a header, then slots of one record each. A slot of zeros, or one with a
 * wrong checksum, is empty. Byte order is native, because a journal is used by the same boot only.
 */
#ifndef BACKEND_MSR_JOURNAL_FORMAT_H
#define BACKEND_MSR_JOURNAL_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define JOURNAL_MAGIC "pfmjrnl" /* 8 bytes with the NUL. */

enum { JOURNAL_VERSION = 1, JOURNAL_BOOT_ID = 40, JOURNAL_DEV = 440 };

struct journal_head {
	char magic[8];
	uint64_t st_dev,
		/* Identity of the device directory, in case the path is reused for another one. */
		st_ino;
	char boot_id[JOURNAL_BOOT_ID];
	char dev[JOURNAL_DEV]; /* Path of the device directory. */
	uint32_t version;
	uint32_t sum; /* journal_sum() of the fields above. */
};

/* The size divides the page size, so that a record is written completely or not at all. */
struct journal_record {
	uint32_t cpu, addr;
	uint64_t orig, mask;
	uint32_t in_use; /* enum journal_use */
	uint32_t sum;    /* journal_sum() of the fields above. */
};

enum journal_use { JOURNAL_FREE, JOURNAL_IN_USE, JOURNAL_UNRESTORED };

_Static_assert(sizeof(struct journal_head) == 512, "records start aligned to their size");
_Static_assert(sizeof(struct journal_record) == 32, "records do not straddle pages");

/* The FNV-1a hash. */
static inline uint32_t journal_sum(const void *p, size_t n)
{
	const unsigned char *c = p;
	uint32_t sum = 2166136261u;

	while (n--)
		sum = (sum ^ *c++) * 16777619u;
	return sum;
}

#endif
