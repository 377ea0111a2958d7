/* SPDX-License-Identifier: MIT */
/*
 * Parses the records of a perf event's ring buffer. Whatever the buffer contains, nothing outside
 * of it is read, and parsing ends.
 */
#ifndef PERCPU_PERF_RECORDS_H
#define PERCPU_PERF_RECORDS_H

#include <linux/perf_event.h>
#include <stdbool.h>

#include "perfmonfs/format.h"

enum {
	/* The layout that the parser expects: perf_event_attr.sample_type. */
	PERF_RECORDS_SAMPLE_TYPE =
		PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	/* Bytes of a record. The variable part is a file name of up to PATH_MAX. */
	PERF_RECORDS_SIZE_MAX = 8192,
};

struct perf_records {
	/* The ring buffer and its size in bytes, a power of 2. */
	const unsigned char *data;
	uint64_t size;
	/* The position up to which records are parsed. */
	uint64_t tail;
	/* A thread whose samples are ignored. */
	uint32_t self;
	/* Records that the kernel dropped, or that were malformed. */
	uint64_t lost;
	/* The latest time of an event, ns. */
	uint64_t event_time;
	/* The time of the newest sample, ns. */
	uint64_t sample_time;
	/* The current record in one piece. */
	union {
		struct perf_event_header head;
		uint64_t aligned;
		unsigned char bytes[PERF_RECORDS_SIZE_MAX];
	} rec;
};

/*
 * Parses all records up to position @head. Sets *@newest to the newest sample of a thread other
 * than r->self, unless there is none. Calls @event for each event of a process; NULL skips them.
 */
void perf_records_read(struct perf_records *r, uint64_t head, pfm_smpl_where_t *newest,
	void (*event)(void *arg, const pfm_smpl_event_t *), void *arg);

#endif
