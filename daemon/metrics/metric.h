/* SPDX-License-Identifier: MIT */
/*
 * The names under which a context's counts are exported, as written to ctx/NAME/metrics. A line is
 * "[set=ID] pmdN NAME[/DIVISOR] [\"HELP\"]", or "threads". NAME is what Prometheus calls the count,
 * without "perfmonfs_" and "_total".
 */
#ifndef METRICS_METRIC_H
#define METRICS_METRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/slice.h"
#include "perfmonfs/pmu.h"

enum {
	METRIC_NAME = 48, /* bytes, with the NUL */
	METRIC_HELP = 96,
	METRICS_MAX = 64, /* of one context */
	METRIC_DIGITS = 9,
};

/* A count and its name. */
struct metric {
	uint16_t set;
	/* The PMD's logical number. */
	uint16_t num;
	/* The count is divided by 10 to the power of this, up to METRIC_DIGITS. */
	unsigned digits;
	/* A lower-case letter, then lower-case letters, digits and underscores. */
	char name[METRIC_NAME];
	/* Printable ASCII without quotes; "" if none was written. */
	char help[METRIC_HELP];
};

struct metric_list {
	/* "threads" was given: the counts are exported also while the context is loaded on a
	 * thread. */
	bool threads;
	unsigned n;
	struct metric metric[METRICS_MAX];
};

/* Parses lines into @list; an empty text names nothing. EINVAL, ERANGE, ENOENT (@pmu lacks the
 * PMD), with the line's number; @list is then unspecified. */
int metrics_parse(
	struct slice text, const struct pmu *pmu, struct metric_list *list, struct err *e);

#endif
