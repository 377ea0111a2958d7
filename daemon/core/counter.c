// SPDX-License-Identifier: MIT
/*
 * Reading running counters: 64-bit counts over narrower counters, by modular differences, and never
 * a number that was not measured. Each counter is read before its selector, so that a counter taken
 * over in between is noticed: a perf event that borrows one leaves the selector changed.
 */
#include "daemon/core/core_i.h"

enum {
	LEAP_RATES = 2,            /* times the PMU's highest rate that are not believed */
	LEAP_CLOCK_NS = 100000000, /* lag of a clock that timer ticks advance, some of them late */
};

uint64_t pmd_width_mask(const struct pmu_pmd *pmd)
{
	return pmd->width == 64 ? ~0ULL : (1ULL << pmd->width) - 1;
}

uint64_t pmd_value(const struct pmu *pmu, const struct evtset *set, unsigned d)
{
	const struct pmd_state *s = &set->pmd[d];

	return s->flags & PMD_NO64 ? s->n.value & pmd_width_mask(&pmu->pmds[d]) : s->n.value;
}

/* The row of the ESCR that selects for counter @d; -1: it needs none. */
static int counter_escr(const struct context *ctx, unsigned d)
{
	unsigned own = ctx->pmu->pmds[d].pmc;

	return pmu_escr_of(ctx->pmu, own, ctx->res->hw.sel[own]);
}

static bool counter_is_restricted_by(const struct pmu_pmc *pmc)
{
	return pmc->restricts || pmc->with;
}

pmu_rows selectors_of(const struct context *ctx, pmu_rows pmds)
{
	const struct pmu *pmu = ctx->pmu;
	pmu_rows rows = 0;

	for_each_row (d, pmds) {
		int escr = counter_escr(ctx, d);

		rows |= ROW(pmu->pmds[d].pmc) | ROW(pmu->pmcs[pmu->pmds[d].pmc].gate);
		if (escr >= 0)
			rows |= ROW(escr);
	}
	for (unsigned p = 0; pmds && p < pmu->npmcs; p++)
		if (counter_is_restricted_by(&pmu->pmcs[p]) && ctx->res->hw.mask[p])
			rows |= ROW(p);
	return rows;
}

pmu_rows counters_behind(const struct context *ctx, unsigned p, uint64_t bits)
{
	const struct pmu *pmu = ctx->pmu;
	pmu_rows pmds = 0;

	if (counter_is_restricted_by(&pmu->pmcs[p]))
		return ctx->res->hw.pmds;
	for (unsigned d = 0; d < pmu->npmds; d++) {
		unsigned own = pmu->pmds[d].pmc;

		if ((own == p && (image_field(pmu, d) & bits)) ||
			(own != p && pmu->pmcs[own].gate == p) || counter_escr(ctx, d) == (int)p)
			pmds |= ROW(d);
	}
	return pmds & ctx->res->hw.pmds;
}

void counters_lose(struct context *ctx, pmu_rows pmds, enum lost why)
{
	pmu_rows lost = 0;

	for_each_row (d, pmds) {
		if (ctx->active->pmd[d].lost)
			continue;
		ctx->active->pmd[d].lost = why;
		lost |= ROW(d);
		if (why == LOST_STOLEN || why == LOST_PAUSED)
			ctx->count.stolen++;
		if (why == LOST_WRITTEN || why == LOST_LEAPT)
			ctx->count.leapt++;
	}
	if (lost)
		loss_report(ctx, lost);
}

/*
 * Loses a count that has leapt: advanced by more than any event can happen between two readings. In
 * a register that the kernel widens to 64 bits, x86_perf_event_update() adds 2^48 if the counter's
 * interrupt comes while it reads the counter, and the times of readings are not exact. Any other
 * register was written by another program: its readings have taken place between s->read_at and
 * now, however late the daemon was, and no clock of the kernel lags by LEAP_CLOCK_NS.
 */
