/* SPDX-License-Identifier: MIT */
/*
 * The ring buffer of a perf event (perf_event_open(2)). Even if the contents are malformed, reading
 * stays within the ring and ends.
 */
#ifndef BASE_PERF_RING_H
#define BASE_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a record without a user's stack. The largest parts are file names of up to PATH_MAX. */
enum { PERF_RING_RECORD_MAX = 8192 };

struct perf_ring {
	/* The first page of the mapping; NULL: not mapped. */
	struct perf_event_mmap_page *page;
	/* The records, and the size of their memory in bytes, a power of 2. */
	const unsigned char *data;
	uint64_t size;
	/* The position up to which records have been read. */
	uint64_t tail;
	/* Number of malformed records. */
	uint64_t malformed;
	/* The current record in one piece, of @room bytes at most; its size was checked. */
	struct perf_event_header *rec;
	size_t room;
};

/* Maps @pages pages of records of the event @fd, each of @room bytes at most; 0: they are not read.
 * 0 or -errno. */
int perf_ring_map(struct perf_ring *r, int fd, unsigned pages, size_t room);
void perf_ring_unmap(struct perf_ring *r);

/* The position up to which the kernel has written. */
static inline uint64_t perf_ring_head(const struct perf_ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/* Makes the next record before @head the current one. False: there is none. */
bool perf_ring_next(struct perf_ring *r, uint64_t head);

/* Lets the kernel reuse the space of the records that were read. */
static inline void perf_ring_release(struct perf_ring *r)
{
	__atomic_store_n(&r->page->data_tail, r->tail, __ATOMIC_RELEASE);
}

#endif
