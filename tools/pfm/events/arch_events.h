/* SPDX-License-Identifier: MIT */
/* Events that all processors of an encoding have, under perf's names. The tables of event libraries
 * differ in these events between versions. */
#ifndef TOOLS_PFM_EVENTS_ARCH_EVENTS_H
#define TOOLS_PFM_EVENTS_ARCH_EVENTS_H

#include "base/err.h"
#include "tools/pfm/events/event_table.h"
#include "tools/pfm/events/pfm_pmu.h"

/* Adds the events of @encoding. -ENOMEM. */
int arch_events_add(enum pfm_encoding encoding, struct event_table *t, struct err *e);

/* The names of the events of all encodings, by index from 0; NULL ends them. A name may occur
 * twice. */
const char *arch_events_name(unsigned i);

#endif
