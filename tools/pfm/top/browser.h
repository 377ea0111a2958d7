/* SPDX-License-Identifier: MIT */
/* Shows a recording on a terminal: functions, call trees and source. */
#ifndef TOOLS_PFM_TOP_BROWSER_H
#define TOOLS_PFM_TOP_BROWSER_H

#include "tools/pfm/samples/recording.h"

/* Shows the event of @r that is chosen, and others at a key, until the user leaves. The terminal
 * must be one for which screen_possible() is true. */
int browser_run(struct recording *r, struct err *e);

#endif
