// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/metrics_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nsec.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/file.h"

/* Contexts in one slice: less than a millisecond, as reading a counter of another CPU takes about
 * two microseconds. */
enum { METRICS_SLICE = 64 };

/* A waiting read, on its fiber's stack. */
struct metrics_read {
	/* Ends when a scan has answered it. */
	struct fiber_wait scanned;
	enum exposition_form form;
	/* When the read came (CLOCK_MONOTONIC, ns). */
	uint64_t since;
	/* The user whose turn the scan uses. */
	struct user_quota *quota;
	/* Link in metrics.reads. */
	struct list_head link;
};

int metrics_new(struct fs *fs, struct metrics **out, struct err *e)
{
	struct metrics *ms = calloc(1, sizeof(*ms));

	if (!ms || hash_init(&ms->by_name) < 0) {
		free(ms);
		return err_set(e, ENOMEM, "no memory");
	}
	ms->fs = fs;
	list_init(&ms->due);
	list_init(&ms->contexts);
	list_init(&ms->families);
	list_init(&ms->reads);
	*out = ms;
	return 0;
}

void metrics_free(struct metrics *ms)
{
	if (!ms)
		return;
	for (unsigned i = 0; i < EXPOSITION_FORMS; i++)
		text_free(&ms->text[i]);
	hash_free(&ms->by_name);
	free(ms);
}

/* Finds or makes a family; NULL if there is no memory. */
static struct metric_family *metrics_find_family(struct metrics *ms, const char *name)
{
	uint64_t key = hash_string(name);
	struct metric_family *f;

	for (struct hash_node *n = hash_find(&ms->by_name, key); n; n = hash_find_next(n)) {
		f = container_of(n, struct metric_family, hash);
		if (strcmp(f->name, name) == 0)
			return f;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	snprintf(f->name, sizeof(f->name), "%s", name);
	list_init(&f->members);
	list_add_tail(&f->link, &ms->families);
	hash_add(&ms->by_name, &f->hash, key);
	return f;
}

static void metrics_put_family(struct metrics *ms, struct metric_family *f)
{
	if (!list_empty(&f->members))
		return;
	list_del(&f->link);
	hash_remove(&ms->by_name, &f->hash);
	free(f);
}

static void metrics_unlink(struct metrics *ms, struct ctx_metrics *m)
{
	if (!m->exported)
		return;
	for (unsigned i = 0; i < m->n; i++) {
		list_del(&m->metric[i].member);
		if (m->metric[i].family)
			metrics_put_family(ms, m->metric[i].family);
	}
	list_del(&m->link);
	ms->exported -= m->n;
	m->ctx->id.quota->metrics -= m->n;
	m->exported = false;
}

static int metrics_link(struct metrics *ms, struct ctx_metrics *m, struct err *e)
{
	m->exported = true;
	list_add_tail(&m->link, &ms->contexts);
	ms->exported += m->n;
	m->ctx->id.quota->metrics += m->n;
	for (unsigned i = 0; i < m->n; i++) {
		m->metric[i].family = metrics_find_family(ms, m->metric[i].metric.name);
		if (!m->metric[i].family) {
			metrics_unlink(ms, m);
			return err_set(e, ENOMEM, "no memory for the names of counts");
		}
		list_add_tail(&m->metric[i].member, &m->metric[i].family->members);
	}
	return 0;
}

static int metrics_check_limit(const struct metrics *ms, const struct ctx_metrics *m, struct err *e)
{
	const struct user_quota *q = m->ctx->id.quota;
	const struct ctx_metrics *old = m->ctx->metrics;
	unsigned n = old && old->exported ? old->n : 0;

	if (ms->exported - n + m->n > METRICS_EXPORTED)
		return err_set(e, ENOSPC, "metrics/ has no room for more than %d counts",
			METRICS_EXPORTED);
	if (q->uid && q->metrics - n + m->n > METRICS_PER_USER)
		return err_set(e, ENOSPC,
			"uid %u would export %u counts (limit: %d a user): name fewer, or write an "
			"empty line to metrics of another context",
			(unsigned)q->uid, q->metrics, METRICS_PER_USER);
	return 0;
}

int metrics_set(struct fs_context *ctx, struct ctx_metrics *m, bool export, struct err *e)
{
	struct metrics *ms = fs_of(ctx)->metrics;

	if (export && m->n && (metrics_check_limit(ms, m, e) < 0 || metrics_link(ms, m, e) < 0)) {
		ctx_metrics_unref(m);
		return -e->no;
	}
	metrics_drop(ctx);
	ctx->metrics = m;
	memset(ms->has, 0, sizeof(ms->has));
	return 0;
}

void metrics_drop(struct fs_context *ctx)
{
	struct ctx_metrics *m = ctx->metrics;

	if (!m)
		return;
	ctx->metrics = NULL;
	metrics_unlink(fs_of(ctx)->metrics, m);
	ctx_metrics_unref(m);
}

/* Whether the last scan answers @r. A scan may have begun up to METRICS_FRESH_NS before the
 * read. */
static bool metrics_is_answered(const struct metrics *ms, const struct metrics_read *r)
{
	return r->since <= ms->shown + METRICS_FRESH_NS;
}

static void metrics_render(struct metrics *ms, enum exposition_form form)
{
	struct exposition x = {.form = form, .out = &ms->text[form], .time = ms->time};

	if (ms->has[form])
		return;
	text_clear(x.out);
	metrics_print(ms, &x);
	ms->has[form] = true;
}

static void metrics_begin_scan(struct metrics *ms, struct user_quota *q);

static void metrics_end_scan(struct metrics *ms)
{
	struct metrics_read *r, *next;

	ms->scanning = false;
	memset(ms->has, 0, sizeof(ms->has));
	ms->shown = ms->began;
	list_for_each_entry_safe (r, next, &ms->reads, link) {
		if (!metrics_is_answered(ms, r))
			break;
		metrics_render(ms, r->form);
		list_del(&r->link);
		fiber_wake(&r->scanned);
	}
	r = list_first_entry_or_null(&ms->reads, struct metrics_read, link);
	if (r)
		metrics_begin_scan(ms, r->quota);
}

static void metrics_queried(struct ctx_metrics *m)
{
	struct metrics *ms = fs_of(m->ctx)->metrics;

	m->answered = m->asked_by;
	if (!ms->scanning || m->asked_by != ms->scan)
		return;
	ms->queries--;
	if (!ms->queries && !ms->slicing && list_empty(&ms->due))
		metrics_end_scan(ms);
}

/* Queries a context, unless it has not answered an earlier scan yet. */
static void metrics_query_one(struct metrics *ms, struct ctx_metrics *m)
{
	if (!ctx_metrics_wanted(m))
		return;
	m->wanted_by = ms->scan;
	if (m->querying)
		return;
	m->asked_by = ms->scan;
	m->queried = metrics_queried;
	ms->queries++;
	ctx_metrics_query(m);
}

static void metrics_slice(struct deferred *d)
{
	struct metrics *ms = container_of(d, struct metrics, deferred);

	if (ms->ended)
		return;
	ms->slicing = true;
	for (unsigned n = 0; n < METRICS_SLICE && !list_empty(&ms->due); n++) {
		struct ctx_metrics *m = list_entry(ms->due.next, struct ctx_metrics, link);

		list_del(&m->link);
		list_add_tail(&m->link, &ms->contexts);
		metrics_query_one(ms, m);
	}
	ms->slicing = false;
	if (!list_empty(&ms->due))
		deferred_go_on(ms->fs, d);
	else if (!ms->queries)
		metrics_end_scan(ms);
}

/* The scan is work of a user whose read waits for it, so other users take turns with it, and the
 * quota stays. */
static void metrics_begin_scan(struct metrics *ms, struct user_quota *q)
{
	ms->deferred = (struct deferred){.quota = q, .slice = metrics_slice};
	ms->scan++;
	ms->scanning = true;
	ms->queries = 0;
	ms->began = nsec_now(CLOCK_MONOTONIC);
	ms->time = nsec_now(CLOCK_REALTIME);
	list_splice_tail(&ms->contexts, &ms->due);
	metrics_slice(&ms->deferred);
}

/* Waits until a scan has answered. */
static int metrics_await(
	struct metrics *ms, struct call *call, enum exposition_form form, struct err *e)
{
	struct metrics_read r = {
		.form = form,
		.since = nsec_now(CLOCK_MONOTONIC),
		.quota = call->file->charge.quota,
	};
	int rc;

