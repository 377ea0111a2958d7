/* SPDX-License-Identifier: MIT */
/*
 * metrics/node.prom and node.lp: the daemon's own counts, and those that contexts export. A scan
 * reads the exported counts of all contexts, in slices. All reads that wait share it, and one that
 * comes less than METRICS_FRESH_NS after a scan has begun gets what that has found: so scraping
 * costs no more than one scan in that time, however many scrape. A context that has not answered
 * for METRICS_LATE_NS is left out, and named in perfmonfs_context_late.
 *
 * All functions are the session thread's.
 */
#ifndef FS_METRICS_SCAN_H
#define FS_METRICS_SCAN_H

#include "daemon/fs/requests/ctx_metrics.h"
#include "daemon/fs/tree/node.h"
#include "daemon/metrics/exposition.h"

#define METRICS_FRESH_NS 10000000ULL
#define METRICS_LATE_NS  100000000ULL

enum {
	/* Counts that are exported: of all users, and of one that is not root. */
	METRICS_EXPORTED = 8192,
	METRICS_PER_USER = 1024,
};

/* The exported counts of one name. */
struct metric_family {
	char name[METRIC_NAME];
	struct list_head members;
	/* In struct metrics. */
	struct list_head link;
	struct hash_node hash;
};

struct metrics {
	struct fs *fs;
	/* Contexts that export: those that the scan has not come to, and the others. */
	struct list_head due, contexts;
	/* By age, and by name. */
	struct list_head families;
	struct hash by_name;
	/* How many counts they have. */
	unsigned exported;

	/* Reads that wait, the oldest first. */
	struct list_head reads;
	/* The scan under way, or the last one: its number, and when it began (CLOCK_MONOTONIC and
	 * CLOCK_REALTIME, ns). */
	uint64_t scan, began, time;
	bool scanning, slicing, ended;
	/* Queries of it that are under way. */
	unsigned queries;
	struct deferred deferred;

	/* What the scan that began at @shown has found, in the forms that were read. */
	uint64_t shown;
	bool has[EXPOSITION_FORMS];
	struct text text[EXPOSITION_FORMS];
};

/* ENOMEM. */
int metrics_new(struct fs *fs, struct metrics **out, struct err *e);
void metrics_free(struct metrics *ms);

/* Reads node.prom or node.lp: 0 with @out, CALL_LATER, or an error. */
int metrics_read(struct call *call, enum exposition_form form, struct text *out, struct err *e);

/* Gives counts of @ctx the names in @m, which it takes, instead of those before; @export: others
 * can read them. ENOSPC. */
int metrics_set(struct fs_context *ctx, struct ctx_metrics *m, bool export, struct err *e);
/* The context is going. */
void metrics_drop(struct fs_context *ctx);

/* Milliseconds until metrics_expire() is due; -1: it is not. */
int metrics_timeout(const struct metrics *ms);
/* Ends a scan that waits for a context for too long. */
void metrics_expire(struct metrics *ms);
/* Answers all reads that wait: no more events come. */
void metrics_end(struct metrics *ms);

/* Prints the families of @ms as the last scan has found them (metrics_print.c). */
void metrics_print(const struct metrics *ms, struct exposition *x);
/* Prints the counts of one context alone. */
void metrics_print_context(const struct ctx_metrics *m, struct exposition *x);

#endif
