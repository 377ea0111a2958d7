// SPDX-License-Identifier: MIT
/*
 * Random lives of four threads' contexts, which are switched in and out on two CPUs, against a slow
 * and obvious model of what each has to count, and of the overflows and switches that follow.
 *
 * PROPERTY_SEEDS=N runs seeds 0 to N-1 instead of the first few; PROPERTY_SEED=N runs that one, and
 * tells what it does.
 */
#include "tests/unit/counted.h"
#include "tests/unit/ctxsw_world.h"
#include "tests/unit/unit.h"

enum { SEEDS = 10, STEPS = 400, SETS = 3, QUEUE = MESSAGES_DEPTH, NS_MAX = 3000000 };
static const uint16_t ids[SETS] = {0, 3, 300};

/* --- The model */

struct m_pmd {
	struct pmd_conf conf;
	uint64_t value, last_reset, left, overflows;
	struct gaps gaps;
};

struct m_set {
	unsigned flags; /* enum evtset_flag */
	uint64_t timeout, remaining, active_ns, runs;
	uint32_t pending, triggered;
	uint64_t pmc[PMU_MAX_PMCS];
	struct m_pmd pmd[PMU_MAX_PMDS]; /* by row */
};

struct m_ctx {
	enum ctx_state state;
	unsigned flags; /* enum ctx_flag */
	bool ended, block, plain;
	unsigned cpu, nsets, active, overhead;
	uint32_t due;
	struct m_set set[SETS];
	struct pfm_msg queue[QUEUE];
	unsigned nmsgs;
	int line;       /* the line that it is on, or -1 */
	uint64_t since; /* when it came to @line */
	uint64_t gaps;  /* since it was loaded */
};

struct play {
	struct ctxsw_world c;
	struct m_ctx m[TASKS];
	uint64_t rnd;
	char seen[64];
	bool tell;
};

static struct m_set *active(struct m_ctx *m)
{
	return &m->set[m->active];
}

/* Its PMC is not at its default there. */
static bool is_used(const struct play *p, const struct m_set *s, unsigned d)
{
	const struct pmu_pmd *pmd = &p->c.w.pmu->pmds[d];

	return (s->pmc[pmd->pmc] ^ p->c.w.pmu->pmcs[pmd->pmc].def) & pmd->field;
}

static uint64_t happened(const struct play *p, const struct m_ctx *m, unsigned d)
{
	uint64_t n = counted(&p->c.w, m->set[m->active].pmc, d, m->since, hw_now(p->c.w.hw));

	if (m->flags & CTX_RAW)
		return n;
	return n < m->overhead ? 0 : n - m->overhead;
}

static void put(struct play *p, struct m_ctx *m, uint32_t type, uint32_t rows)
{
	const struct pmu *pmu = p->c.w.pmu;
	unsigned i = (unsigned)(m - p->m);
	struct pfm_msg *msg = &m->queue[m->nmsgs];

	if (type == PFM_MSG_OVFL && (m->flags & CTX_OVFL_NO_MSG))
		return;
	assert_true(m->nmsgs++ < QUEUE);
	*msg = (struct pfm_msg){.type = type,
		.set = ids[m->active],
		.cpu = (uint16_t)m->cpu,
		.pid = TASK_PID + i,
		.tid = TASK_TID + i};
	for (unsigned d = 0; d < pmu->npmds; d++)
		if (rows >> d & 1)
			msg->pmds[pmu->pmds[d].num / 64] |= 1ULL << pmu->pmds[d].num % 64;
}

static void load_value(struct m_pmd *pmd, bool is_long, uint64_t past)
{
	pmd->last_reset = is_long ? pmd->conf.long_reset : pmd->conf.short_reset;
	pmd->value = pmd->last_reset + past;
}

