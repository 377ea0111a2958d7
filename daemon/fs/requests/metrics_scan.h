/* SPDX-License-Identifier: MIT */
/*
 * metrics/node.prom and node.lp: the daemon's own counts, and those that contexts export. A scan
 * reads the exported counts of all contexts, in slices. All waiting reads share it, and a read that
 * comes less than METRICS_FRESH_NS after the start of a scan gets that scan's result, so scraping
 * costs at most one scan in that time, however many programs scrape. A context that has not
 * answered for METRICS_LATE_NS is left out, and named in perfmonfs_context_late.
 *
 * All functions are for the session thread.
 */
#ifndef FS_METRICS_SCAN_H
#define FS_METRICS_SCAN_H

#include "daemon/fs/requests/ctx_metrics.h"
#include "daemon/fs/tree/node.h"
#include "daemon/metrics/exposition.h"

#define METRICS_FRESH_NS 10000000ULL
#define METRICS_LATE_NS  100000000ULL

enum {
	/* Limits on exported counts: of all users, and of one non-root user. */
	METRICS_EXPORTED = 8192,
	METRICS_PER_USER = 1024,
};

/* All exported counts with one name. */
struct metric_family {
	char name[METRIC_NAME];
	struct list_head members;
	/* Links in struct metrics. */
	struct list_head link;
	struct hash_node hash;
};

struct metrics {
	struct fs *fs;
	/* Contexts that export counts: those that the scan has not reached, and the others. */
	struct list_head due, contexts;
	/* Families by age, and by name. */
	struct list_head families;
	struct hash by_name;
	/* The number of counts in @due and @contexts. */
	unsigned exported;

	/* Waiting reads, oldest first. */
	struct list_head reads;
	/* The current or last scan: its number, and when it began (CLOCK_MONOTONIC and
	 * CLOCK_REALTIME, ns). */
	uint64_t scan, began, time;
	bool scanning, slicing, ended;
	/* Queries of the scan that are under way. */
	unsigned queries;
	struct deferred deferred;

	/* The results of the scan that began at @shown, in the forms that were read. */
	uint64_t shown;
	bool has[EXPOSITION_FORMS];
	struct text text[EXPOSITION_FORMS];
};

/* ENOMEM. */
int metrics_new(struct fs *fs, struct metrics **out, struct err *e);
void metrics_free(struct metrics *ms);

/* Reads node.prom or node.lp, by a request on a fiber. ENODEV, ENOMEM, EINTR. */
int metrics_read(struct call *call, enum exposition_form form, struct text *out, struct err *e);

/* Takes @m and gives counts of @ctx the names in it, in place of the previous ones. @export: others
 * can read them. ENOSPC. */
int metrics_set(struct fs_context *ctx, struct ctx_metrics *m, bool export, struct err *e);
/* Drops the names of a context that is being removed. */
void metrics_drop(struct fs_context *ctx);

/* Milliseconds until metrics_expire() is due, or -1. */
int metrics_timeout(const struct metrics *ms);
/* Ends a scan that has waited too long for a context. */
void metrics_expire(struct metrics *ms);
/* Answers all waiting reads, because no more events will come. */
void metrics_end(struct metrics *ms);

/* Prints the families of @ms with the results of the last scan (metrics_print.c). */
void metrics_print(const struct metrics *ms, struct exposition *x);
/* Prints only the counts of one context. */
void metrics_print_context(const struct ctx_metrics *m, struct exposition *x);

#endif
