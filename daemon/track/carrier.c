// SPDX-License-Identifier: MIT
/*
 * What a carrier executes in user mode between the register access that starts the counters and
 * the one that stops them is counted as its thread's: ride(), which does next to nothing. Since
 * that is always the same, it is gauged once for what the PMCs hold, and the core subtracts it.
 */
#include "daemon/track/carrier.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/nsec.h"
#include "base/raw_syscall.h"
#include "daemon/cpu/thread.h"

#define PATIENCE_NS 10000000 /* for another carrier; it needs microseconds */

enum {
	SPINS = 200,     /* before it lets others run that are as urgent */
	GAUGINGS = 8,    /* of which the least counts */
	OFFLINE_MS = 20, /* how often it looks whether its CPU is back */
	ORDER_RETIRE = 1,
};

enum { FD_SCHED, FD_BELL, FD_WITNESS, NFDS };

struct carrier {
	pthread_t thread;
	unsigned cpu;
	struct track *tr;
	struct queue mail, tries;
	atomic_uint orders;
	struct track_news gone;

	/* The thread's own. */
	struct pollfd fds[NFDS];
	unsigned nfds;
	bool offline;      /* its CPU was when it was last looked at */
	uint64_t retry_at; /* when to look again */
	bool open;         /* it has all that it needs of its CPU: */
	struct executor x;
	struct context scratch; /* whose hold is the CPU's */
	struct sched_cpu *now;  /* who runs here */
	struct lookout lookout; /* for those that sample */
	struct rider *boarded;
	unsigned kept;     /* slot of the one that was boarded last, and has yet to run; or 0 */
	unsigned refused;  /* slot of the thread that came while another was kept */
	unsigned refusals; /* since one has run that was boarded */
	unsigned late;     /* ->now->late, when it was boarded */
	uint64_t ran;      /* its slot's ->ran then, as far as it counts */
	bool armed;        /* a plan is left that starts its counters */
	struct timespec left;
	struct command in, out;
	struct err err;
};

static void ring(struct carrier *c)
{
	eventfd_write(c->fds[FD_BELL].fd, 1);
}

/* What is executed while the counters of @ctx count. @timeout becomes what is left of it. */
static __attribute__((noinline)) long ride(
	struct carrier *c, struct context *ctx, struct timespec *timeout)
{
	long n;

	if (c->armed)
		exec_last(&c->x, ctx, &c->in, &c->err);
	n = raw_syscall6(SYS_ppoll, (long)c->fds, c->nfds, (long)timeout, 0, 0, 0);
	exec_quiet(&c->x, ctx);
	return n;
}

static void put_in(struct carrier *c, struct context *ctx)
{
	c->x.lookout = ctx->smpl.fmt && c->lookout.witness ? &c->lookout : NULL;
	ctx->hold = &c->scratch.own;
	ctx->cpu = c->cpu;
	c->armed = exec_command(&c->x, ctx, &c->in, &c->err) == EXEC_LAST;
}

static void take_out(struct carrier *c, struct context *ctx)
{
	c->armed = false;
	exec_command(&c->x, ctx, &c->out, &c->err);
	c->x.lookout = NULL;
}

/* Commands of its own, which nobody else waits for. */
static int do_scratch(struct carrier *c, struct command *cmd, struct err *e)
{
	int rc;

	if (command_stops(cmd->verb))
		exec_quiet(&c->x, &c->scratch);
	rc = exec_command(&c->x, &c->scratch, cmd, e);
	return rc == EXEC_LAST ? exec_last(&c->x, &c->scratch, cmd, e) : rc;
}

/* --- What it needs of its CPU */

/* Before all that programs may be: what runs before it does is counted as its thread's. */
static int come_first(pthread_t thread)
{
	struct sched_param param = {.sched_priority = SCHED_CARRIER_FIFO};

	return pthread_setschedparam(thread, SCHED_FIFO | SCHED_RESET_ON_FORK, &param);
}

/* Without its CPU it is an ordinary thread: on another one, it would be counted as a thread there.
 */
static void step_back(void)
{
	struct sched_param param = {0};

	pthread_setschedparam(pthread_self(), SCHED_OTHER, &param);
}