/* Resets the PMDs in the reset lists of @rows, except those in @but. */
static void reset_listed(struct play *p, struct m_set *s, uint32_t rows, uint32_t but, bool is_long)
{
	const struct pmu *pmu = p->c.w.pmu;

	for (unsigned d = 0; d < pmu->npmds; d++)
		for (unsigned by = 0; by < pmu->npmds && !(but >> d & 1); by++)
			if ((rows >> by & 1) &&
				regset_has(&s->pmd[by].conf.reset, pmu->pmds[d].num))
				load_value(&s->pmd[d], is_long, 0);
}

static void reset_pending(struct play *p, struct m_set *s, bool is_long)
{
	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
		if (s->pending >> d & 1)
			load_value(&s->pmd[d], is_long, 0);
	reset_listed(p, s, s->pending, s->pending, is_long);
	s->pending = 0;
}

static void activate(struct play *p, struct m_ctx *m, unsigned set)
{
	struct m_set *s = &m->set[set];

	m->active = set;
	m->due = 0;
	s->runs++;
	s->remaining = s->timeout;
	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
		s->pmd[d].left = s->pmd[d].conf.thresh;
}

static void switch_to_next(struct play *p, struct m_ctx *m, bool is_long)
{
	active(m)->triggered = m->due;
	activate(p, m, (m->active + 1) % m->nsets);
	reset_pending(p, active(m), is_long);
}

static void overflow(struct m_ctx *m, unsigned d)
{
	struct m_pmd *pmd = &active(m)->pmd[d];

	pmd->overflows++;
	if (pmd->left && !--pmd->left && active(m)->flags & SET_OVFL_SWITCH)
		m->due |= 1U << d;
}

static void overflow_notified(struct play *p, struct m_ctx *m, uint32_t over)
{
	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
		if (over >> d & 1)
			overflow(m, d);
	active(m)->pending |= over;
	m->state = CTX_MASKED;
	m->block = m->flags & CTX_NOTIFY_BLOCK;
	put(p, m, PFM_MSG_OVFL, over);
}

static void overflow_reset(struct play *p, struct m_ctx *m, uint32_t over)
{
	struct m_set *s = active(m);
	uint32_t reset = 0;

	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++) {
		uint64_t past = UINT64_MAX;

		while ((over >> d & 1) && s->pmd[d].value < past) {
			overflow(m, d);
			past = s->pmd[d].value;
			load_value(&s->pmd[d], false, past);
			reset |= 1U << d;
		}
	}
	reset_listed(p, s, reset, over, false);
}

/* A switch was missed: a gap with @ns of the thread's time. */
static void model_miss(struct play *p, struct m_ctx *m, uint64_t ns)
{
	uint32_t rows = 0;

	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
		if (is_used(p, active(m), d)) {
			active(m)->pmd[d].gaps.n++;
			active(m)->pmd[d].gaps.ns += ns;
			rows |= 1U << d;
		}
	if (!m->gaps++)
		put(p, m, PFM_MSG_GAP, rows);
}

/* It leaves the CPU. @missed: what was counted there is not its own. */
static void leave(struct play *p, struct m_ctx *m, bool missed)
{
	uint64_t ns = hw_now(p->c.w.hw) - m->since;
	struct m_set *s = active(m);
	uint32_t over = 0;
	bool notified = false;

	m->line = -1;
	s->active_ns += ns;
	s->remaining -= ns < s->remaining ? ns : s->remaining;
	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++) {
		uint64_t n = missed ? 0 : happened(p, m, d);

		s->pmd[d].value += n;
		if (s->pmd[d].value >= n || (s->pmd[d].conf.flags & PMD_NO64))
			continue;
		over |= 1U << d;
		notified = notified || (s->pmd[d].conf.flags & PMD_NOTIFY);
	}
	if (notified)
		overflow_notified(p, m, over);
	else
		overflow_reset(p, m, over);
	if (m->state == CTX_RUNNING && (m->due || ((s->flags & SET_TIME_SWITCH) && !s->remaining)))
		switch_to_next(p, m, false);
}

