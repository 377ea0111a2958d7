/* SPDX-License-Identifier: MIT */
/* Times as users type them: 500ms, 1.5s, 10m, 2h. */
#ifndef TOOLS_PFM_TEXT_DURATION_H
#define TOOLS_PFM_TEXT_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"

/* Parses a time, from 1 ms to 1000 days. A number without a unit counts @unit ns; 0: it needs one.
 * False: it is no such time. */
bool duration_parse(struct slice s, uint64_t unit, uint64_t *ns);

#endif
