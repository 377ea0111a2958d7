/* SPDX-License-Identifier: MIT */
/* One CPU's worker: a thread pinned there that owns the context loaded on that CPU. */
#ifndef CPU_WORKER_H
#define CPU_WORKER_H

#include "daemon/cpu/engine.h"

struct executor;
struct worker;

/* Makes the worker of @cpu. -ENOMEM, -EAGAIN. */
int worker_new(struct backend *be, struct news_box *box, struct engine_stats *stats, unsigned cpu,
	struct worker **out, struct err *e);

void worker_mail(struct worker *w, struct job *job);

/* No more mail comes: it ends when it has read what it has, and sends NEWS_WORKER_GONE. */
void worker_retire(struct worker *w);

/* After NEWS_WORKER_GONE. */
void worker_free(struct worker *w);

/* Has it look at its counters at once. */
void worker_prod(struct worker *w);

/* When it will do so by itself (ns of the backend); 0: never. */
uint64_t worker_wake(const struct worker *w);

struct worker *worker_of_news(struct news *n);
/* For whoever has made the tenant's inflight go from 0 to 1. */
struct executor *worker_executor(struct worker *w);

unsigned worker_cpu(const struct worker *w);

#endif