static int model_load(struct play *p, struct m_ctx *m, unsigned set)
{
	if (m->state != CTX_UNLOADED)
		return -EBUSY;
	for (unsigned i = 0; i < m->nsets; i++)
		if ((m->set[i].flags & SET_TIME_SWITCH) && !m->set[i].timeout)
			return -EINVAL;
	for (unsigned i = 0; i < m->nsets; i++)
		m->set[i].triggered = 0;
	m->state = CTX_LOADED;
	m->ended = false;
	m->nmsgs = m->cpu = 0;
	m->gaps = 0;
	activate(p, m, set);
	return 0;
}

static int model_start(struct play *p, struct m_ctx *m, int set)
{
	if (m->state == CTX_UNLOADED)
		return -EINVAL;
	if (m->state == CTX_MASKED)
		return -EBUSY;
	m->state = CTX_RUNNING;
	if (set < 0)
		return 0;
	m->set[set].runs -= (unsigned)set == m->active;
	activate(p, m, (unsigned)set);
	reset_pending(p, active(m), false);
	return 0;
}

static int model_restart(struct play *p, struct m_ctx *m)
{
	if (m->state == CTX_UNLOADED)
		return -EINVAL;
	if (m->state != CTX_MASKED && !active(m)->pending)
		return -EBUSY;
	if (m->state == CTX_RUNNING && m->due) {
		switch_to_next(p, m, false);
		return 0;
	}
	if (m->state != CTX_MASKED) {
		reset_pending(p, active(m), true);
		return 0;
	}
	m->state = CTX_RUNNING;
	m->block = false;
	if (m->due)
		switch_to_next(p, m, true);
	else
		reset_pending(p, active(m), true);
	return 0;
}

static int model_stop(struct m_ctx *m)
{
	if (m->state == CTX_UNLOADED)
		return -EINVAL;
	m->state = CTX_LOADED;
	m->block = false;
	return 0;
}

static int model_unload(struct play *p, struct m_ctx *m, bool ends)
{
	if (m->state == CTX_UNLOADED)
		return 0;
	if (ends)
		put(p, m, PFM_MSG_END, 0);
	m->ended = ends;
	m->state = CTX_UNLOADED;
	m->block = false;
	m->active = m->due = 0;
	return 0;
}

/* --- What happens */

static bool one_in(struct play *p, unsigned n)
{
	return below(&p->rnd, n) == 0;
}