void counter_check_leap(struct core_run *run, unsigned d, uint64_t n)
{
	const struct pmu *pmu = run->ctx->pmu;
	uint64_t since = run->ctx->active->pmd[d].read_at;
	uint64_t ran = run->now > since ? run->now - since : 0;
	uint64_t least = n / (pmu->max_rate / SECOND_NS + 1);

	if (pmu->pmds[d].width == 64 && least > ran + SECOND_NS)
		counters_lose(run->ctx, ROW(d), LOST_LEAPT);
	if (pmu->pmds[d].width < 64 && least / LEAP_RATES > ran + LEAP_CLOCK_NS)
		counters_lose(run->ctx, ROW(d), LOST_WRITTEN);
}

static void counter_fold(struct core_run *run, unsigned d, const struct plan *plan)
{
	struct context *ctx = run->ctx;
	const struct pmu_pmd *pmd = &ctx->pmu->pmds[d];
	const struct reg_op *op = plan_result(plan, pmd->addr);
	struct pmd_state *s = &ctx->active->pmd[d];
	uint64_t wrap = pmu_wrap_ns(ctx->pmu, ROW(d)), was, n;

	if (!op || op->verb != REG_READ)
		return;
	if (pmd->buffer) {
		s->n.value = s->hw = op->value;
		s->read_at = run->begun;
		return;
	}
	if (wrap && run->now - s->read_at > wrap)
		counters_lose(ctx, ROW(d), LOST_LATE);
	counter_check_leap(run, d, (op->value - s->hw) & pmd_width_mask(pmd));
	if (s->lost)
		return;
	if (op->value < s->hw)
		ctx->status.set |= ROW(d);
	s->read_at = run->begun;
	was = s->n.value;
	n = ctx->gap.open || ctx->ovfl.masked & ROW(d) ? 0
						       : (op->value - s->hw) & pmd_width_mask(pmd);
	/* A thread's counters are read only once per sched-in: at sched-out. */
	if (ctx->target.tid && !ctx->target.always_active && !(ctx->flags & CTX_RAW))
		n -= n < s->switch_overhead ? n : s->switch_overhead;
	s->n.value += n;
	s->hw = op->value;
	if (s->n.value < was && !(s->flags & PMD_NO64))
		ctx->ovfl.wrapped |= ROW(d);
}

void counters_fold(struct core_run *run, pmu_rows pmds, const struct plan *plan)
{
	for_each_row (d, pmds)
		counter_fold(run, d, plan);
}

void counters_paused(struct context *ctx, pmu_rows pmds, uint64_t global)
{
	for_each_row (d, pmds)
		if (image_global_bits(ctx->pmu, ROW(d)) & ~global)
			counters_lose(ctx, ROW(d), LOST_PAUSED);
}

void counters_fault(struct context *ctx, pmu_rows pmds, const struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	uint32_t addr = plan->op[plan->done].addr;
	pmu_rows hit = 0;

	if (plan->err.no == ENXIO) {
		counters_lose(ctx, pmds, LOST_OFFLINE);
		return;
	}
	for (unsigned d = 0; d < pmu->npmds; d++) {
		pmu_rows rows = selectors_of(ctx, ROW(d));

		if (pmu->pmds[d].addr == addr)
			hit |= ROW(d);
		for_each_row (p, rows)
			if (pmu->pmcs[p].addr == addr)
				hit |= ROW(d);
	}
	counters_lose(
		ctx, hit ? pmds & hit : pmds, plan->err.no == EBUSY ? LOST_EVICTED : LOST_FAULT);
}