/* Pinned last: before that, an ordinary thread could wait for seconds there. */
static int settle(struct carrier *c, struct err *e)
{
	cpu_set_t set;
	char name[16];
	int rc;

	snprintf(name, sizeof(name), "pfc/%u", c->cpu);
	pthread_setname_np(pthread_self(), name);
	rc = come_first(pthread_self());
	if (rc)
		return err_set(e, EPERM,
			"SCHED_FIFO: %s: threads can be followed exactly only by carriers that "
			"come "
			"first: the daemon needs CAP_SYS_NICE and a realtime budget of its cgroup",
			err_name(rc));
	CPU_ZERO(&set);
	if (c->cpu < CPU_SETSIZE)
		CPU_SET(c->cpu, &set);
	rc = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	return rc ? err_set(e, ENXIO, "CPU %u is offline: see cpus", c->cpu) : 0;
}

static int load_scratch(struct carrier *c, struct err *e)
{
	struct command load = {
		.verb = CMD_LOAD,
		.cpu = c->cpu,
		.rights = {.system = true, .kernel = true},
	};

	return do_scratch(c, &load, e);
}

static int make_scratch(struct carrier *c, struct err *e)
{
	if (ctx_init(&c->scratch, c->tr->be->pmu) < 0) {
		c->tr->be->ops->cpu_close(take_ptr(&c->x.cpu)); /* shut() takes it with a scratch */
		return err_set(e, ENOMEM, "no memory for a carrier");
	}
	return load_scratch(c, e);
}

static void shut(struct carrier *c)
{
	struct command unload = {.verb = CMD_UNLOAD};
	struct err ignored;

	__atomic_store_n(&c->now->carrier, 0, __ATOMIC_RELAXED);
	sched_unbell(c->tr->sched, c->cpu);
	cleanup_close(&c->fds[FD_SCHED].fd);
	c->fds[FD_SCHED].fd = -1;
	c->fds[FD_SCHED].revents = 0;
	lookout_close(&c->lookout);
	c->fds[FD_WITNESS].fd = -1;
	if (c->x.cpu) {
		do_scratch(c, &unload, &ignored);
		c->tr->be->ops->cpu_close(c->x.cpu);
		c->x.cpu = NULL;
		ctx_free(&c->scratch);
	}
	virtuals_close(&c->x.virtuals);
	c->open = false;
}

static int open_up(struct carrier *c, struct err *e)
{
	int rc = settle(c, e);

	if (rc == 0)
		rc = c->tr->be->ops->cpu_open(c->tr->be, c->cpu, &c->x.cpu, e);
	if (rc == 0)
		rc = make_scratch(c, e);
	if (rc == 0)
		rc = sched_bell(c->tr->sched, c->cpu, &c->fds[FD_SCHED].fd, e);
	if (rc < 0) {
		shut(c);
		return rc;
	}
	__atomic_store_n(&c->now->deaf, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->now->carrier, (sched_u32)gettid(), __ATOMIC_RELAXED);
	c->open = true;
	c->offline = false;
	return 0;
}

/* For contexts that sample. Its samples are of whoever makes it: this thread's do not count. */
static int open_witness(struct carrier *c, const struct context *ctx, struct err *e)
{
	int rc;

	if (!ctx->smpl.fmt || c->lookout.witness)
		return 0;
	rc = lookout_open(&c->lookout, c->cpu,
		ctx->limits.tick_ns ? ctx->limits.tick_ns : NSEC_PER_SEC, true, -1, e);
	if (rc == 0)
		c->fds[FD_WITNESS].fd = witness_fd(c->lookout.witness);
	return rc;
}

/* --- Preparing for what the PMCs of a context ask for */

static int write_regs(struct carrier *c, struct cmd_reg *regs, unsigned n, struct err *e)
{
	struct command write = {
		.verb = CMD_WRITE,
		.regs = regs,
		.nregs = n,
		.rights = {.kernel = true},
	};

	return do_scratch(c, &write, e);
}

/* @set NULL: as they are by default, which claims nothing. */
static int write_pmcs(struct carrier *c, const struct evtset *set, struct err *e)
{
	const struct pmu *pmu = c->tr->be->pmu;
	struct cmd_reg regs[PMU_MAX_PMCS] = {{0}};

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		regs[p].num = pmu->pmcs[p].num;
		regs[p].value = set ? set->pmc[p] : pmu->pmcs[p].def;
	}
	return write_regs(c, regs, pmu->npmcs, e);
}

