/* SPDX-License-Identifier: MIT */
/* Event names of libpfm4, if pfm was built with it and it is installed. */
#ifndef TOOLS_PFM_EVENTS_LIBPFM_H
#define TOOLS_PFM_EVENTS_LIBPFM_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/events/event_code.h"
#include "tools/pfm/events/nearest.h"
#include "tools/pfm/events/pfm_pmu.h"

/* The version of the library, such as "4.13"; NULL: pfm was built without it, or it is not
 * installed. */
const char *libpfm_version(void);

/*
 * Encodes PMU::EVENT:UMASK..., or EVENT:UMASK... of the machine's PMU. -ENOENT: no such event, or
 * there is no libpfm4; -EINVAL: an attribute is wrong or missing, or the event is of
 * another vendor.
 */
int libpfm_encode(
	enum arch_encoding encoding, struct slice name, struct event_code *c, struct err *e);

/* Offers the event names of @name's PMU, or of the machine's if it has none. */
void libpfm_offer(struct slice name, struct nearest *near);

/* Calls @each with each event of PMU @pmu, or of the machine's if that is "". Unless @umask is
 * NULL, then calls @umask with each unit mask of the event, as PMU::EVENT:UMASK. */
typedef void libpfm_each_fn(void *arg, const char *name, const char *desc);
void libpfm_each(struct slice pmu, libpfm_each_fn *each, libpfm_each_fn *umask, void *arg);

/* Calls @each with each event and unit mask whose code is @code. */
void libpfm_each_of_code(enum arch_encoding encoding, struct slice pmu, uint64_t code,
	libpfm_each_fn *each, void *arg);

#endif