/* The errors of reading lost counts: errno, and the sentence after the name of the PMD. */
static const struct {
	int no;
	const char *sentence;
} counter_losses[] = {
	[LOST_STOLEN] = {EIO, " was taken over while it counted and its count is lost: unload, "
			      "load again and write the PMD to start over"},
	[LOST_OFFLINE] = {ENXIO, ": the CPU went offline while it counted and the count is lost: "
				 "unload, write the PMD and load again when the CPU is back"},
	[LOST_LATE] = {EIO, " was read so late that it may have wrapped unseen: write the PMD to "
			    "start over"},
	[LOST_FAULT] = {EIO, ": its register could not be read and the count is lost: write the "
			     "PMD to start over"},
	[LOST_OVERTAKEN] = {EIO,
		": another thread ran before the daemon could stop the counter: end other programs "
		"of real-time priority (another perfmonfs?), and write the PMD to start over"},
	[LOST_TYPE] = {EIO, ": the thread ran uncounted on a CPU whose PMU is of another type: "
			    "unload, write the PMD and load again"},
	[LOST_STALLED] = {EIO, ": the daemon was held up while the thread ran, by memory reclaim, "
			       "a kernel lock or real-time throttling "
			       "(kernel.sched_rt_runtime_us): write the PMD to start over"},
	[LOST_UNCOVERED] = {EIO, ": the thread ran uncounted on a CPU that was offline when the "
				 "context was loaded, or has been since: unload, write the PMD and "
				 "load again"},
	[LOST_THROTTLED] = {EIO,
		": the kernel throttled it, as it overflowed more often than "
		"kernel.perf_event_max_sample_rate: write a longer period, or raise that limit"},
	[LOST_EVICTED] = {EIO, ": the kernel gave its counter to CPU-wide perf events or to the "
			       "NMI watchdog (kernel.nmi_watchdog), and events were missed: stop, "
			       "write the PMD and start again"},
	[LOST_LEAPT] = {EIO, ": the kernel's count jumped (Linux misreads a counter whose "
			     "interrupt arrives during the read): write the PMD to start over"},
	[LOST_WRITTEN] = {EIO, " advanced faster than any event can: another program has written "
			       "its register (wrmsr?) and its count is lost: end that program, and "
			       "write the PMD to start over"},
	[LOST_UNSAMPLED] = {EIO,
		": at user level, the kernel can only sample this event, not count it: give the "
		"PMD a period and its context a format, or the PMD notify, with one event set and "
		"without inherit; or count both levels"},
	[LOST_DROPPED] = {EIO,
		": samples were dropped for lack of room, each of which was a part of the count: "
		"write a longer period"},
	[LOST_MISSED] = {EIO,
		": the kernel did not report a switch to or from the thread, as some kernels do "
		"not for processes that they start: write the PMD to start over"},
};

int counter_lost(const struct context *ctx, unsigned d, const struct pmd_state *s, struct err *e)
{
	unsigned num = ctx->pmu->pmds[d].num;

	enum lost why = pmd_lost(s);

	switch (why) {
	case LOST_PAUSED:
		return err_set(e, EIO,
			"pmd%u was paused by another program's write to the global control (0x%x) "
			"and its count is lost: stop, write the PMD and start again",
			num, ctx->pmu->global_ctrl);
	case LOST_BUDGET:
		return err_set(e, EIO,
			"pmd%u: the thread is no longer counted, as switching its user's threads "
			"took more than %u %% of a CPU (config/ctxsw_budget): load fewer threads, "
			"or threads that switch less, and write the PMD to start over",
			num, (unsigned)ctx->limits.ctxsw_budget);
	case LOST_TAKEN:
		return err_set(e, EIO,
			"pmd%u: the thread ran uncounted on CPU %u, where uid %u had loaded a "
			"context on the CPU: write the PMD to start over; cpus=LIST in load leaves "
			"that CPU out",
			num, s->taken_cpu, s->taken_uid);
	default:
		return err_set(
			e, counter_losses[why].no, "pmd%u%s", num, counter_losses[why].sentence);
	}
}

/* True if the CPU time that the loss costs is known: the thread's, from one switch to the next. */
static bool counter_leaves_gap(enum lost why)
{
	return why == LOST_MISSED || why == LOST_OVERTAKEN || why == LOST_STALLED ||
	       why == LOST_UNCOVERED || why == LOST_TYPE || why == LOST_TAKEN;
}