/* So that none is lost any more. */
static int clear_pmds(struct carrier *c, struct err *e)
{
	const struct pmu *pmu = c->tr->be->pmu;
	struct cmd_reg regs[PMU_MAX_PMDS] = {{0}};

	for (unsigned d = 0; d < pmu->npmds; d++) {
		regs[d].pmd = true;
		regs[d].num = pmu->pmds[d].num;
	}
	return write_regs(c, regs, pmu->npmds, e);
}

/* What somebody has taken over, and given back since, can be claimed only by one who claims it
 * anew.
 */
static int start_over(struct carrier *c, struct err *e)
{
	struct command unload = {.verb = CMD_UNLOAD};
	int rc = do_scratch(c, &unload, e);

	if (rc == 0)
		rc = write_pmcs(c, NULL, e);
	if (rc == 0)
		rc = clear_pmds(c, e);
	return rc < 0 ? rc : load_scratch(c, e);
}

/* What one way in and out, with no thread in between, adds to each counter. */
static void ride_alone(struct carrier *c, uint64_t least[PMU_MAX_PMDS])
{
	struct evtset *set = c->scratch.active;
	uint64_t before[PMU_MAX_PMDS];
	struct timespec none = {0};

	for (unsigned d = 0; d < set->npmds; d++)
		before[d] = set->pmd[d].n.value;
	put_in(c, &c->scratch);
	ride(c, &c->scratch, &none);
	take_out(c, &c->scratch);
	for (unsigned d = 0; d < set->npmds; d++)
		if (set->pmd[d].n.value - before[d] < least[d])
			least[d] = set->pmd[d].n.value - before[d];
}

static int gauge(struct carrier *c, struct context *ctx, struct evtset *set, struct err *e)
{
	struct command start = {.verb = CMD_START}, stop = {.verb = CMD_STOP};
	uint32_t rows = ctx_gaugeable(ctx, set);
	uint64_t least[PMU_MAX_PMDS];
	int rc;

	for (unsigned d = 0; d < set->npmds; d++) {
		set->pmd[d].carry = 0;
		least[d] = UINT32_MAX;
	}
	set->gauged = !rows;
	if (!rows)
		return 0;
	rc = do_scratch(c, &start, e);
	if (rc < 0)
		return rc;
	exec_quiet(&c->x, &c->scratch);
	take_out(c, &c->scratch); /* from here on, all ways in and out are alike */
	for (unsigned i = 0; i < GAUGINGS; i++)
		ride_alone(c, least);
	rc = do_scratch(c, &stop, e);
	if (rc < 0)
		return rc;
	for (unsigned d = 0; d < set->npmds; d++) {
		if (!(rows & ROW(d)))
			continue;
		if (c->scratch.active->pmd[d].lost)
			return err_set(e, EBUSY,
				"pmd%u has been taken over on CPU %u just now: see cpus",
				c->tr->be->pmu->pmds[d].num, c->cpu);
		set->pmd[d].carry = (uint32_t)least[d];
		atomic_store(&c->tr->stats->carry, least[d]);
	}
	set->gauged = true;
	return 0;
}

/* Claims what the sets of @ctx need, tries it, and gauges it. */
static int claim(struct carrier *c, struct context *ctx, struct err *e)
{
	bool held = ctx_holds(ctx, &c->scratch.own);
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < ctx->nsets; i++) {
		struct evtset *set = ctx->sets[i];

		if (held && set->gauged)
			continue;
		rc = write_pmcs(c, set, e);
		if (rc == 0 && !set->gauged)
			rc = gauge(c, ctx, set, e);
	}
	return rc;
}

static int hold(struct carrier *c, struct context *ctx, struct err *e)
{
	int rc = claim(c, ctx, e);

	if (rc == -EBUSY || (rc == 0 && !ctx_holds(ctx, &c->scratch.own))) {
		rc = start_over(c, e);
		if (rc == 0)
			rc = claim(c, ctx, e);
	}
	return rc;
}

static int prepare(struct carrier *c, struct context *ctx, struct err *e)
{
	int rc = open_witness(c, ctx, e);

	return rc < 0 ? rc : hold(c, ctx, e);
}

/* --- Having a context */

