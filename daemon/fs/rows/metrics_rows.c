// SPDX-License-Identifier: MIT
/* metrics/, and metrics of a context: counts by name, for programs that collect them. */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/fs/requests/await.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/metrics_scan.h"

static int metrics_rows_read_prom(struct call *call, struct text *out, struct err *e)
{
	return metrics_read(call, EXPOSITION_PROM, out, e);
}

static int metrics_rows_read_lp(struct call *call, struct text *out, struct err *e)
{
	return metrics_read(call, EXPOSITION_LP, out, e);
}

/* Queries a copy of the names, as a scan may be using them. */
static int metrics_rows_read_context(struct call *call, struct text *out, struct err *e)
{
	struct exposition x = {.form = EXPOSITION_PROM, .out = out};
	struct await_job j = {0};
	struct ctx_metrics *m;
	int rc;

	if (context_check_closed(call->ctx, e) < 0 || ctx_metrics_copy(call->ctx, &m, e) < 0)
		return -e->no;
	j.job = ctx_metrics_job(m);
	await_job(call, &j);
	ctx_metrics_finish(m, &j.job);
	rc = context_check_closed(call->ctx, e);
	if (rc == 0)
		metrics_print_context(m, &x);
	ctx_metrics_unref(m);
	return rc;
}

static int metrics_rows_set_as(
	struct call *call, const struct rights *rights, struct ctx_metrics *m, struct err *e)
{
	unsigned n = m->n;

	if (context_check_closed(call->ctx, e) < 0) {
		ctx_metrics_unref(m);
		return -e->no;
	}
	if (metrics_set(call->ctx, m, rights->system, e) < 0)
		return -e->no;
	if (n && !rights->system)
		err_set(e, 0,
			"these counts appear only here: metrics/node.prom has those of root and of "
			"members of the group in config/sys_group");
	return 0;
}

static int metrics_rows_parse(
	struct call *call, struct slice text, struct ctx_metrics **m, struct err *e)
{
	CLEANUP_FREE struct metric_list *list = malloc(sizeof(*list));

	if (!list)
		return err_set(e, ENOMEM, "no memory for the names of counts");
	if (metrics_parse(text, call->fs->be->pmu, list, e) < 0)
		return -e->no;
	return ctx_metrics_new(call->ctx, list, m, e);
}

static int metrics_rows_store(struct call *call, struct slice text, struct err *e)
{
	static const struct caller_need need = {NEED_SYSTEM, GRANT_NO_CPU};
	struct rights rights;
	struct ctx_metrics *m;

	if (metrics_rows_parse(call, text, &m, e) < 0)
		return -e->no;
	if (caller_await_rights(call, need, &rights, e) < 0) {
		ctx_metrics_unref(m);
		return -e->no;
	}
	return metrics_rows_set_as(call, &rights, m, e);
}

/* Bytes: of the daemon's own counts, and of one that a context exports, which has two samples with
 * their families and labels. */
enum { METRICS_TEXT_SIZE = 4 << 20, METRICS_COUNT_SIZE = 2048 };

static size_t metrics_rows_size(const struct call *call)
{
	return METRICS_TEXT_SIZE + call->fs->metrics->exported * (size_t)METRICS_COUNT_SIZE;
}

const struct row rows_metrics[] = {
	{DIR_ROW(DIR_ROOT, DIR_METRICS, "metrics", 0555)},
	{FILE_ROW(DIR_METRICS, "node.prom", 0444), .flags = ROW_FRESH | ROW_WAITS,
		.size = metrics_rows_size, .read = metrics_rows_read_prom},
	{FILE_ROW(DIR_METRICS, "node.lp", 0444), .flags = ROW_FRESH | ROW_WAITS,
		.size = metrics_rows_size, .read = metrics_rows_read_lp},
	{FILE_ROW(DIR_CTX, "metrics", 0600), .flags = ROW_LINES | ROW_WAITS,
		.length = LINES_OF_MACHINE, .read = metrics_rows_read_context,
		.store = metrics_rows_store},
	ROW_END,
};
