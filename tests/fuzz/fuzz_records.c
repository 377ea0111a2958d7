// SPDX-License-Identifier: MIT
/*
 * The ring buffer of a perf event with any content: nothing outside is read, all of it is consumed,
 * names are strings, times do not decrease, and the position of records makes no difference.
 *
 * The input begins with one byte for the ring's size, two for the position of the tail, and two for
 * the number of bytes to the head; the rest is the content from the tail on.
 */
#include "tests/fuzz/fuzz.h"

#include "base/cleanup.h"
#include "daemon/percpu/perf_records.h"

enum { HEAD = 5, SELF = 7 };

struct seen {
	uint64_t sum, last, events;
};

static void mix(struct seen *s, uint64_t v)
{
	s->sum = (s->sum ^ v) * 0x100000001b3;
}

static void on_event(void *arg, const pfm_smpl_event_t *ev)
{
	struct seen *s = arg;

	CHECK(ev->tstamp >= s->last);
	s->last = ev->tstamp;
	s->events++;
	mix(s, ev->type);
	mix(s, ev->pid);
	mix(s, ev->tid);
	mix(s, ev->tstamp);
	mix(s, ev->addr + ev->len + ev->pgoff);
	CHECK(ev->file.build_id_size <= sizeof(ev->file.build_id));
	mix(s, ev->file.inode + ev->file.build_id_size + ev->file.build_id[0]);
	CHECK(strlen(ev->name) < PERF_RING_RECORD_MAX);
	for (const char *c = ev->name; *c; c++)
		mix(s, (unsigned char)*c);
}

/* Parses a ring of @size bytes with the @n bytes of @p at position @tail. */
static uint64_t read_from(const uint8_t *p, size_t n, size_t size, uint64_t tail, uint64_t head)
{
	CLEANUP_FREE unsigned char *ring = calloc(1, size);
	CLEANUP_FREE struct perf_records *r = calloc(1, sizeof(*r));
	CLEANUP_FREE void *rec = malloc(PERF_RING_RECORD_MAX);
	pfm_smpl_where_t where = {.pid = 4711};
	struct seen seen = {0};

	CHECK(ring && r && rec);
	for (size_t i = 0; i < n && i < size; i++)
		ring[(tail + i) % size] = p[i];
	*r = (struct perf_records){.ring = {.data = ring,
					   .size = size,
					   .tail = tail,
					   .rec = rec,
					   .room = PERF_RING_RECORD_MAX},
		.self = SELF};
	perf_records_read(r, head, &where, on_event, &seen);
	CHECK(r->ring.tail == head);
	CHECK(where.tid != SELF || !where.known);
	CHECK(where.known <= 1 && (where.known || !where.ip));
	mix(&seen, where.ip);
	mix(&seen, where.pid);
	mix(&seen, r->lost + r->ring.malformed);
	perf_records_read(r, head, &where, NULL, NULL);
	return seen.sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t room, from, n;

	if (size < HEAD)
		return 0;
	room = (size_t)64 << data[0] % 8;
	from = (size_t)(data[1] | data[2] << 8);
	n = (size_t)(data[3] | data[4] << 8);
	data += HEAD;
	size -= HEAD;
	CHECK(read_from(data, size, room, from, from + n) == read_from(data, size, room, 0, n));
	/* Positions only increase, and wrap around at 2^64. */
	read_from(data, size, room, -(uint64_t)from, n - (uint64_t)from);
	return 0;
}
