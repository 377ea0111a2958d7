// SPDX-License-Identifier: MIT
#include "daemon/percpu/sample_tick.h"

#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/core/random.h"
#include "daemon/percpu/where.h"

enum {
	/* Ticks to wait for one that may not come. */
	TICKS_WAIT = 2,
	/* Uses of a period before the next one is drawn. */
	PERIOD_USES = 64,
	/* Age in ticks up to which a sample tells which thread is running. */
	SAMPLE_AGE_MAX = 3,
};

void sample_tick_close(struct sample_tick *st)
{
	ip_sampler_free(st->ip_sampler);
	st->ip_sampler = NULL;
}

int sample_tick_open(struct sample_tick *st, unsigned cpu, const struct ip_sampler_conf *conf,
	int wakeup_fd, struct err *e)
{
	struct ip_sampler *sampler;
	int rc = ip_sampler_new(cpu, conf, &sampler, e);

	if (rc < 0)
		return rc;
	sample_tick_close(st);
	st->ip_sampler = sampler;
	st->where = (pfm_smpl_where_t){0};
	st->fds[0] = (struct pollfd){.fd = wakeup_fd, .events = POLLIN};
	st->fds[1] = (struct pollfd){.fd = ip_sampler_fd(st->ip_sampler), .events = POLLIN};
	st->phase = SAMPLE_TICK_IDLE;
	st->random = random_seed(cpu + 1);
	return 0;
}

/*
 * Returns a period of up to a sixteenth more than a tick: a program in step with the ticks would
 * otherwise be sampled at the same places, whatever its sampling period. The period is odd, so it
 * drifts through all phases, and is kept for a while: to change it costs more than the rest of a
 * wake-up.
 */
static uint64_t sample_tick_draw_period(struct sample_tick *st)
{
	uint64_t part = st->tick_ns / 16 | 1;

	if (st->period_ns < st->tick_ns || st->period_ns > st->tick_ns + part ||
		st->uses++ % PERIOD_USES == 0)
		st->period_ns = st->tick_ns + random_draw(&st->random,
						      (1ULL << (63 - __builtin_clzll(part))) - 1);
	return st->period_ns;
}

/* A switch of sets happens at its time and not at a tick. It needs a recent sample, too, so the
 * ip_sampler ticks before it. */
void sample_tick_arm(
	struct sample_tick *st, const struct context *ctx, struct wake wake, uint64_t now)
{
	uint64_t tick_ns = ctx->limits.tick_ns;
	uint64_t left = wake.at > now ? wake.at - now : 0;
	uint64_t near = wake.switches ? TICKS_WAIT * tick_ns : tick_ns;
	bool exact = wake.switches || wake.at == 1;

	st->tick_ns = tick_ns;
	st->next_phase = exact ? SAMPLE_TICK_TIMER : SAMPLE_TICK_NEXT;
	st->next_timeout = nsec_timespec(exact ? near : TICKS_WAIT * tick_ns);
	if (!wake.at) {
		st->phase = SAMPLE_TICK_IDLE;
	} else if (left > near) {
		st->phase = SAMPLE_TICK_FAR;
		st->timeout = nsec_timespec(left - near);
	} else {
		st->phase = st->next_phase;
		st->timeout = exact ? nsec_timespec(left) : st->next_timeout;
	}
	ip_sampler_set_period(
		st->ip_sampler, st->phase < SAMPLE_TICK_NEXT ? 0 : sample_tick_draw_period(st));
	ip_sampler_enable_events(st->ip_sampler,
		ctx->smpl.fmt && (ctx->state == CTX_RUNNING || ctx->state == CTX_MASKED));
}

void sample_tick_retry(struct sample_tick *st, uint64_t ns)
{
	st->phase = SAMPLE_TICK_TIMER;
	st->timeout = nsec_timespec(ns);
}

/* The kernel subtracts the time slept from timeout. */
static long sample_tick_poll(struct sample_tick *st)
{
	bool ticks = st->phase == SAMPLE_TICK_FAR || st->phase == SAMPLE_TICK_NEXT;

	st->fds[0].revents = st->fds[1].revents = 0;
	return raw_syscall6(SYS_ppoll, (long)st->fds, ticks ? 2 : 1,
		(long)(st->phase == SAMPLE_TICK_IDLE ? NULL : &st->timeout), 0, 0, 0);
}

static void sample_tick_end_far(struct sample_tick *st)
{
	st->phase = st->next_phase;
	st->timeout = st->next_timeout;
	ip_sampler_set_period(st->ip_sampler, sample_tick_draw_period(st));
}

static void sample_tick_clear_wakeup(struct sample_tick *st)
{
	uint64_t n;

	raw_syscall4(SYS_read, st->fds[0].fd, (long)&n, sizeof(n), 0);
}

enum sample_tick_wake sample_tick_sleep(struct sample_tick *st)
{
	for (;;) {
		long n = sample_tick_poll(st);

		if (n < 0)
			return WOKEN_KICKED;
		if (st->fds[0].revents) {
			sample_tick_clear_wakeup(st);
			return WOKEN_KICKED;
		}
		if (st->fds[1].revents & (POLLERR | POLLHUP))
			st->fds[1].fd = -1; /* The CPU is offline: only timeouts are left. */
		else if (st->phase != SAMPLE_TICK_FAR)
			return WOKEN_TICK;
		else if (n > 0)
			return WOKEN_EVENTS;
		else
			sample_tick_end_far(st);
	}
}

/* A thread's context gets the events of that thread's process only. */
static void sample_tick_pass_event(void *arg, const pfm_smpl_event_t *event)
{
	struct context *ctx = arg;

	if (!ctx->target.tid || event->pid == (uint32_t)ctx->target.pid)
		ctx_event(ctx, event);
}

void sample_tick_read(
	struct sample_tick *st, struct context *ctx, uint64_t now, pfm_smpl_where_t *where)
{
	bool wanted = ctx->state == CTX_RUNNING && ctx->smpl.fmt && ctx->smpl.fmt->fmt_event;

	if (ctx->state != CTX_MASKED)
		ip_sampler_read(
			st->ip_sampler, &st->where, wanted ? sample_tick_pass_event : NULL, ctx);
	*where = (pfm_smpl_where_t){.cpu = (uint16_t)ctx->target.cpu};
	if (now <= ip_sampler_time(st->ip_sampler) + SAMPLE_AGE_MAX * st->tick_ns)
		*where = st->where;
	if (!ctx->samples.kernel_ip)
		where_hide_kernel(where);
	where->precise = PFM_SMPL_POLL;
	if (ctx->target.tid)
		ctx_set_where(ctx, where);
}