__attribute__((format(printf, 2, 3))) static void tell(struct play *p, const char *fmt, ...)
{
	va_list args;

	if (!p->tell)
		return;
	printf("# %s at %" PRIu64 ": ", p->seen, hw_now(p->c.w.hw));
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static void want(struct play *p, unsigned i, uint64_t is, uint64_t should, const char *what)
{
	if (is != should)
		fail_msg("%s: task %u: %s is %" PRIu64 " (0x%" PRIx64 "), not %" PRIu64
			 " (0x%" PRIx64 ")",
			p->seen, i, what, is, is, should, should);
}

static struct world *commands_for(struct play *p, unsigned i)
{
	assert_int_equal(p->m[i].line, -1);
	return task(&p->c, i);
}

static uint64_t random_period(struct play *p)
{
	return -(uint64_t)(1000 + below(&p->rnd, one_in(p, 2) ? 100000 : 10000000));
}

static uint64_t random_selector(struct play *p, unsigned row)
{
	static const uint64_t events[] = {0xc0, 0xc4, 0xc5, 0x3c, 0x76, 0xc2, 0x1234};
	uint64_t value = events[below(&p->rnd, 7)] | (uint64_t)below(&p->rnd, 4)
							     << 16; /* USR, OS */

	if (one_in(p, 5))
		return p->c.w.pmu->pmcs[row].def;
	if (p->c.w.pmu->pmcs[row].shared)
		return random_bits(&p->rnd);
	return one_in(p, 4) ? value : value | EVTSEL_EN;
}

static void write_pmc(struct play *p, unsigned i)
{
	unsigned set = below(&p->rnd, p->m[i].nsets), row = below(&p->rnd, p->c.w.pmu->npmcs);
	const struct pmu_pmc *pmc = &p->c.w.pmu->pmcs[row];
	uint64_t value = random_selector(p, row);
	struct world *w = commands_for(p, i);

	/* Where the types of the lines differ: what they have in common. */
	if (p->c.w.pmu->by_type.lacks_pmcs >> row & 1)
		return;
	value &= ~(pmc->rsvd & ~p->c.w.be->pmu->pmcs[row].rsvd);
	tell(p, "task %u: pmc%u of set %u = 0x%" PRIx64, i, pmc->num, ids[set], value);
	WANT(w, 0, world_write_in(w, ids[set], false, pmc->num, value));
	p->m[i].set[set].pmc[row] = (value & ~pmc->rsvd) | (pmc->def & pmc->rsvd);
	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
		p->c.task[i].sets[set]->pmd[d].switch_overhead = p->m[i].overhead;
}

static uint64_t random_count(struct play *p, unsigned row)
{
	unsigned width = p->c.w.pmu->pmds[row].width;

	switch (below(&p->rnd, 6)) {
	case 0:
		return 0;
	case 1:
		return (1ULL << width) - 1 - below(&p->rnd, 100000);
	case 2:
		return 0x7fffffff - below(&p->rnd, 1000);
	case 3:
		return random_bits(&p->rnd);
	default:
		return random_period(p);
	}
}

static struct pmd_conf random_conf(struct play *p)
{
	struct pmd_conf conf = {0};

	conf.short_reset = random_period(p);
	conf.long_reset = random_period(p);
	conf.thresh = one_in(p, 2) ? 1 + below(&p->rnd, 4) : 0;
	conf.flags = one_in(p, 3) ? PMD_NOTIFY : 0;
	conf.flags |= one_in(p, 12) ? PMD_NO64 : 0;
	conf.eventid = random_bits(&p->rnd);
	for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
		if (one_in(p, 6))
			regset_add(&conf.reset, p->c.w.pmu->pmds[d].num);
	return conf;
}

/* PMDs that have triggered a switch are left out: the outcome of writing one is not specified. */
static void write_pmd(struct play *p, unsigned i)
{
	unsigned set = below(&p->rnd, p->m[i].nsets), row = below(&p->rnd, p->c.w.pmu->npmds);
	unsigned num = p->c.w.pmu->pmds[row].num;
	struct pmd_conf conf = {0};
	struct world *w = commands_for(p, i);
	uint64_t value;

	if (p->c.w.pmu->by_type.lacks_pmds >> row & 1)
		return;
	value = random_count(p, row);
	if (!p->m[i].plain)
		conf = random_conf(p);
	if (p->m[i].due >> row & 1)
		return;
	tell(p, "task %u: pmd%u of set %u = 0x%" PRIx64, i, num, ids[set], value);
	WANT(w, 0, world_write_pmd(w, ids[set], num, value, &conf));
	p->m[i].set[set].pending &= ~(1U << row);
	p->m[i].set[set].pmd[row] = (struct m_pmd){
		.conf = conf, .value = value, .last_reset = value, .left = conf.thresh};
}

static void write_set(struct play *p, unsigned i)
{
	static const unsigned flags[] = {0, SET_TIME_SWITCH, SET_TIME_SWITCH, SET_OVFL_SWITCH};
	unsigned set = below(&p->rnd, p->m[i].nsets), how = flags[below(&p->rnd, 4)];
	uint64_t ns = 1 + below(&p->rnd, NS_MAX);
	struct world *w = commands_for(p, i);
	bool loaded = p->m[i].state != CTX_UNLOADED;

	tell(p, "task %u: set %u: flags %u, timeout %" PRIu64, i, ids[set], how, ns);
	WANT(w, loaded ? -EBUSY : 0, world_set_flags(w, ids[set], how));
	WANT(w, loaded ? -EBUSY : 0, world_set_timeout(w, ids[set], ns));
	if (loaded)
		return;
	p->m[i].set[set].flags = how;
	p->m[i].set[set].timeout = ns;
}

static void get_in(struct play *p, unsigned i, unsigned line)
{
	struct m_ctx *m = &p->m[i];

	if (m->line >= 0 || p->c.line[line].in || m->state != CTX_RUNNING)
		return;
	tell(p, "task %u gets into line %u", i, line);
	WANT(&p->c.w, 0, line_prepare(&p->c, line, i));
	assert_true(line_sched_in(&p->c, line, i));
	m->line = (int)line;
	m->since = hw_now(p->c.w.hw);
	m->cpu = p->c.line[line].cpu;
}

static void get_out(struct play *p, unsigned i)
{
	struct m_ctx *m = &p->m[i];
	bool missed = (m->flags & CTX_GAPS) && one_in(p, 3);
	uint64_t ns = below(&p->rnd, NS_MAX);

	tell(p, "task %u gets out of line %d%s", i, m->line, missed ? ", not reported" : "");
	if (missed) {
		ctx_lose(&p->c.task[i], LOST_MISSED);
		ctx_gap_add(&p->c.task[i], ns);
		model_miss(p, m, ns);
	}
	line_sched_out(&p->c, (unsigned)m->line);
	leave(p, m, missed);
}

static void do_verb(struct play *p, unsigned i, enum cmd_verb verb)
{
	struct m_ctx *m = &p->m[i];
	bool given = one_in(p, 3);
	unsigned set = below(&p->rnd, m->nsets);
	struct command cmd = {.verb = verb,
		.tid = TASK_TID + (int)i,
		.set = ids[set],
		.has_set = given,
		.load.pmu = p->c.w.be->types ? p->c.w.pmu : NULL};
	struct world *w = commands_for(p, i);
	int rc = 0;

	tell(p, "task %u: verb %d, set %d", i, verb, given ? (int)ids[set] : -1);
	switch (verb) {
	case CMD_LOAD:
		rc = model_load(p, m, given ? set : 0);
		break;
	case CMD_START:
		rc = model_start(p, m, given ? (int)set : -1);
		break;
	case CMD_RESTART:
		rc = model_restart(p, m);
		break;
	case CMD_STOP:
		rc = model_stop(m);
		break;
	case CMD_UNLOAD:
	case CMD_END:
		rc = model_unload(p, m, verb == CMD_END);
		break;
	default: /* a poll does nothing for a saved context */
		break;
	}
	WANT(w, rc, world_command(w, &cmd));
}

static void take_messages(struct play *p, unsigned i)
{
	struct pfm_msg msgs[QUEUE + 1];
	struct world *w = commands_for(p, i);
	struct m_ctx *m = &p->m[i];

	want(p, i, world_messages(w, msgs, QUEUE + 1), m->nmsgs, "the number of messages");
	for (unsigned n = 0; n < m->nmsgs; n++)
		if (memcmp(&msgs[n], &m->queue[n], sizeof(msgs[n])) != 0)
			fail_msg("%s: task %u: message %u is type %u set %u cpu %u pmds 0x%" PRIx64
				 ", not type %u set %u cpu %u pmds 0x%" PRIx64,
				p->seen, i, n, msgs[n].type, msgs[n].set, msgs[n].cpu,
				msgs[n].pmds[0], m->queue[n].type, m->queue[n].set, m->queue[n].cpu,
				m->queue[n].pmds[0]);
	m->nmsgs = 0;
}

static void check_pmd(struct play *p, unsigned i, unsigned set, unsigned d)
{
	const struct pmu_pmd *pmd = &p->c.w.pmu->pmds[d];
	const struct m_pmd *m = &p->m[i].set[set].pmd[d];
	struct cmd_reg is = world_pmd(&p->c.w, ids[set], pmd->num);
	bool counts_down = p->m[i].set[set].flags & SET_OVFL_SWITCH;
	unsigned width = p->c.task[i].pmu->pmds[d].width; /* the widest type's, if not loaded */
	uint64_t value = m->value;
	char what[48];

	if (m->conf.flags & PMD_NO64)
		value &= width == 64 ? UINT64_MAX : (1ULL << width) - 1;
	snprintf(what, sizeof(what), "pmd%u of set %u", pmd->num, ids[set]);
	want(p, i, is.value, value, what);
	want(p, i, is.last_reset, m->last_reset, "what it was last reset to");
	want(p, i, is.overflows, m->overflows, "how often it has overflowed");
	want(p, i, is.thresh_left, counts_down ? m->left : 0, "what is left of its threshold");
	want(p, i, is.gaps.n, m->gaps.n, what);
	want(p, i, is.gaps.ns, m->gaps.ns, what);
	assert_memory_equal(&is.conf, &m->conf, sizeof(is.conf));
}

static void check(struct play *p, unsigned i)
{
	struct world *w = commands_for(p, i);
	const struct m_ctx *m = &p->m[i];
	struct ctx_info info = world_info(w);

	want(p, i, info.state, m->state, "the state");
	want(p, i, info.set, ids[m->active], "the active set");
	want(p, i, info.ended, m->ended, "that it has ended");
	want(p, i, info.cpu, m->cpu, "its CPU");
	want(p, i, info.gaps, m->gaps, "the number of gaps");
	want(p, i, p->c.task[i].ovfl.block, m->block, "that its thread stands still");
	for (unsigned set = 0; set < m->nsets; set++) {
		const struct m_set *s = &m->set[set];
		struct cmd_evtset is = world_set_info(w, ids[set]);

		want(p, i, is.runs, s->runs, "the runs of a set");
		want(p, i, is.active_ns, s->active_ns, "the time of a set");
		want(p, i, is.remaining_ns, s->flags & SET_TIME_SWITCH ? s->remaining : 0,
			"what is left of the time of a set");
		for (unsigned d = 0; d < p->c.w.pmu->npmds; d++) {
			want(p, i, regset_has(&is.switch_pmds, p->c.w.pmu->pmds[d].num),
				s->triggered >> d & 1, "whether that PMD had it switched");
			check_pmd(p, i, set, d);
		}
	}
}

/* On with it, from whatever state it is in. */
static void go_on(struct play *p, unsigned i)
{
	static const enum cmd_verb verbs[] = {
		[CTX_UNLOADED] = CMD_LOAD, [CTX_LOADED] = CMD_START, [CTX_MASKED] = CMD_RESTART};

	if (p->m[i].state == CTX_RUNNING)
		get_in(p, i, below(&p->rnd, LINES));
	else
		do_verb(p, i, verbs[p->m[i].state]);
}

static void random_command(struct play *p, unsigned i)
{
	static const enum cmd_verb verbs[] = {CMD_LOAD, CMD_START, CMD_RESTART, CMD_STOP, CMD_POLL,
		CMD_SWITCH, CMD_UNLOAD, CMD_END};

	switch (below(&p->rnd, 16)) {
	case 0:
		write_pmc(p, i);
		break;
	case 1:
	case 2:
		write_pmd(p, i);
		break;
	case 3:
		write_set(p, i);
		break;
	case 4:
	case 5:
		do_verb(p, i, verbs[below(&p->rnd, one_in(p, 3) ? 8 : 6)]);
		break;
	case 6:
	case 7:
		check(p, i);
		break;
	case 8:
		take_messages(p, i);
		break;
	default:
		go_on(p, i);
	}
	if (p->m[i].line < 0 && p->m[i].nmsgs > QUEUE - 2)
		take_messages(p, i);
}

/* A counter may be left alone for long if no overflow of it is to be answered again and again. */
static void time_passes(struct play *p)
{
	uint64_t wrap = pmu_wrap_ns(p->c.w.pmu, ~0U), ns = below(&p->rnd, NS_MAX);
	bool plain = true;

	for (unsigned i = 0; i < TASKS; i++)
		if (p->m[i].line >= 0 && !p->m[i].plain)
			plain = false;
	if (plain && wrap && one_in(p, 8))
		ns = random_bits(&p->rnd) % (wrap / 2);
	for (unsigned i = 0; i < TASKS; i++)
		if (p->m[i].line >= 0 && hw_now(p->c.w.hw) - p->m[i].since + ns > wrap)
			get_out(p, i);
	tell(p, "%" PRIu64 " ns pass", ns);
	hw_advance(p->c.w.hw, ns);
}

static void task_open(struct play *p, unsigned i)
{
	static const unsigned flags[] = {
		0, 0, CTX_NOTIFY_BLOCK, CTX_RAW, CTX_OVFL_NO_MSG, CTX_GAPS, CTX_GAPS};
	struct m_ctx *m = &p->m[i];
	struct command cmd = {.verb = CMD_FLAGS, .setup.flags = flags[below(&p->rnd, 7)]};
	struct world *w;

	*m = (struct m_ctx){
		.line = -1, .nsets = 1 + below(&p->rnd, SETS), .flags = cmd.setup.flags};
	m->plain = one_in(p, 3);
	m->overhead = one_in(p, 2) ? 0 : below(&p->rnd, 10000);
	w = commands_for(p, i);
	WANT(w, 0, world_command(w, &cmd));
	for (unsigned set = 0; set < m->nsets; set++) {
		if (set)
			WANT(w, 0, world_set(w, CMD_EVTSET_NEW, ids[set]));
		for (unsigned row = 0; row < p->c.w.pmu->npmcs; row++)
			m->set[set].pmc[row] = p->c.w.pmu->pmcs[row].def;
		for (unsigned d = 0; d < p->c.w.pmu->npmds; d++)
			p->c.task[i].sets[set]->pmd[d].switch_overhead = m->overhead;
	}
	for (unsigned n = 0; n < 6 * m->nsets; n++) {
		write_pmc(p, i);
		write_pmd(p, i);
	}
	write_set(p, i);
}

static void play(const struct world_model *model, uint64_t seed, bool tells)
{
	struct play p = {.rnd = seed * 0x100000001b3, .tell = tells};

	ctxsw_open(&p.c, model);
	snprintf(p.seen, sizeof(p.seen), "%s, seed %" PRIu64, model->name, seed);
	for (unsigned i = 0; i < TASKS; i++)
		task_open(&p, i);
	for (unsigned step = 0; step < STEPS; step++) {
		unsigned i = below(&p.rnd, TASKS);

		snprintf(p.seen, sizeof(p.seen), "%s, seed %" PRIu64 ", step %u", model->name, seed,
			step);
		if (one_in(&p, 3))
			time_passes(&p);
		if (p.m[i].line < 0)
			random_command(&p, i);
		else if (one_in(&p, 2))
			get_out(&p, i);
	}
	for (unsigned i = 0; i < TASKS; i++) {
		if (p.m[i].line >= 0)
			get_out(&p, i);
		check(&p, i);
		take_messages(&p, i);
	}
	ctxsw_end(&p.c);
}

TEST(lives)
{
	const char *one = getenv("PROPERTY_SEED"), *n = getenv("PROPERTY_SEEDS");
	uint64_t first = one ? strtoul(one, NULL, 10) : 0;
	uint64_t end = one ? first + 1 : n ? strtoul(n, NULL, 10) : SEEDS;

	/* Threads have no counters of a package. */
	for (const struct world_model *m = world_models; m->name; m++)
		for (uint64_t seed = first; !m->nshared && seed < end; seed++)
			play(m, seed, one);
}