void ctx_lose(struct context *ctx, enum lost why)
{
	struct image im;

	image_of(ctx->pmu, ctx->active->pmc, true, &im);
	if ((ctx->flags & CTX_GAPS) && counter_leaves_gap(why))
		gap_open(ctx, im.pmds);
	else
		counters_lose(ctx, im.pmds, why);
}

void ctx_lose_taken(struct context *ctx, unsigned cpu, unsigned uid)
{
	for (unsigned d = 0; d < ctx->active->npmds; d++) {
		struct pmd_state *s = &ctx->active->pmd[d];

		if (s->lost)
			continue;
		s->taken_cpu = cpu;
		s->taken_uid = uid;
	}
	ctx_lose(ctx, LOST_TAKEN);
}

pmu_rows counters_live(const struct context *ctx, pmu_rows rows)
{
	pmu_rows live = 0;

	if (ctx->state != CTX_RUNNING)
		return 0;
	rows &= ctx->res->hw.pmds;
	for_each_row (d, rows)
		if (!ctx->active->pmd[d].lost)
			live |= ROW(d);
	return live;
}

/* Reads the counters @pmds, and the registers that show whether they are still reserved. */
static void counter_plan(const struct context *ctx, pmu_rows pmds, struct plan *plan)
{
	const struct pmu *pmu = ctx->pmu;
	pmu_rows rows = selectors_of(ctx, pmds);

	plan_clear(plan);
	for_each_row (d, pmds)
		plan_read(plan, pmu->pmds[d].addr);
	for_each_row (p, rows)
		plan_read(plan, pmu->pmcs[p].addr);
	if (image_global_bits(pmu, pmds))
		plan_read(plan, pmu->global_ctrl);
}

static void counter_take(struct core_run *run, pmu_rows pmds)
{
	struct context *ctx = run->ctx;
	const struct pmu *pmu = ctx->pmu;
	pmu_rows rows = selectors_of(ctx, pmds);

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		const struct reg_op *op = plan_result(&run->plan, pmu->pmcs[p].addr);
		uint64_t differ = rows & ROW(p) ? reservation_differs(ctx, p, op) : 0;

		if (!differ)
			continue;
		run->conflict.addr = op->addr;
		run->conflict.value = op->value;
		counters_lose(ctx, pmds & counters_behind(ctx, p, differ), LOST_STOLEN);
	}
	if (image_global_bits(pmu, pmds))
		counters_paused(ctx, pmds, plan_result(&run->plan, pmu->global_ctrl)->value);
	counters_fold(run, pmds, &run->plan);
}

/*
 * Each round that fails loses at least one counter, which the next round leaves out. So the loop
 * ends, and one faulting register does not cost the other counts.
 */
void read_counters(struct core_run *run, pmu_rows rows)
{
	pmu_rows live;

	while ((live = counters_live(run->ctx, rows))) {
		counter_plan(run->ctx, live, &run->plan);
		if (plan_run_sampling(run, &run->plan)) {
			counter_take(run, live);
			break;
		}
		counters_fault(run->ctx, live, &run->plan);
	}
	if (rows == PMU_ALL_ROWS)
		time_stamp_live(run);
}

/* A reading sets the value to the register's, so a value that differs has been reset. Counters need
 * no such write: only the difference to the last reading matters. */
void buffers_write(struct core_run *run)
{
	struct context *ctx = run->ctx;
	pmu_rows live = counters_live(ctx, PMU_ALL_ROWS), rows = 0;

	plan_clear(&run->plan);
	for_each_row (d, live) {
		struct pmd_state *s = &ctx->active->pmd[d];

		if (!ctx->pmu->pmds[d].buffer || s->n.value == s->hw)
			continue;
		s->hw = s->n.value;
		plan_add(&run->plan, REG_WRITE, ctx->pmu->pmds[d].addr, s->hw, ~0ULL);
		rows |= ROW(d);
	}
	if (rows && !plan_run(run, &run->plan))
		counters_fault(ctx, rows, &run->plan);
}
