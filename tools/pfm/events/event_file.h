/* SPDX-License-Identifier: MIT */
/* Event files, see pfm-events(5). */
#ifndef TOOLS_PFM_EVENTS_EVENT_FILE_H
#define TOOLS_PFM_EVENTS_EVENT_FILE_H

#include "base/err.h"
#include "base/slice.h"
#include "tools/pfm/events/pfm_pmu.h"

/*
 * Adds the events of a file to those of @pmu. They are active if a line of the file names the PMU
 * or the machine's CPU, or if no line names any. A file of another vendor's CPUs adds nothing.
 * @path is for errors, @source for names SOURCE::EVENT. -EINVAL, -ERANGE with path:line; -ENOMEM.
 */
int event_file_parse(struct slice text, const char *path, const char *source, struct pfm_pmu *pmu,
	struct err *e);

#endif
