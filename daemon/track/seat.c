// SPDX-License-Identifier: MIT
/* Having a context: who has it, and what whoever has it owes to others. */
#include <sched.h>

#include "base/nsec.h"
#include "daemon/track/carrier_i.h"

#define PATIENCE_NS 10000000 /* for another carrier; it needs microseconds */

enum { SPINS = 200 }; /* before it lets others run that are as urgent */

bool seat_make_busy(struct carrier *c, struct seat *s, unsigned word)
{
	return seat_state(word) == SEAT_PARKED &&
	       atomic_compare_exchange_strong(&s->word, &word, seat_word(SEAT_BUSY, c->cpu));
}

void seat_park(struct carrier *c, struct rider *r)
{
	atomic_store(&seat_of(c, r->slot)->word, seat_word(SEAT_PARKED, c->cpu));
}

bool seat_wait(struct patience *p)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);

	if (!p->until)
		p->until = now + PATIENCE_NS;
	if (now > p->until)
		return false;
	if (++p->spins > SPINS)
		sched_yield();
	else
		pfm_live_pause();
	return true;
}

struct rider *seat_occupy(struct carrier *c, unsigned slot)
{
	const struct sched_slot *s = sched_slot(c->tr->sched, slot);
	struct seat *seat = seat_of(c, slot);
	struct patience patience = {0};
	bool prodded = false;

	for (;;) {
		unsigned word = atomic_load(&seat->word);

		if (seat_state(word) == SEAT_EMPTY || load_word(&s->cpu) != c->cpu)
			return NULL;
		if (seat_make_busy(c, seat, word))
			return seat->rider;
		if (!patience.spins)
			atomic_fetch_add(&c->tr->stats->waits, 1);
		if (!prodded && patience.spins >= SPINS && seat_state(word) == SEAT_BOARDED) {
			/* It was kept there, and has come here before its turn. */
			carrier_prod_cpu(c, seat_cpu(word));
			prodded = true;
		}
		if (!seat_wait(&patience)) {
			atomic_fetch_or(&seat->missed, MISSED_LATE);
			return NULL;
		}
	}
}

/* One whose CPU was offline while it slept has a dead bell, of which it does not hear. */
static void prod_deaf(struct track *tr)
{
	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct carrier *there = atomic_load(&tr->carriers[cpu]);

		if (there && load_word(&there->now->deaf))
			carrier_prod(there);
	}
}

void seat_follow_thread(struct carrier *c, struct rider *r)
{
	struct sched_slot *s = sched_slot(c->tr->sched, r->slot);
	struct context *ctx = &r->tenant->ctx;
	unsigned missed = atomic_exchange(&seat_of(c, r->slot)->missed, 0);

	ctx->tid = (int)load_word(&s->tid);
	if (missed & MISSED_LATE)
		atomic_fetch_add(&c->tr->stats->late, 1);
	if (__atomic_exchange_n(&s->missed, 0, __ATOMIC_RELAXED)) {
		atomic_fetch_add(&c->tr->stats->untold, 1);
		prod_deaf(c->tr);
		if (ctx->state == CTX_RUNNING)
			ctx_lose(ctx, LOST_UNTOLD);
	}
	if (ctx->state == CTX_RUNNING && (missed & MISSED_LATE))
		ctx_lose(ctx, LOST_BEHIND);
	if (__atomic_exchange_n(&s->stray, 0, __ATOMIC_RELAXED) && ctx->state == CTX_RUNNING)
		ctx_lose(ctx, LOST_AWAY);
}

void seat_settled(struct carrier *c, struct rider *r)
{
	struct sched_slot *s = sched_slot(c->tr->sched, r->slot);
	struct context *ctx = &r->tenant->ctx;

	__atomic_store_n(&s->wanted, ctx->state == CTX_RUNNING, __ATOMIC_RELEASE);
	if (ctx->block != r->held) {
		r->held = ctx->block;
		(r->held ? tracer_hold : tracer_resume)(c->tr->tracer, ctx->tid);
	}
	tenant_settled(r->tenant, c->tr->box);
}

void seat_tell_of_death(struct carrier *c, unsigned slot)
{
	struct sched_slot *s = sched_slot(c->tr->sched, slot);
	struct seat *seat = seat_of(c, slot);

	if (slot && load_word(&s->dead) && !atomic_exchange(&seat->dying, true))
		news_send(c->tr->box, &seat->died.news);
}
