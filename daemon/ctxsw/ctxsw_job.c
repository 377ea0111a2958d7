// SPDX-License-Identifier: MIT
/* Commands for contexts that are loaded on threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/track/carrier_i.h"

/* The sets that a command writes to, as they were. */
struct before {
	struct evtset *set;
	uint64_t pmc[PMU_MAX_PMCS];
	struct pmd_state pmd[PMU_MAX_PMDS];
};

static struct before *remember(struct context *ctx, const struct command *cmd, unsigned *n)
{
	struct before *old = calloc(cmd->nregs + 1, sizeof(*old));

	*n = 0;
	for (unsigned i = 0; old && i < cmd->nregs; i++) {
		struct evtset *set = cmd->regs[i].pmd ? NULL : ctx_set(ctx, cmd->regs[i].set);
		unsigned k = 0;

		while (k < *n && old[k].set != set)
			k++;
		if (!set || k < *n)
			continue;
		old[k].set = set;
		memcpy(old[k].pmc, set->pmc, ctx->pmu->npmcs * sizeof(old->pmc[0]));
		memcpy(old[k].pmd, set->pmd, ctx->pmu->npmds * sizeof(old->pmd[0]));
		++*n;
	}
	return old;
}

static void put_back(struct context *ctx, const struct before *old, unsigned n)
{
	for (unsigned k = 0; k < n; k++) {
		struct evtset *set = old[k].set;

		memcpy(set->pmc, old[k].pmc, ctx->pmu->npmcs * sizeof(old->pmc[0]));
		memcpy(set->pmd, old[k].pmd, ctx->pmu->npmds * sizeof(old->pmd[0]));
		set->gauged = false;
	}
}

/* If what the PMCs ask for turns out not to be had, nothing has been written. */
static int write_and_try(struct carrier *c, struct context *ctx, struct command *cmd, struct err *e)
{
	unsigned n;
	CLEANUP_FREE struct before *old = remember(ctx, cmd, &n);
	struct err tried;
	int rc;

	if (!old)
		return err_set(e, ENOMEM, "no memory");
	rc = exec_command(&c->x, ctx, cmd, e);
	if (!c->open || carrier_prepare(c, ctx, &tried) == 0)
		return rc;
	put_back(ctx, old, n);
	if (cmd->nregs)
		cmd->regs[0].fault = FAULT_REFUSED;
	*e = tried;
	return -e->no;
}

static int execute(struct carrier *c, struct context *ctx, struct command *cmd, struct err *e)
{
	return cmd->verb == CMD_WRITE ? write_and_try(c, ctx, cmd, e)
				      : exec_command(&c->x, ctx, cmd, e);
}

/* It begins to count while its thread runs where no carrier is, though it is wanted there. */
static bool begins_astray(const struct carrier *c, const struct rider *r)
{
	const struct sched_slot *s = sched_slot(c->tr->sched, r->slot);
	unsigned cpu = load_word(&s->cpu);

	return load_word(&s->running) && cpus_has(&r->wanted, cpu) &&
	       !load_word(&sched_cpu(c->tr->sched, cpu)->carrier);
}

static void finish(struct carrier *c, struct job *job)
{
	if (job->bounced || job->here)
		news_send(c->tr->box, &job->news);
	else
		job->done(job);
}

/* The job is not in flight any more when another carrier can have the context: the one that unloads
 * it must be the last. */
static void leave_seat(struct carrier *c, struct job *job, struct rider *r, bool unloaded)
{
	if (!unloaded) {
		tenant_leave(job->tenant, c->tr->box, false);
		seat_park(c, r);
		return;
	}
	atomic_store(&seat_of(c, r->slot)->word, seat_word(SEAT_EMPTY, c->cpu));
	tenant_leave(job->tenant, c->tr->box, true);
}

/* Its context is this carrier's for now, and parked. */
static void run_job(struct carrier *c, struct job *job, struct rider *r)
{
	struct context *ctx = &job->tenant->ctx;
	bool counted = ctx->state == CTX_RUNNING;
	unsigned slot = r->slot;

	seat_follow_thread(c, r);
	job->rc = job_begin(job);
	if (job->rc == 0)
		job->rc = execute(c, ctx, &job->cmd, &job->err);
	seat_settled(c, r);
	counted = counted || ctx->state != CTX_RUNNING;
	if (!counted)
		r->ran = RAN_UNKNOWN;
	if (!counted && begins_astray(c, r))
		ctx_lose(ctx, LOST_AWAY);
	seat_tell_of_death(c, slot);
	leave_seat(c, job, r, ctx->state == CTX_UNLOADED);
	if (!counted)
		/* Where it runs, if it does, the carrier must come and see that it is to count. */
		carrier_prod_cpu(c, load_word(&sched_slot(c->tr->sched, slot)->cpu));
	finish(c, job);
}

void carrier_deliver(struct carrier *c, struct job *job)
{
	struct rider *r = job->tenant->rider;
	struct seat *seat = seat_of(c, r->slot);
	struct patience patience = {0};
	unsigned word;

	do {
		word = atomic_load(&seat->word);
		if (seat_make_busy(c, seat, word)) {
			run_job(c, job, r);
			return;
		}
	} while (seat_state(word) == SEAT_PARKED ||
		 (seat_state(word) == SEAT_BUSY && seat_wait(&patience)));
	if (seat_state(word) == SEAT_EMPTY) {
		/* Unloaded since: the session thread's, and in flight until it is there. */
		job->bounced = true;
		finish(c, job);
		return;
	}
	/* Whoever is busy for so long may need what a thread has that cannot run here. */
	carrier_mail(atomic_load(&c->tr->carriers[seat_cpu(word)]), job);
}
