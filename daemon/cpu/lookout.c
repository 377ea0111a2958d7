// SPDX-License-Identifier: MIT
#include "daemon/cpu/lookout.h"

#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/core/random.h"

enum {
	PATIENCE = 2, /* ticks; one that does not come is not waited for any longer */
	REDRAW = 64,  /* looks */
	BELIEVED = 3, /* ticks; an older sample says nothing about who is running */
};

int lookout_open(
	struct lookout *l, unsigned cpu, uint64_t tick_ns, bool events, int bell, struct err *e)
{
	int rc = witness_new(cpu, tick_ns, events, &l->witness, e);

	if (rc < 0)
		return rc;
	l->where = (pfm_smpl_where_t){0};
	l->fds[0] = (struct pollfd){.fd = bell, .events = POLLIN};
	l->fds[1] = (struct pollfd){.fd = witness_fd(l->witness), .events = POLLIN};
	l->phase = LOOKOUT_IDLE;
	l->random = random_seed(cpu + 1);
	return 0;
}

void lookout_close(struct lookout *l)
{
	witness_free(l->witness);
	l->witness = NULL;
}

/*
 * A tick, and up to a sixteenth more: a program in step with the ticks would always be found at the
 * same places, whatever its sampling period. An odd period drifts through all phases by itself;
 * another one each time would cost more than the rest of a look.
 */
static uint64_t unsteady(struct lookout *l)
{
	uint64_t part = l->tick_ns / 16 | 1;

	if (l->drawn < l->tick_ns || l->drawn > l->tick_ns + part || l->uses++ % REDRAW == 0)
		l->drawn = l->tick_ns +
			   random_draw(&l->random, (1ULL << (63 - __builtin_clzll(part))) - 1);
	return l->drawn;
}

/* A switch of sets comes on time, whatever ticks; still it wants to know who was running. */
void lookout_set(struct lookout *l, const struct context *ctx, struct wake wake, uint64_t now)
{
	uint64_t tick_ns = ctx->limits.tick_ns;
	uint64_t left = wake.at > now ? wake.at - now : 0;
	uint64_t near = wake.switches ? PATIENCE * tick_ns : tick_ns;
	bool exact = wake.switches || wake.at == 1;

	l->tick_ns = tick_ns;
	l->next = exact ? LOOKOUT_TIMER : LOOKOUT_TICK;
	l->then = nsec_timespec(exact ? near : PATIENCE * tick_ns);
	if (!wake.at) {
		l->phase = LOOKOUT_IDLE;
	} else if (left > near) {
		l->phase = LOOKOUT_FAR;
		l->left = nsec_timespec(left - near);
	} else {
		l->phase = l->next;
		l->left = exact ? nsec_timespec(left) : l->then;
	}
	witness_tick(l->witness, l->phase < LOOKOUT_TICK ? 0 : unsteady(l));
	witness_events(l->witness, ctx->state == CTX_RUNNING || ctx->state == CTX_MASKED);
}

void lookout_retry(struct lookout *l, uint64_t ns)
{
	l->phase = LOOKOUT_TIMER;
	l->left = nsec_timespec(ns);
}

/* The kernel leaves in @left what is left, should there be nothing to do yet. */
static long sleep_once(struct lookout *l)
{
	bool listens = l->phase == LOOKOUT_FAR || l->phase == LOOKOUT_TICK;

	l->fds[0].revents = l->fds[1].revents = 0;
	return raw_syscall6(SYS_ppoll, (long)l->fds, listens ? 2 : 1,
		(long)(l->phase == LOOKOUT_IDLE ? NULL : &l->left), 0, 0, 0);
}

static void come_near(struct lookout *l)
{
	l->phase = l->next;
	l->left = l->then;
	witness_tick(l->witness, unsteady(l));
}

static enum lookout_woken answer_bell(struct lookout *l)
{
	uint64_t rings;

	raw_syscall4(SYS_read, l->fds[0].fd, (long)&rings, sizeof(rings), 0);
	return WOKEN_RUNG;
}

enum lookout_woken lookout_sleep(struct lookout *l)
{
	for (;;) {
		long n = sleep_once(l);

		if (n < 0)
			return WOKEN_RUNG;
		if (l->fds[0].revents)
			return answer_bell(l);
		if (l->fds[1].revents & (POLLERR | POLLHUP))
			l->fds[1].fd = -1; /* the CPU is gone: time passes all the same */
		else if (l->phase != LOOKOUT_FAR)
			return WOKEN_LOOK;
		else if (n > 0)
			return WOKEN_EVENTS;
		else
			come_near(l);
	}
}

/* What others than its thread's process do is nothing to a thread's context. */
static void hand_over(void *arg, const pfm_smpl_event_t *event)
{
	struct context *ctx = arg;

	if (!ctx->tid || event->pid == (uint32_t)ctx->pid)
		ctx_event(ctx, event);
}

/* It was certainly its thread that ran; where, only a sample of that thread tells. */
static void of_thread(const struct context *ctx, pfm_smpl_where_t *where)
{
	if (where->known && where->tid == (uint32_t)ctx->tid)
		return;
	*where = (pfm_smpl_where_t){
		.pid = (uint32_t)ctx->pid,
		.tid = (uint32_t)ctx->tid,
		.cpu = (uint16_t)ctx->cpu,
		.known = 1,
	};
}

void lookout_read(struct lookout *l, struct context *ctx, uint64_t now, pfm_smpl_where_t *where)
{
	bool wanted = ctx->state == CTX_RUNNING && ctx->smpl.fmt->fmt_event;

	if (ctx->state != CTX_MASKED)
		witness_read(l->witness, &l->where, wanted ? hand_over : NULL, ctx);
	*where = (pfm_smpl_where_t){.cpu = (uint16_t)ctx->cpu};
	if (now <= witness_time(l->witness) + BELIEVED * l->tick_ns)
		*where = l->where;
	if (ctx->tid)
		of_thread(ctx, where);
	if (!ctx->kernel_ip && where->ip >> 63)
		where->ip = 0;
}
