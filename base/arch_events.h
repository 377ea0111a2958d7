/* SPDX-License-Identifier: MIT */
/* Events that all processors of an encoding have, under perf's names. The tables of event libraries
 * differ in these events between versions. */
#ifndef BASE_ARCH_EVENTS_H
#define BASE_ARCH_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* The encodings that event names have. A PMU of unknown encoding takes only codes. */
enum arch_encoding {
	ARCH_NONE,
	ARCH_P6,    /* Intel before architectural performance monitoring */
	ARCH_INTEL, /* with the architectural events */
	ARCH_AMD,
};

struct arch_event {
	enum arch_encoding encoding;
	const char *name;
	uint16_t code; /* unit mask and event, bits 15:0 of an event select */
	const char *desc;
};

/* The events of all encodings, by index from 0; NULL ends them. A name may occur twice. */
const struct arch_event *arch_event_at(unsigned i);

/* The event of @encoding with that name; NULL: none. */
const struct arch_event *arch_event_named(enum arch_encoding encoding, struct slice name);

/* Event 0 with unit mask N: only fixed counter N - 1 counts it. */
static inline bool arch_event_is_fixed(const struct arch_event *a)
{
	return !(a->code & 0xff);
}

#endif