	if (ms->ended)
		return err_set(e, ENODEV, "the daemon is shutting down");
	list_add_tail(&r.link, &ms->reads);
	if (!ms->scanning)
		metrics_begin_scan(ms, r.quota);
	rc = await_event(call, &r.scanned, e);
	if (rc == 0 && ms->ended)
		rc = err_set(e, ENODEV, "the daemon is shutting down");
	return rc;
}

int metrics_read(struct call *call, enum exposition_form form, struct text *out, struct err *e)
{
	struct metrics *ms = call->fs->metrics;
	const struct text *text = &ms->text[form];

	if ((!ms->has[form] || nsec_now(CLOCK_MONOTONIC) > ms->shown + METRICS_FRESH_NS) &&
		metrics_await(ms, call, form, e) < 0)
		return -e->no;
	if (!text_ok(text))
		return err_set(e, ENOMEM, "no memory for the metrics");
	text_append(out, text->p, text->n);
	return 0;
}

static bool metrics_waits(const struct metrics *ms)
{
	return ms->scanning && list_empty(&ms->due);
}

int metrics_timeout(const struct metrics *ms)
{
	uint64_t now, at = ms->began + METRICS_LATE_NS;

	if (!metrics_waits(ms))
		return -1;
	now = nsec_now(CLOCK_MONOTONIC);
	return now < at ? (int)((at - now) / 1000000 + 1) : 0;
}

void metrics_expire(struct metrics *ms)
{
	if (!metrics_waits(ms) || metrics_timeout(ms))
		return;
	ms->queries = 0;
	metrics_end_scan(ms);
}

void metrics_end(struct metrics *ms)
{
	struct metrics_read *r, *next;

	ms->ended = true;
	ms->scanning = false;
	list_for_each_entry_safe (r, next, &ms->reads, link) {
		list_del(&r->link);
		fiber_wake(&r->scanned);
	}
}
