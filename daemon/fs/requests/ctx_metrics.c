// SPDX-License-Identifier: MIT
#include "daemon/fs/requests/ctx_metrics.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/fs/requests/command_request.h"

static size_t ctx_metrics_bytes(unsigned n)
{
	return sizeof(struct ctx_metrics) + n * sizeof(struct ctx_metric);
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
	list_init(&m->link);
	for (unsigned i = 0; i < n; i++) {
		m->metric[i].of = m;
		list_init(&m->metric[i].member);
	}
	*out = m;
	return 0;
}

int ctx_metrics_new(struct fs_context *ctx, const struct metric_list *list,
	struct ctx_metrics **out, struct err *e)
{
	if (ctx_metrics_alloc(ctx, list->n, out, e) < 0)
		return -e->no;
	(*out)->threads = list->threads;
	for (unsigned i = 0; i < list->n; i++)
		(*out)->metric[i].metric = list->metric[i];
	return 0;
}

int ctx_metrics_copy(struct fs_context *ctx, struct ctx_metrics **out, struct err *e)
{
	const struct ctx_metrics *from = ctx->metrics;
	unsigned n = from ? from->n : 0;

	if (ctx_metrics_alloc(ctx, n, out, e) < 0)
		return -e->no;
	for (unsigned i = 0; i < n; i++)
		(*out)->metric[i].metric = from->metric[i].metric;
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

static const struct pfm_live_pmd *ctx_metrics_find(const struct ctx_metrics *m, uint16_t num)
{
	for (uint32_t i = 0; i < m->page.npmds; i++)
		if (m->page.pmd[i].num == num)
			return &m->page.pmd[i];
	return NULL;
}

/* Without an answer from its CPU, a count is lost. */
static void ctx_metrics_take_one(struct ctx_metrics *m, struct ctx_metric *c)
{
	const struct pfm_live_pmd *p = m->job.rc == 0 ? ctx_metrics_find(m, c->metric.num) : NULL;

	if (m->job.rc == -EIO || m->job.rc == -ENXIO || (p && p->flags & PFM_LIVE_LOST)) {
		c->state = METRIC_LOST;
	} else if (p) {
		c->state = METRIC_COUNTED;
		c->value = p->value;
	}
}

static void ctx_metrics_take(struct ctx_metrics *m)
{
	if (m->job.rc == 0)
		m->gaps = m->job.cmd.live_page.gaps;
	for (unsigned i = 0; i < m->n; i++) {
		if (m->metric[i].metric.set != m->job.cmd.evtset.id)
			continue;
		ctx_metrics_take_one(m, &m->metric[i]);
		m->read |= 1ULL << i;
	}
}

static void ctx_metrics_step(struct ctx_metrics *m);

static void ctx_metrics_done(struct job *job)
{
	struct ctx_metrics *m = container_of(job, struct ctx_metrics, job);

	m->waiting = false;
	ctx_metrics_take(m);
	if (!m->stepping)
		ctx_metrics_step(m);
}

static void ctx_metrics_submit(struct ctx_metrics *m, uint16_t set)
{
	m->job = (struct job){
		.ec = &m->ctx->ec,
		.cmd =
			{
				.verb = CMD_LIVE_READ,
				.limits = command_limits(fs_of(m->ctx)),
				.evtset.id = set,
				.live_page.shown = &m->page,
			},
		.done = ctx_metrics_done,
		.session_done = true,
	};
	m->waiting = true;
	engine_submit(m->ctx->objs->eng, &m->job);
}

/* Answers may come at once, or later: then ctx_metrics_done() goes on. */
static void ctx_metrics_step(struct ctx_metrics *m)
{
	m->stepping = true;
	for (unsigned i = 0; i < m->n && !m->waiting && !m->ctx->closed; i++)
		if (!(m->read & 1ULL << i))
			ctx_metrics_submit(m, m->metric[i].metric.set);
	m->stepping = false;
	if (m->waiting)
		return;
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
	m->read = 0;
	for (unsigned i = 0; i < m->n; i++)
		m->metric[i].state = METRIC_ABSENT;
	engine_target(&m->ctx->ec, &m->cpu, &m->tid);
	ctx_metrics_step(m);
}
