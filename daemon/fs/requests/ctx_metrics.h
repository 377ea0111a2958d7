/* SPDX-License-Identifier: MIT */
/*
 * The counts of a context that have names for export (ctx/NAME/metrics), and reading them. All of
 * it belongs to the session thread; the context's owner reads the counters.
 */
#ifndef FS_CTX_METRICS_H
#define FS_CTX_METRICS_H

#include "daemon/fs/tree/fs_state.h"
#include "daemon/metrics/metric.h"

struct metric_family;

struct ctx_metric {
	struct ctx_metrics *of;
	/* Of the last query. */
	struct cmd_count *count;
	/* In metric_family.members, while it is exported. */
	struct metric_family *family;
	struct list_head member;
	struct metric metric;
};

struct ctx_metrics {
	struct fs_context *ctx;
	/* Held by the context or a request, and by a query. */
	unsigned refs;
	/* To the context's user. */
	struct charge charge;
	/* For node.prom: in struct metrics. */
	bool exported;
	bool threads;
	struct list_head link;
	/* The last scan of struct metrics that has found it loaded, the one that the last query was
	 * for, and the last one that it has answered. */
	uint64_t wanted_by, asked_by, answered;
	/* The context's owner writes its results while @querying. */
	struct job job;
	bool querying;
	/* Where the context was loaded when the query began: cpu is -1 unless on a CPU, tid 0
	 * unless on a thread. */
	int cpu, tid;
	/* The query has ended. */
	void (*queried)(struct ctx_metrics *m);
	/* For queried(). */
	void *arg;

	unsigned n;
	/* One for each metric, behind them. */
	struct cmd_count *counts;
	struct ctx_metric metric[];
};

/* Names counts of @ctx, with a reference for the caller. ENOMEM. */
int ctx_metrics_new(struct fs_context *ctx, const struct metric_list *list,
	struct ctx_metrics **out, struct err *e);
/* The same, of the names that @ctx has. */
int ctx_metrics_copy(struct fs_context *ctx, struct ctx_metrics **out, struct err *e);
/* NULL is fine. */
void ctx_metrics_unref(struct ctx_metrics *m);

/* It is loaded where it may be exported from, if it is exported. */
bool ctx_metrics_wanted(const struct ctx_metrics *m);
/* Reads the counts; queried() follows, perhaps before this returns. None is under way. */
void ctx_metrics_query(struct ctx_metrics *m);

#endif
