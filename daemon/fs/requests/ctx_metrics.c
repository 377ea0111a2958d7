// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/ctx_metrics.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/fs/requests/command_request.h"

static size_t ctx_metrics_bytes(unsigned n)
{
	return sizeof(struct ctx_metrics) +
	       n * (sizeof(struct ctx_metric) + sizeof(struct cmd_count));
}

static int ctx_metrics_alloc(
	struct fs_context *ctx, unsigned n, struct ctx_metrics **out, struct err *e)
{
	struct ctx_metrics *m = calloc(1, ctx_metrics_bytes(n));

	if (!m)
		return err_set(e, ENOMEM, "no memory for the names of counts");
	m->charge.quota = ctx->id.quota;
	if (charge_set(&m->charge, ctx_metrics_bytes(n) + CHARGE_PIECE, e) < 0) {
		free(m);
		return -e->no;
	}
	context_ref(ctx);
	m->ctx = ctx;
	m->refs = 1;
	m->n = n;
	m->counts = (struct cmd_count *)&m->metric[n];
	list_init(&m->link);
	for (unsigned i = 0; i < n; i++) {
		m->metric[i].of = m;
		m->metric[i].count = &m->counts[i];
		list_init(&m->metric[i].member);
	}
	*out = m;
	return 0;
}

static void ctx_metrics_name(struct ctx_metrics *m, unsigned i, const struct metric *metric)
{
	m->metric[i].metric = *metric;
	m->counts[i].set = metric->set;
	m->counts[i].num = metric->num;
}

int ctx_metrics_new(struct fs_context *ctx, const struct metric_list *list,
	struct ctx_metrics **out, struct err *e)
{
	if (ctx_metrics_alloc(ctx, list->n, out, e) < 0)
		return -e->no;
	(*out)->threads = list->threads;
	for (unsigned i = 0; i < list->n; i++)
		ctx_metrics_name(*out, i, &list->metric[i]);
	return 0;
}

int ctx_metrics_copy(struct fs_context *ctx, struct ctx_metrics **out, struct err *e)
{
	const struct ctx_metrics *from = ctx->metrics;
	unsigned n = from ? from->n : 0;

	if (ctx_metrics_alloc(ctx, n, out, e) < 0)
		return -e->no;
	for (unsigned i = 0; i < n; i++)
		ctx_metrics_name(*out, i, &from->metric[i].metric);
	return 0;
}

void ctx_metrics_unref(struct ctx_metrics *m)
{
	if (!m || --m->refs)
		return;
	charge_clear(&m->charge);
	context_unref(m->ctx);
	free(m);
}

struct job ctx_metrics_job(struct ctx_metrics *m)
{
	engine_target(&m->ctx->ec, &m->cpu, &m->tid);
	return (struct job){
		.ec = &m->ctx->ec,
		.cmd =
			{
				.verb = CMD_COUNTS,
				.limits = command_limits(fs_of(m->ctx)),
				.counts = {.count = m->counts, .n = m->n},
			},
	};
}

void ctx_metrics_finish(struct ctx_metrics *m, const struct job *job)
{
	for (unsigned i = 0; job->rc < 0 && i < m->n; i++)
		m->counts[i].state = COUNT_ABSENT;
	m->gaps = job->rc < 0 ? 0 : job->cmd.counts.gaps;
}

static void ctx_metrics_done(struct job *job)
{
	struct ctx_metrics *m = container_of(job, struct ctx_metrics, job);

	ctx_metrics_finish(m, job);
	m->querying = false;
	m->queried(m);
	ctx_metrics_unref(m);
}

bool ctx_metrics_wanted(const struct ctx_metrics *m)
{
	int cpu, tid;

	engine_target(&m->ctx->ec, &cpu, &tid);
	return !m->ctx->closed && !(atomic_load(&m->ctx->flags) & CTX_GAPS) &&
	       (cpu >= 0 || (tid && m->threads));
}

void ctx_metrics_query(struct ctx_metrics *m)
{
	m->refs++;
	m->querying = true;
	m->job = ctx_metrics_job(m);
	m->job.done = ctx_metrics_done;
	m->job.session_done = true;
	if (m->ctx->closed) {
		m->job.rc = -ENODEV;
		ctx_metrics_done(&m->job);
		return;
	}
	engine_submit(m->ctx->objs->eng, &m->job);
}
