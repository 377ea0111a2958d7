// SPDX-License-Identifier: MIT
/* Coming and going: contexts in the registers, and out of them. */
#include <errno.h>

#include "base/nsec.h"
#include "daemon/track/carrier_i.h"

static void note_left(struct carrier *c, const struct context *ctx)
{
	struct wake wake = ctx_wake(ctx);
	uint64_t now = nsec_now(CLOCK_MONOTONIC), left = wake.at > now ? wake.at - now : 0;

	c->nfds = FD_BELL + 1;
	c->left = nsec_timespec(left);
	if (c->x.lookout) {
		lookout_set(&c->lookout, ctx, wake, now);
		c->nfds += c->lookout.phase == LOOKOUT_FAR || c->lookout.phase == LOOKOUT_TICK;
		c->left = c->lookout.left;
	}
	if (!wake.at)
		c->left.tv_sec = INT32_MAX;
}

/* What its thread had run before the time that counts; what it has since, before the carrier could
 * come, does count, but for before it was started. */
static uint64_t ran_before(const struct sched_slot *s, const struct rider *r)
{
	uint64_t from = r->ran > s->had ? r->ran : s->had;

	return from < s->ran ? from : s->ran;
}

/* The context of slot @slot comes into the registers. False: it is not to be had. */
static bool board_slot(struct carrier *c, unsigned slot)
{
	struct sched_slot *s = sched_slot(c->tr->sched, slot);
	struct context *ctx;
	struct rider *r;

	if (!slot || !load_word(&s->wanted) || load_word(&s->dead))
		return false;
	r = seat_occupy(c, slot);
	if (!r)
		return false;
	ctx = &r->tenant->ctx;
	seat_follow_thread(c, r);
	if (!cpus_has(&r->wanted, c->cpu)) { /* this carrier is here for others */
		seat_park(c, r);
		return false;
	}
	carrier_open_witness(c, ctx, &c->err); /* without, samples do not say who was running */
	if (ctx->state == CTX_RUNNING && !ctx->block && carrier_hold(c, ctx, &c->err) < 0)
		ctx_lose(ctx, c->err.no == ENXIO ? LOST_OFFLINE : LOST_STOLEN);
	if (ctx->state != CTX_RUNNING) {
		seat_park(c, r);
		return false;
	}
	carrier_put_in(c, ctx);
	atomic_fetch_add_explicit(&c->tr->stats->ins, 1, memory_order_relaxed);
	if (ctx_parked(ctx)) { /* that has failed */
		seat_settled(c, r);
		seat_park(c, r);
		return false;
	}
	c->boarded = r;
	c->late = load_word(&c->now->late);
	c->ran = ran_before(s, r);
	__atomic_store_n(&c->now->turn, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->now->aboard, slot, __ATOMIC_RELAXED);
	atomic_store(&seat_of(c, slot)->word, seat_word(SEAT_BOARDED, c->cpu));
	note_left(c, ctx);
	return true;
}

/*
 * The thread that runs here, if it is one of ours, gets its context. But while this carrier has
 * run, that thread has used up a little of its share; of many who are ready, the kernel would let
 * another go first, for which the carrier has to come again, and so on, and none would get to
 * run. So one that has been given the registers keeps them until it has had its turn, unless the
 * kernel insists on the same other one, or it takes too long.
 */
void carrier_board(struct carrier *c)
{
	unsigned here = sched_here(c->tr->sched, c->cpu), kept = c->kept;

	c->kept = 0;
	if (!c->open)
		return;
	if (kept && kept != here && here && here != c->refused &&
		c->refusals < 2 * sched_followed(c->tr->sched) && board_slot(c, kept)) {
		c->refused = here;
		c->refusals++;
		return;
	}
	c->refused = 0;
	board_slot(c, here);
}

void carrier_put_down(struct carrier *c)
{
	struct rider *r = c->boarded;
	struct context *ctx = &r->tenant->ctx;

	c->boarded = NULL;
	if (load_word(&c->now->turn))
		c->refusals = 0;
	else
		c->kept = r->slot;
	__atomic_store_n(&c->now->aboard, 0, __ATOMIC_RELAXED);
	r->ran = sched_slot(c->tr->sched, r->slot)->ran;
	c->out.left_at = ctx->since + (r->ran > c->ran ? r->ran - c->ran : 0);
	if (c->x.lookout)
		witness_pause(c->lookout.witness); /* who comes now is not to be disturbed by it */
	/* What is lost is the active set's, and what is lost cannot overflow. */
	if (load_word(&c->now->late) != c->late)
		atomic_fetch_or(&seat_of(c, r->slot)->missed, MISSED_LATE);
	seat_follow_thread(c, r);
	/* Others may have run there while this thread was on its way to another CPU. */
	if (ctx->state == CTX_RUNNING && carrier_was_offline(c))
		ctx_lose(ctx, LOST_OFFLINE);
	carrier_take_out(c, ctx);
	atomic_fetch_add_explicit(&c->tr->stats->outs, 1, memory_order_relaxed);
	seat_settled(c, r);
	seat_tell_of_death(c, r->slot);
	seat_park(c, r);
}
