/* SPDX-License-Identifier: MIT */
/*
 * The counts of a context that have names for export (ctx/NAME/metrics), and reading them.
 * Everything here belongs to the session thread, but the context's owner reads the counters.
 */
#ifndef FS_CTX_METRICS_H
#define FS_CTX_METRICS_H

#include "daemon/fs/tree/fs_state.h"
#include "daemon/metrics/metric.h"

struct metric_family;

struct ctx_metric {
	struct ctx_metrics *of;
	/* The result of the last query. */
	struct cmd_count *count;
	/* The family, and the link in its members, while the count is exported. */
	struct metric_family *family;
	struct list_head member;
	struct metric metric;
};

struct ctx_metrics {
	struct fs_context *ctx;
	/* References held by the context or a request, and by a query. */
	unsigned refs;
	/* Charged to the context's user. */
	struct charge charge;
	/* Exported in node.prom; @link is then in struct metrics. */
	bool exported;
	bool threads;
	struct list_head link;
	/* Scans of struct metrics: the last one that found the context loaded, the one for which
	 * the last query was made, and the last one that was answered. */
	uint64_t wanted_by, asked_by, answered;
	/* The query. The context's owner writes its results while @querying. */
	struct job job;
	bool querying;
	/* Where the context was loaded when the query began: @cpu is -1 unless on a CPU, @tid is 0
	 * unless on a thread. */
	int cpu, tid;
	/* Called when the query has ended. */
	void (*queried)(struct ctx_metrics *m);
	/* Gaps in the counts of the last query. */
	uint64_t gaps;

	unsigned n;
	/* One count per metric, in memory after @metric. */
	struct cmd_count *counts;
	struct ctx_metric metric[];
};

/* Names counts of @ctx. The caller gets a reference. ENOMEM. */
int ctx_metrics_new(struct fs_context *ctx, const struct metric_list *list,
	struct ctx_metrics **out, struct err *e);
/* Copies the names of @ctx. The caller gets a reference. ENOMEM. */
int ctx_metrics_copy(struct fs_context *ctx, struct ctx_metrics **out, struct err *e);
/* @m may be NULL. */
void ctx_metrics_unref(struct ctx_metrics *m);

/* Whether the context is loaded where its counts may be exported from, if they are exported. */
bool ctx_metrics_wanted(const struct ctx_metrics *m);
/* A job that reads the counts, and what follows when it has ended. */
struct job ctx_metrics_job(struct ctx_metrics *m);
void ctx_metrics_finish(struct ctx_metrics *m, const struct job *job);
/* Reads the counts; queried() follows, possibly before this returns. No other query may be under
 * way. */
void ctx_metrics_query(struct ctx_metrics *m);

#endif
