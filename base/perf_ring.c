// SPDX-License-Identifier: MIT
#include "base/perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int perf_ring_map(struct perf_ring *r, int fd, unsigned pages, size_t room)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	r->rec = room ? malloc(room) : NULL;
	r->room = room;
	if (room && !r->rec)
		return -ENOMEM;
	p = mmap(NULL, (1 + pages) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	r->page = p;
	r->data = (const unsigned char *)p + page;
	r->size = pages * page;
	return 0;
}

void perf_ring_unmap(struct perf_ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)(r->data - (const unsigned char *)r->page) + r->size);
	r->page = NULL;
	free(r->rec);
	r->rec = NULL;
}

/* Copies @n bytes at position @at, which may wrap around. */
static void perf_ring_copy(const struct perf_ring *r, uint64_t at, void *to, size_t n)
{
	size_t from = at & (r->size - 1), first = r->size - from < n ? r->size - from : n;

	memcpy(to, r->data + from, first);
	memcpy((char *)to + first, r->data, n - first);
}

/* Skips everything up to @head, because the start of the next record is unknown. */
static bool perf_ring_give_up(struct perf_ring *r, uint64_t head)
{
	r->malformed++;
	r->tail = head;
	return false;
}

bool perf_ring_next(struct perf_ring *r, uint64_t head)
{
	/* The kernel never writes more than fits. */
	if (head - r->tail > r->size)
		return perf_ring_give_up(r, head);
	while (r->tail != head) {
		uint64_t left = head - r->tail, at = r->tail;
		size_t n;

		if (left < sizeof(*r->rec))
			return perf_ring_give_up(r, head);
		perf_ring_copy(r, at, r->rec, sizeof(*r->rec));
		n = r->rec->size;
		if (n < sizeof(*r->rec) || n > left)
			return perf_ring_give_up(r, head);
		r->tail += n;
		if (n > r->room) {
			r->malformed++;
			continue;
		}
		perf_ring_copy(r, at, r->rec, n);
		r->rec->size = (uint16_t)n; /* The ring may have changed since. */
		return true;
	}
	return false;
}
