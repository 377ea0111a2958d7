/* SPDX-License-Identifier: MIT */
/* Codes in the terms that Linux gives a PMU's fields: event=0xc0,umask=0x1,cmask=1. */
#ifndef TOOLS_PFM_EVENTS_EVENT_TERMS_H
#define TOOLS_PFM_EVENTS_EVENT_TERMS_H

#include "tools/pfm/events/event_code.h"
#include "tools/pfm/events/pfm_pmu.h"

/* Parses a list of terms. Returns 1 if @text does not begin with a term. -EINVAL: a part is no
 * term; -ERANGE: a number. */
int event_terms_parse(
	enum arch_encoding encoding, struct slice text, struct event_code *c, struct err *e);

/* Cuts the first event off a list. Commas between terms, as in PMU/TERM,TERM/, do not end it. */
struct slice event_terms_cut(struct slice *list);

#endif
