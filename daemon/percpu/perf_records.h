/* SPDX-License-Identifier: MIT */
/*
 * The records that the kernel leaves in the ring of a perf event. Whatever is found there, nothing
 * outside of the ring is read, and reading comes to an end.
 */
#ifndef CPU_RECORDS_H
#define CPU_RECORDS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "perfmonfs/format.h"

/* What the records are made of: they are read by these. */
enum {
	RECORDS_SAMPLE_TYPE = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	RECORD_MAX = 8192, /* a record is longer by its name only, which PATH_MAX limits */
};

struct records {
	const unsigned char *data;
	uint64_t size; /* a power of 2 */
	uint64_t tail; /* up to where it has been read */
	uint32_t self; /* the thread whose samples do not matter */
	uint64_t lost; /* records that were not read: there was no room, or they made no sense */
	uint64_t last; /* the latest time of an event */
	uint64_t time; /* of the newest sample of another thread */
	union {
		struct perf_event_header head;
		uint64_t aligned;
		unsigned char bytes[RECORD_MAX];
	} rec; /* the one being read, in one piece */
};

/*
 * Reads all up to @head. *@newest becomes the newest sample that is not of the thread @self, and
 * is left alone if there is none. @event is called for what happened to processes; NULL: skipped.
 */
void records_read(struct records *r, uint64_t head, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg);

#endif
