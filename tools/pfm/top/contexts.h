/* SPDX-License-Identifier: MIT */
/* The counts of all loaded contexts of a mount. */
#ifndef TOOLS_PFM_TOP_CONTEXTS_H
#define TOOLS_PFM_TOP_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "tools/pfm/events/pfm_pmu.h"
#include "tools/pfm/tree/tree.h"

/* A PMD of an event set of a context, or a context that cannot be read. */
struct context_count;

struct contexts {
	/* Set by the caller. */
	const struct tree *tree;
	const struct pfm_pmu *pmu;
	/* Set by contexts_read(), in the order of MNT/cpus. */
	struct context_count *all;
	unsigned n;
	unsigned ncontexts;
	bool lost; /* a count was lost */
};

/* Reads all counts. Rates are known from the second call on. */
int contexts_read(struct contexts *c, struct err *e);
void contexts_free(struct contexts *c);

/* These append a line, without a newline. */
void contexts_header(struct text *out);
void contexts_row(struct text *out, const struct contexts *c, unsigned i);

#endif