static unsigned load_word(const sched_u32 *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static struct seat *seat_of(const struct carrier *c, unsigned slot)
{
	return &c->tr->seats[slot];
}

static bool make_busy(struct carrier *c, struct seat *s, unsigned word)
{
	return seat_state(word) == SEAT_PARKED &&
	       atomic_compare_exchange_strong(&s->word, &word, seat_word(SEAT_BUSY, c->cpu));
}

static void park(struct carrier *c, struct rider *r)
{
	atomic_store(&seat_of(c, r->slot)->word, seat_word(SEAT_PARKED, c->cpu));
}

/* A moment passes. At last, other threads as urgent as this one may need this CPU: the carrier of
 * one that went offline. */
static void wait_a_little(unsigned *spins)
{
	if (++*spins > SPINS)
		sched_yield();
	else
		pfm_live_pause();
}

/* If another carrier is there: one that was just told to go is until all have gone. */
static void prod_cpu(struct carrier *c, unsigned cpu)
{
	struct carrier *there = cpu < CPUS_MAX ? atomic_load(&c->tr->carriers[cpu]) : NULL;

	if (there && there != c)
		carrier_prod(there);
}

/*
 * For the thread that is about to run here. Whoever else has its context is putting it down just
 * now: it ran there before it came here; unless it has moved on since. NULL: it is not to be had.
 */
static struct rider *occupy_for_thread(struct carrier *c, unsigned slot)
{
	const struct sched_slot *s = sched_slot(c->tr->sched, slot);
	struct seat *seat = seat_of(c, slot);
	bool prodded = false;
	uint64_t until = 0;
	unsigned spins = 0;

	for (;;) {
		unsigned word = atomic_load(&seat->word);

		if (seat_state(word) == SEAT_EMPTY || load_word(&s->cpu) != c->cpu)
			return NULL;
		if (make_busy(c, seat, word))
			return seat->rider;
		if (!until) {
			until = nsec_now(CLOCK_MONOTONIC) + PATIENCE_NS;
			atomic_fetch_add(&c->tr->stats->waits, 1);
		} else if (!prodded && spins >= SPINS && seat_state(word) == SEAT_BOARDED) {
			/* It was kept there, and has come here before its turn. */
			prod_cpu(c, seat_cpu(word));
			prodded = true;
		} else if (nsec_now(CLOCK_MONOTONIC) > until) {
			atomic_fetch_or(&seat->missed, MISSED_LATE);
			return NULL;
		}
		wait_a_little(&spins);
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

/* The context's number and its thread's state follow what the scheduler and the tracer know. */
static void follow_thread(struct carrier *c, struct rider *r)
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
		ctx_lose(ctx, LOST_LATE);
	if (__atomic_exchange_n(&s->stray, 0, __ATOMIC_RELAXED) && ctx->state == CTX_RUNNING)
		ctx_lose(ctx, LOST_AWAY);
}

/* Something has been done to it: others are to know. Before it is parked or boarded. */
static void settled(struct carrier *c, struct rider *r)
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

static void tell_of_death(struct carrier *c, unsigned slot)
{
	struct sched_slot *s = sched_slot(c->tr->sched, slot);
	struct seat *seat = seat_of(c, slot);

	if (slot && load_word(&s->dead) && !atomic_exchange(&seat->dying, true))
		news_send(c->tr->box, &seat->died.news);
}

/* --- Coming and going */

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
	r = occupy_for_thread(c, slot);
	if (!r)
		return false;
	ctx = &r->tenant->ctx;
	follow_thread(c, r);
	if (!cpus_has(&r->wanted, c->cpu)) { /* this carrier is here for others */
		park(c, r);
		return false;
	}
	open_witness(c, ctx, &c->err); /* without, samples do not say who was running */
	if (ctx->state == CTX_RUNNING && !ctx->block && hold(c, ctx, &c->err) < 0)
		ctx_lose(ctx, c->err.no == ENXIO ? LOST_OFFLINE : LOST_STOLEN);
	if (ctx->state != CTX_RUNNING) {
		park(c, r);
		return false;
	}
	put_in(c, ctx);
	atomic_fetch_add_explicit(&c->tr->stats->ins, 1, memory_order_relaxed);
	if (ctx_parked(ctx)) { /* that has failed */
		settled(c, r);
		park(c, r);
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
static void board(struct carrier *c)
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

/* The kernel has moved this thread, or ended the CPU's perf events: the CPU is offline, or was. Its
 * registers are not what they were. */
static bool was_offline(const struct carrier *c)
{
	return c->open && ((unsigned)sched_getcpu() != c->cpu || load_word(&c->now->deaf) ||
				  (c->fds[FD_SCHED].revents & (POLLERR | POLLHUP)));
}

/* The counters stand still already. */
static void put_down(struct carrier *c)
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
	follow_thread(c, r);
	/* Others may have run there while this thread was on its way to another CPU. */
	if (ctx->state == CTX_RUNNING && was_offline(c))
		ctx_lose(ctx, LOST_OFFLINE);
	take_out(c, ctx);
	atomic_fetch_add_explicit(&c->tr->stats->outs, 1, memory_order_relaxed);
	settled(c, r);
	tell_of_death(c, r->slot);
	park(c, r);
}

/* --- Commands */

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
	if (!c->open || prepare(c, ctx, &tried) == 0)
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

/* One that bounces is in flight until it is back. */
static void finish(struct carrier *c, struct job *job, bool unloaded)
{
	if (!job->bounced)
		tenant_leave(job->tenant, c->tr->box, unloaded);
	if (job->bounced || job->here)
		news_send(c->tr->box, &job->news);
	else
		job->done(job);
}

/* Its context is this carrier's for now, and parked. */
static void run_job(struct carrier *c, struct job *job, struct rider *r)
{
	struct context *ctx = &job->tenant->ctx;
	bool counted = ctx->state == CTX_RUNNING;
	unsigned slot = r->slot;
	bool unloaded;

	follow_thread(c, r);
	job->rc = job_begin(job);
	if (job->rc == 0)
		job->rc = execute(c, ctx, &job->cmd, &job->err);
	settled(c, r);
	unloaded = ctx->state == CTX_UNLOADED;
	counted = counted || ctx->state != CTX_RUNNING;
	if (!counted)
		r->ran = RAN_UNKNOWN;
	if (!counted && begins_astray(c, r))
		ctx_lose(ctx, LOST_AWAY);
	tell_of_death(c, slot);
	if (unloaded)
		atomic_store(&seat_of(c, slot)->word, seat_word(SEAT_EMPTY, c->cpu));
	else
		park(c, r);
	if (!counted)
		/* Where it runs, if it does, the carrier must come and see that it is to count. */
		prod_cpu(c, load_word(&sched_slot(c->tr->sched, slot)->cpu));
	finish(c, job, unloaded);
}

static void deliver(struct carrier *c, struct job *job)
{
	struct rider *r = job->tenant->rider;
	struct seat *seat = seat_of(c, r->slot);
	unsigned spins = 0;

	for (;;) {
		unsigned word = atomic_load(&seat->word);

		if (make_busy(c, seat, word)) {
			run_job(c, job, r);
			return;
		}
		switch (seat_state(word)) {
		case SEAT_EMPTY: /* unloaded since: the session thread's */
			job->bounced = true;
			finish(c, job, false);
			return;
		case SEAT_BOARDED:
			carrier_mail(atomic_load(&c->tr->carriers[seat_cpu(word)]), job);
			return;
		default:
			wait_a_little(&spins);
		}
	}
}

static void try(struct carrier *c, struct carrier_try *t)
{
	t->rc = c->open ? 0 : open_up(c, &t->err);
	if (t->rc == 0 && t->ctx)
		t->rc = prepare(c, t->ctx, &t->err);
	news_send(c->tr->box, &t->news.news);
}

/* One that is open, for what is to be done at once: without its CPU, a carrier may have to wait for
 * anybody, and others of its kind would for it. */
static struct carrier *stand_in(struct carrier *c)
{
	for (unsigned cpu = 0; c->offline && cpu < CPUS_MAX; cpu++) {
		struct carrier *other = atomic_load(&c->tr->carriers[cpu]);

		if (other && load_word(&other->now->carrier))
			return other;
	}
	return NULL;
}

static void read_mail(struct carrier *c)
{
	struct carrier *other;
	struct link *l;

	for (l = queue_take(&c->tries); l;) {
		struct carrier_try *t = link_entry(l, struct carrier_try, link);

		l = l->next;
		try(c, t);
	}
	for (l = queue_take(&c->mail); l;) {
		struct job *job = link_entry(l, struct job, link);

		l = l->next;
		other = stand_in(c);
		if (other)
			carrier_mail(other, job);
		else
			deliver(c, job);
	}
}

/* --- Life */

static void stop_ringing(struct carrier *c)
{
	uint64_t rings;

	if (c->fds[FD_BELL].revents)
		raw_syscall4(SYS_read, c->fds[FD_BELL].fd, (long)&rings, sizeof(rings), 0);
}

static void sleep_alone(struct carrier *c)
{
	raw_syscall6(SYS_ppoll, (long)c->fds, FD_BELL + 1, 0, 0, 0, 0);
}

/* Is it back? */
static void sleep_offline(struct carrier *c)
{
	uint64_t now = nsec_now(CLOCK_MONOTONIC);
	struct timespec left = nsec_timespec(c->retry_at > now ? c->retry_at - now : 0);

	raw_syscall6(SYS_ppoll, (long)c->fds, FD_BELL + 1, (long)&left, 0, 0, 0);
	if (nsec_now(CLOCK_MONOTONIC) < c->retry_at)
		return;
	open_up(c, &c->err);
	if (!c->offline)
		return;
	step_back();
	c->retry_at = nsec_now(CLOCK_MONOTONIC) + OFFLINE_MS * 1000000ULL;
}

static void *carrier_main(void *arg)
{
	struct carrier *c = arg;

	while (!(atomic_load(&c->orders) & ORDER_RETIRE)) {
		board(c);
		if (c->boarded)
			ride(c, &c->boarded->tenant->ctx, &c->left);
		else if (c->offline)
			sleep_offline(c);
		else
			sleep_alone(c);
		stop_ringing(c);
		if (c->boarded)
			put_down(c);
		if (c->open)
			tell_of_death(c, load_word(&c->now->died));
		if (was_offline(c)) {
			shut(c);
			step_back();
			c->offline = true;
		}
		read_mail(c);
	}
	if (c->open)
		shut(c);
	news_send(c->tr->box, &c->gone.news);
	return NULL;
}

int carrier_new(struct track *tr, unsigned cpu, struct carrier **out, struct err *e)
{
	CLEANUP_FREE struct carrier *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return err_set(e, ENOMEM, "no memory for a carrier");
	c->tr = tr;
	c->cpu = cpu;
	c->now = sched_cpu(tr->sched, cpu);
	c->x.be = tr->be;
	c->x.stats = &tr->stats->exec;
	c->in.verb = CMD_IN;
	c->out.verb = CMD_OUT;
	c->gone.news.kind = NEWS_TRACK;
	c->gone.take = tracker_carrier_gone;
	for (unsigned i = 0; i < NFDS; i++)
		c->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	c->fds[FD_BELL].fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (c->fds[FD_BELL].fd < 0)
		return err_set(e, errno, "eventfd: %s", err_name(errno));
	/* On another CPU it would be counted as a thread there. */
	rc = thread_start_on(&c->thread, cpu, carrier_main, c);
	if (rc == EINVAL)
		rc = thread_start(&c->thread, carrier_main, c); /* it will say that it is offline */
	if (rc) {
		close(c->fds[FD_BELL].fd);
		return err_set(e, rc, "cannot start the carrier of CPU %u: %s (thread limit?)", cpu,
			err_name(rc));
	}
	come_first(c->thread); /* or a busy CPU keeps it from beginning; if it cannot, it says so */
	*out = take_ptr(&c);
	return 0;
}

void carrier_try(struct carrier *c, struct carrier_try *t)
{
	queue_put(&c->tries, &t->link);
	ring(c);
}

void carrier_mail(struct carrier *c, struct job *job)
{
	queue_put(&c->mail, &job->link);
	ring(c);
}

void carrier_prod(struct carrier *c)
{
	ring(c);
}

void carrier_retire(struct carrier *c)
{
	atomic_fetch_or(&c->orders, ORDER_RETIRE);
	ring(c);
}

void carrier_free(struct carrier *c)
{
	pthread_join(c->thread, NULL);
	close(c->fds[FD_BELL].fd);
	free(c);
}

struct carrier *carrier_of_news(struct track_news *n)
{
	return link_entry(n, struct carrier, gone);
}
