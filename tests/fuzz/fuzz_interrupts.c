// SPDX-License-Identifier: MIT
/*
 * The parser of interrupts, behind the ring that they come from. Byte 0 is skipped, the rest is the
 * ring's contents.
 */
#include "backend/perf/ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "perfmonfs/smpl_stack.h"
#include "tests/fuzz/fuzz.h"

enum { ROOM = 16384, RECORD = PERF_RING_RECORD_MAX + 1024 };

/* The @n words at @p are part of the current record. */
static void check_within(const struct perf_ring *r, const uint64_t *p, uint64_t n)
{
	const unsigned char *at = (const unsigned char *)p;

	const unsigned char *rec = (const unsigned char *)r->rec;

	CHECK(!n || (at >= rec && n <= r->room / 8 && at + 8 * n <= rec + r->rec->size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP_FREE unsigned char *ring = calloc(1, ROOM);
	CLEANUP_FREE struct perf_ring *r = calloc(1, sizeof(*r));
	CLEANUP_FREE void *record = malloc(RECORD);
	struct perf_record rec;

	CHECK(ring && r && record);
	if (!size || size > ROOM)
		return 0;
	memcpy(ring, data + 1, size - 1);
	r->data = ring;
	r->size = ROOM;
	r->rec = record;
	r->room = RECORD;
	while (perf_ring_next(r, size - 1)) {
		if (!ring_parse(r, &rec))
			continue;
		check_within(r, rec.counts, 2 * rec.ncounts);
		check_within(r, rec.frames, rec.nframes);
		check_within(r, rec.user.regs, rec.user.regs ? PFM_STACK_REGS : 0);
		check_within(r, rec.user.stack, rec.user.stack_size / 8);
	}
	CHECK(r->tail == size - 1);
	return 0;
}
