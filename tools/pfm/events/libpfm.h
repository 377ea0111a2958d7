/* SPDX-License-Identifier: MIT */
/* Event names of libpfm4, where it was there when pfm was built. */
#ifndef TOOLS_PFM_EVENTS_LIBPFM_H
#define TOOLS_PFM_EVENTS_LIBPFM_H

#include <stdbool.h>

#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/events/event_code.h"
#include "tools/pfm/events/nearest.h"
#include "tools/pfm/events/pfm_pmu.h"

/* The library's version, as "4.13", or NULL: it is not built in. */
const char *libpfm_version(void);

/*
 * Encodes PMU::EVENT:UMASK..., or EVENT:UMASK... of the machine's PMU. -ENOENT: no such event, or
 * libpfm4 is not built in; -EINVAL: an attribute is wrong or missing, or the event is another
 * vendor's.
 */
int libpfm_encode(
	enum pfm_encoding encoding, struct slice name, struct event_code *c, struct err *e);

/* Offers the names of @name's PMU, or without a PMU of the machine's. */
void libpfm_offer(struct slice name, struct nearest *near);

/*
 * Calls @each with each event of the PMU named @pmu, or with "" of the machine's; and unless @umask
 * is NULL, that with each of its unit masks then, as PMU::EVENT:UMASK.
 */
typedef void libpfm_each_fn(void *arg, const char *name, const char *desc);
void libpfm_each(struct slice pmu, libpfm_each_fn *each, libpfm_each_fn *umask, void *arg);

/* The same of the events, with their unit masks, whose code is @code. */
void libpfm_each_of_code(enum pfm_encoding encoding, struct slice pmu, uint64_t code,
	libpfm_each_fn *each, void *arg);

#endif
