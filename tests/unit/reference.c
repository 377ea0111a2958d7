// SPDX-License-Identifier: MIT
#include "tests/unit/reference.h"
#include "tests/unit/unit.h"

#include "tests/unit/counted.h"

#define BIT(d) (1U << (d))

static const uint64_t second = 1000000000;

/* Prints each step, and the register accesses before it, if @r->tell is set. */
__attribute__((format(printf, 2, 3))) static void tell(struct reference *r, const char *fmt, ...)
{
	va_list args;

	if (!r->tell)
		return;
	if (r->accesses.n)
		fputs(r->accesses.p, stdout);
	r->accesses.n = 0;
	hw_log(r->w->hw, &r->accesses);
	printf("# %s at %" PRIu64 ": ", r->seen, hw_now(r->w->hw));
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

static void set_init(struct reference *r, struct ref_set *s, unsigned id)
{
	*s = (struct ref_set){.id = (uint16_t)id};
	for (unsigned p = 0; p < r->w->pmu->npmcs; p++)
		s->pmc[p] = r->w->pmu->pmcs[p].def;
}

void reference_init(struct reference *r, struct world *w)
{
	*r = (struct reference){.w = w, .nsets = 1};
	set_init(r, &r->sets[0], 0);
}

struct ref_set *reference_set(struct reference *r, unsigned id)
{
	for (unsigned i = 0; i < r->nsets; i++)
		if (r->sets[i].id == id)
			return &r->sets[i];
	return NULL;
}

struct ref_set *reference_active(struct reference *r)
{
	return reference_set(r, r->active);
}

static void set_state(struct reference *r, enum ctx_state state, bool throttled)
{
	if (r->state != CTX_RUNNING)
		r->read_at = hw_now(r->w->hw);
	r->state = state;
	r->throttled = throttled;
}

/* How many events the active set's counter row @d would have counted in the next @ns. */
static uint64_t events_in(struct reference *r, unsigned d, uint64_t ns)
{
	uint64_t now = hw_now(r->w->hw);

	return counted(r->w, reference_active(r)->pmc, d, now, now + ns);
}

void reference_advance(struct reference *r, uint64_t ns)
{
	struct ref_set *s = reference_active(r);

	if (r->state == CTX_RUNNING && !r->offline) {
		for (unsigned d = 0; d < r->w->pmu->npmds; d++)
			s->pmd[d].more += events_in(r, d, ns);
		s->active_ns += ns;
		s->remaining -= s->remaining < ns ? s->remaining : ns;
	}
	hw_advance(r->w->hw, ns);
}

/* ---- The generator of the specification's 3.4.2, with a division. */

static uint64_t draw(struct ref_pmd *p)
{
	uint64_t bits = 0;

	for (unsigned shift = 0; shift < 64 && p->conf.mask >> shift; shift += 31) {
		p->random = p->random * 16807 % 0x7fffffff;
		bits |= p->random << shift;
	}
	return bits & p->conf.mask;
}

static uint64_t seeded(uint32_t seed)
{
	return seed % 0x7fffffff ? seed % 0x7fffffff : 1;
}

static uint64_t reset_value(struct ref_pmd *p, bool is_long)
{
	uint64_t base = is_long ? p->conf.long_reset : p->conf.short_reset;

	p->last_reset = base + (p->conf.flags & PMD_RANDOM ? draw(p) : 0);
	return p->last_reset;
}

/* ---- Messages. */

static void put(struct reference *r, const struct pfm_msg *msg)
{
	if (r->nmsgs + (r->lost ? 1 : 0) >= REF_QUEUE) {
		r->lost++;
		return;
	}
	if (r->lost)
		r->queue[r->nmsgs++] = (struct pfm_msg){.type = PFM_MSG_LOST, .count = r->lost};
	r->lost = 0;
	r->queue[r->nmsgs++] = *msg;
}

static void notify(struct reference *r, uint32_t type, uint32_t rows)
{
	struct pfm_msg msg = {.type = type, .set = r->active, .cpu = WORLD_CPU};

	if (r->no_messages)
		return;
	for (unsigned d = 0; d < r->w->pmu->npmds; d++)
		if (rows & BIT(d))
			msg.pmds[r->w->pmu->pmds[d].num / 64] |= 1ULL
								 << r->w->pmu->pmds[d].num % 64;
	put(r, &msg);
}

/* ---- Overflow. */

/* Returns true if it is one too many within a second. */
static bool count_overflow(struct reference *r, struct ref_pmd *p)
{
	uint64_t now = hw_now(r->w->hw);

	p->overflows++;
	if (p->left)
		p->left--;
	if (!r->in_window || now - r->window >= second) {
		r->window = now;
		r->in_window = 0;
	}
	r->in_window++;
	return r->in_window > r->w->limits.overflow_rate_max;
}

static bool is_trigger(const struct ref_set *s, const struct ref_pmd *p)
{
	return (s->flags & SET_OVFL_SWITCH) && p->conf.thresh && !p->left;
}

/* Resets the PMDs in the reset lists of @rows, except those in @but. */
static void reset_lists(
	struct reference *r, struct ref_set *s, uint32_t rows, uint32_t but, bool is_long)
{
	const struct pmu *pmu = r->w->pmu;

	for (unsigned d = 0; d < pmu->npmds; d++) {
		bool listed = false;

		for (unsigned by = 0; by < pmu->npmds; by++)
			if ((rows & BIT(by)) &&
				regset_has(&s->pmd[by].conf.reset, pmu->pmds[d].num))
				listed = true;
		if (listed && !(but & BIT(d)))
			s->pmd[d].value = reset_value(&s->pmd[d], is_long);
	}
}

static void reset_pending(struct reference *r, struct ref_set *s, bool is_long)
{
	for (unsigned d = 0; d < r->w->pmu->npmds; d++)
		if (s->pending & BIT(d))
			s->pmd[d].value = reset_value(&s->pmd[d], is_long);
	reset_lists(r, s, s->pending, s->pending, is_long);
	s->pending = 0;
}

/* All @rows have overflowed: counts each once and leaves it pending; some may be triggers. */
static bool leave_pending(struct reference *r, struct ref_set *s, uint32_t rows)
{
	bool too_many = false;

	for (unsigned d = 0; d < r->w->pmu->npmds; d++) {
		if (!(rows & BIT(d)))
			continue;
		too_many |= count_overflow(r, &s->pmd[d]);
		s->pending |= BIT(d);
		if (is_trigger(s, &s->pmd[d]))
			r->due |= BIT(d);
	}
	return too_many;
}

static void account_notified(struct reference *r, struct ref_set *s, uint32_t over)
{
	bool too_many = leave_pending(r, s, over);

	r->mask |= REF_MASK;
	notify(r, PFM_MSG_OVFL, over);
	if (!too_many)
		return;
	r->mask |= REF_THROTTLE;
	notify(r, PFM_MSG_THROTTLE, over);
}

/* One counter's wraps, one by one. Returns true if the throttle trips. */
static bool wrap_around(struct reference *r, struct ref_set *s, unsigned d, uint32_t *reset)
{
	struct ref_pmd *p = &s->pmd[d];
	uint64_t excess;

	do {
		bool too_many = count_overflow(r, p);

		if (is_trigger(s, p))
			r->due |= BIT(d);
		if (too_many) {
			s->pending |= BIT(d);
			return true;
		}
		excess = p->value;
		p->value = reset_value(p, false) + excess;
		*reset |= BIT(d);
	} while (p->value < excess);
	return false;
}

static void account_unnotified(struct reference *r, struct ref_set *s, uint32_t over)
{
	uint32_t reset = 0;

	for (unsigned d = 0; d < r->w->pmu->npmds; d++) {
		if (!(over & BIT(d)) || !wrap_around(r, s, d, &reset))
			continue;
		leave_pending(r, s, over & ~(BIT(d) | (BIT(d) - 1)));
		r->mask |= REF_THROTTLE;
		notify(r, PFM_MSG_THROTTLE, over);
		break;
	}
	reset_lists(r, s, reset, over, false);
}

/* Adds up what the counters have counted; the rows that have wrapped. */
static uint32_t add_up(struct reference *r, struct ref_set *s)
{
	uint32_t over = 0;

	for (unsigned d = 0; d < r->w->pmu->npmds; d++) {
		struct ref_pmd *p = &s->pmd[d];

		p->value += p->more;
		if (p->value < p->more && !(p->conf.flags & PMD_NO64))
			over |= BIT(d);
		p->more = 0;
	}
	return over;
}

/* Reads the counters and accounts their overflows. */
static void account(struct reference *r)
{
	struct ref_set *s = reference_active(r);
	uint32_t over = add_up(r, s);
	bool notified = false;

	r->read_at = hw_now(r->w->hw);
	for (unsigned d = 0; d < r->w->pmu->npmds; d++)
		if ((over & BIT(d)) && (s->pmd[d].conf.flags & PMD_NOTIFY))
			notified = true;
	if (notified)
		account_notified(r, s, over);
	else if (over)
		account_unnotified(r, s, over);
}

bool reference_unseen(struct reference *r, unsigned d)
{
	const struct ref_pmd *p = &reference_active(r)->pmd[d];

	return p->value + p->more < p->more;
}

/* ---- Switching. */

static struct ref_set *next_of(struct reference *r, struct ref_set *s)
{
	if (s->flags & SET_EXPL_NEXT)
		return reference_set(r, s->next);
	return s + 1 < r->sets + r->nsets ? s + 1 : r->sets;
}

static void activate(struct reference *r, struct ref_set *s)
{
	r->active = s->id;
	r->due = 0;
	s->runs++;
	s->remaining = s->flags & SET_TIME_SWITCH ? s->timeout : 0;
	for (unsigned d = 0; d < r->w->pmu->npmds; d++)
		s->pmd[d].left = s->pmd[d].conf.thresh;
}

static void switch_set(struct reference *r, bool is_long)
{
	struct ref_set *s = reference_active(r);

	s->triggered = r->due;
	s = next_of(r, s);
	activate(r, s);
	reset_pending(r, s, is_long);
}

static bool time_over(const struct ref_set *s)
{
	return (s->flags & SET_TIME_SWITCH) && !s->remaining;
}

bool reference_time_over(struct reference *r)
{
	return time_over(reference_active(r));
}

/* Follows each reading of the counters, except by CMD_READ. */
static void mask_or_switch(struct reference *r)
{
	if (r->mask)
		set_state(r, CTX_MASKED, r->mask & REF_THROTTLE);
	else if (r->due || time_over(reference_active(r)))
		switch_set(r, false);
	r->mask = 0;
}

/* ---- Commands: what each has to return, and what it then does. */

static int load_error(struct reference *r, int set)
{
	if (r->state != CTX_UNLOADED)
		return -EBUSY;
	if (set >= 0 && !reference_set(r, (unsigned)set))
		return -EINVAL;
	for (unsigned i = 0; i < r->nsets; i++) {
		struct ref_set *s = &r->sets[i];

		if (!next_of(r, s) || ((s->flags & SET_TIME_SWITCH) && !s->timeout))
			return -EINVAL;
	}
	return 0;
}

/* To leave a set by force, its counters are stopped and read: true if that masks instead. */
static bool leave(struct reference *r)
{
	account(r);
	if (r->mask)
		mask_or_switch(r);
	else if (r->due)
		reference_active(r)->triggered = r->due;
	return r->state == CTX_MASKED;
}

static int error_of(struct reference *r, enum cmd_verb verb, int set)
{
	switch (verb) {
	case CMD_LOAD:
		return load_error(r, set);
	case CMD_START:
		if (r->state == CTX_MASKED)
			return -EBUSY;
		if (set >= 0 && !reference_set(r, (unsigned)set))
			return -EINVAL;
		return r->state == CTX_UNLOADED ? -EINVAL : 0;
	case CMD_RESTART:
		if (r->state == CTX_UNLOADED)
			return -EINVAL;
		return r->state == CTX_MASKED || r->blind || reference_active(r)->pending ? 0
											  : -EBUSY;
	case CMD_STOP:
		return r->state == CTX_UNLOADED ? -EINVAL : 0;
	default:
		return 0;
	}
}

static void load(struct reference *r, int set)
{
	for (unsigned i = 0; i < r->nsets; i++)
		r->sets[i].triggered = 0;
	r->nmsgs = 0;
	r->lost = 0;
	activate(r, reference_set(r, set < 0 ? 0 : (unsigned)set));
	set_state(r, CTX_LOADED, false);
}

/* The last reading: overflows are notified, but nothing is masked or switched any more. */
static void stop(struct reference *r, enum ctx_state to)
{
	if (r->state == CTX_RUNNING)
		account(r);
	r->mask = 0;
	set_state(r, to, false);
}

static void restart(struct reference *r)
{
	if (r->state == CTX_RUNNING) {
		account(r);
		if (!r->mask && !r->due)
			reset_pending(r, reference_active(r), true);
		mask_or_switch(r);
		return;
	}
	if (r->state == CTX_LOADED) {
		reset_pending(r, reference_active(r), true);
		return;
	}
	if (r->due)
		switch_set(r, true);
	else
		reset_pending(r, reference_active(r), true);
	set_state(r, CTX_RUNNING, false);
}

/* It is a switch, be it running or not, but a run only of another set. */
static void begin(struct reference *r, struct ref_set *s)
{
	bool again = s->id == r->active;

	activate(r, s);
	s->runs -= again;
	reset_pending(r, s, false);
}

static void apply(struct reference *r, enum cmd_verb verb, int set)
{
	switch (verb) {
	case CMD_LOAD:
		load(r, set);
		break;
	case CMD_START:
		if (set >= 0)
			begin(r, reference_set(r, (unsigned)set));
		set_state(r, CTX_RUNNING, false);
		break;
	case CMD_RESTART:
		restart(r);
		break;
	case CMD_STOP:
		stop(r, CTX_LOADED);
		break;
	case CMD_UNLOAD:
		stop(r, CTX_UNLOADED);
		break;
	default: /* a reading */
		if (r->state == CTX_RUNNING) {
			account(r);
			mask_or_switch(r);
		}
	}
}

static void check_state(struct reference *r)
{
	struct ctx_info info = world_info(r->w);

	if (info.state != r->state || info.throttled != r->throttled)
		fail_msg("%s: the state is %d%s, not %d%s", r->seen, info.state,
			info.throttled ? " throttled" : "", r->state,
			r->throttled ? " throttled" : "");
	if (r->state != CTX_UNLOADED && (info.cpu != WORLD_CPU || info.set != r->active))
		fail_msg("%s: CPU %u, set %u is active, not set %u", r->seen, info.cpu, info.set,
			r->active);
}

/* Changes of state are counted, switches of set are not. */
static void check_changes(struct reference *r, enum ctx_state was, bool throttled)
{
	uint64_t changes = world_info(r->w).changes;
	bool changed = was != r->state || throttled != r->throttled;

	if (!r->excused && changed != (changes != r->changes))
		fail_msg("%s: %" PRIu64 " changes of state after %" PRIu64, r->seen, changes,
			r->changes);
	r->changes = changes;
}

static bool may_fail(const struct reference *r, int rc)
{
	return (r->excused || r->blind) && (rc == -EIO || rc == -EBUSY || rc == -ENXIO);
}

/* A switch was interfered with: takes over its outcome from the core. */
static void adopt(struct reference *r, const struct ref_set *to)
{
	struct ctx_info info = world_info(r->w);

	if (info.set != r->active && info.set != to->id)
		fail_msg("%s: from set %u to set %u", r->seen, r->active, info.set);
	account(r);
	if (info.set != r->active)
		activate(r, reference_set(r, info.set));
	set_state(r, info.state, info.throttled);
}

static void believe(struct reference *r)
{
	struct ctx_info info = world_info(r->w);

	set_state(r, info.state, info.throttled);
	if (info.state != CTX_UNLOADED)
		r->active = info.set;
	if (!reference_active(r))
		fail_msg("%s: set %u is active, which there is not", r->seen, info.set);
}

static void after(struct reference *r, enum cmd_verb verb, int set, int rc, int want)
{
	bool was_running = r->state == CTX_RUNNING;

	if (r->blind)
		believe(r);
	else if (r->excused && was_running &&
		 (verb == CMD_POLL || verb == CMD_SWITCH || (verb == CMD_START && rc < 0 && !want)))
		adopt(r, set < 0 ? next_of(r, reference_active(r))
				 : reference_set(r, (unsigned)set));
	else if (rc == want ? !want : verb == CMD_UNLOAD)
		apply(r, verb, set);
}

void reference_do(struct reference *r, enum cmd_verb verb, int set)
{
	enum ctx_state was = r->state;
	bool throttled = r->throttled;
	int want = error_of(r, verb, set), rc;

	if (!want && verb == CMD_START && set >= 0 && was == CTX_RUNNING && !r->blind && leave(r))
		want = -EBUSY;
	rc = set < 0 ? world_do(r->w, verb) : world_set(r->w, verb, (unsigned)set);

	if (rc != want && !may_fail(r, rc))
		fail_msg("%s: verb %d is %s, not %s: %s", r->seen, verb, rc ? err_name(-rc) : "0",
			want ? err_name(-want) : "0", r->w->err.text);
	after(r, verb, set, rc, want);
	tell(r, "verb %d set %d: %d, then state %d%s set %u", verb, set, rc, r->state,
		r->throttled ? " throttled" : "", r->active);
	check_state(r);
	check_changes(r, was, throttled);
}

/* ---- Time. */

/* Whether a counter whose overflow matters would have wrapped @ns from now. */
static bool wraps_in(struct reference *r, uint64_t ns)
{
	struct ref_set *s = reference_active(r);

	for (unsigned d = 0; d < r->w->pmu->npmds; d++) {
		struct ref_pmd *p = &s->pmd[d];
		uint64_t more = p->more + events_in(r, d, ns);
		bool trigger = (s->flags & SET_OVFL_SWITCH) && p->conf.thresh;

		if (!(p->conf.flags & PMD_NO64) && (trigger || (p->conf.flags & PMD_NOTIFY)) &&
			p->value + more < more)
			return true;
	}
	return false;
}

/*
 * The next poll is @ns away: it must not come later than a tick after what it is to find. Polls
 * are a tick apart at least.
 */
static void check_in_time(struct reference *r, uint64_t ns)
{
	uint64_t tick = r->w->limits.tick_ns;
	struct ref_set *s = reference_active(r);

	if (r->state != CTX_RUNNING || r->excused || r->blind || ns <= tick)
		return;
	if ((s->flags & SET_TIME_SWITCH) && s->remaining < ns)
		fail_msg("%s: time is over in %" PRIu64 " ns, and nothing is due for %" PRIu64,
			r->seen, s->remaining, ns);
	if (wraps_in(r, ns - tick - 1))
		fail_msg("%s: a counter wraps, and nothing is due for %" PRIu64 " ns", r->seen, ns);
}

void reference_pass(struct reference *r, uint64_t ns, unsigned polls)
{
	unsigned idle = 0;
	enum cmd_verb verb;
	uint64_t in;

	while (world_due(r->w, ns, &in, &verb)) {
		check_in_time(r, in);
		reference_advance(r, in);
		ns -= in;
		if (verb == CMD_SWITCH && !r->excused && !r->blind &&
			!time_over(reference_active(r)))
			fail_msg("%s: the time of set %u is not over", r->seen, r->active);
		reference_do(r, verb, -1);
		idle = in ? 0 : idle + 1;
		if (idle > 4)
			fail_msg("%s: ctx_wake() goes on and on", r->seen);
		if (!polls--)
			return;
	}
	check_in_time(r, ns);
	reference_advance(r, ns);
}

void reference_work(struct reference *r)
{
	enum cmd_verb verb;
	uint64_t in;

	for (unsigned i = 0; world_due(r->w, 0, &in, &verb) && i < 5; i++)
		reference_do(r, verb, -1);
}

/* ---- Registers. */

static uint64_t pmc_value(const struct pmu_pmc *pmc, uint64_t value)
{
	return (value & ~pmc->rsvd) | (pmc->def & pmc->rsvd);
}

/* Of Itanium 2, as in Linux's pfm_mck_pmc_check(): check_case1. */
static bool illegal_on_itanium(
	const struct ref_set *s, const struct pmu *pmu, unsigned row, uint64_t v)
{
	uint64_t val8 = 0, val13 = 0, val14 = 0, at14;

	for (unsigned p = 0; p < pmu->npmcs; p++) {
		uint64_t is = p == row ? v : s->pmc[p];

		val8 = pmu->pmcs[p].num == 8 ? is : val8;
		val13 = pmu->pmcs[p].num == 13 ? is : val13;
		val14 = pmu->pmcs[p].num == 14 ? is : val14;
	}
	at14 = (val14 >> 1 & 1) == 0 || (val14 >> 4 & 1) == 0;
	return (val13 >> 45 & 0xf) == 0 && (val8 & 1) == 0 && at14;
}

/* A CCCR has to choose an ESCR that there is, unless it has its default. */
static int write_error(
	const struct reference *r, const struct ref_set *s, const struct cmd_reg *reg)
{
	const struct pmu *pmu = r->w->pmu;
	uint64_t value;
	unsigned p;

	if (reg->pmd)
		return 0;
	p = (unsigned)pmu_find_pmc(pmu, reg->num);
	value = pmc_value(&pmu->pmcs[p], reg->value);
	if (pmu->space == PMU_SPACE_IPF)
		return illegal_on_itanium(s, pmu, p, value) ? -EINVAL : 0;
	return pmu->pmcs[p].escr_select && value != pmu->pmcs[p].def &&
			       pmu_escr_of(pmu, p, value) < 0
		       ? -EINVAL
		       : 0;
}

static void take_pmd(struct ref_set *s, unsigned d, const struct cmd_reg *reg)
{
	s->pmd[d] = (struct ref_pmd){
		.conf = reg->conf,
		.value = reg->value,
		.last_reset = reg->value,
		.left = reg->conf.thresh,
		.random = seeded(reg->conf.seed),
	};
	s->pending &= ~BIT(d);
}

void reference_write(struct reference *r, const struct cmd_reg *reg)
{
	struct cmd_reg copy = *reg;
	struct command cmd = {.verb = CMD_WRITE, .vector.regs = &copy, .vector.nregs = 1};
	struct ref_set *s = reference_set(r, reg->set);
	const struct pmu *pmu = r->w->pmu;
	int rc = world_command(r->w, &cmd), want = write_error(r, s, reg);

	tell(r,
		"%s%u of set %u = 0x%" PRIx64 " short 0x%" PRIx64 " long 0x%" PRIx64
		" thresh %" PRIu64 " mask 0x%" PRIx64 " flags %u: %d",
		reg->pmd ? "pmd" : "pmc", reg->num, reg->set, reg->value, reg->conf.short_reset,
		reg->conf.long_reset, reg->conf.thresh, reg->conf.mask, reg->conf.flags, rc);
	if (rc != want && !may_fail(r, rc))
		fail_msg("%s: writing %s%u of set %u is %s, not %s: %s", r->seen,
			reg->pmd ? "pmd" : "pmc", reg->num, reg->set, rc ? err_name(-rc) : "0",
			want ? err_name(-want) : "0", r->w->err.text);
	if (rc == 0 && reg->pmd) {
		take_pmd(s, (unsigned)pmu_find_pmd(pmu, reg->num), reg);
	} else if (rc == 0) {
		unsigned p = (unsigned)pmu_find_pmc(pmu, reg->num);

		s->pmc[p] = pmc_value(&pmu->pmcs[p], reg->value);
	}
	check_state(r);
}

static uint64_t shown(const struct reference *r, const struct ref_pmd *p, unsigned d)
{
	unsigned width = r->w->pmu->pmds[d].width;
	uint64_t value = p->value + p->more;

	return p->conf.flags & PMD_NO64 && width < 64 ? value & ((1ULL << width) - 1) : value;
}

static void differs(const struct reference *r, const struct cmd_reg *reg, const char *what,
	uint64_t is, uint64_t want)
{
	if (is != want)
		fail_msg("%s: %s%u of set %u: %s is 0x%" PRIx64 ", not 0x%" PRIx64, r->seen,
			reg->pmd ? "pmd" : "pmc", reg->num, reg->set, what, is, want);
}

static void compare_pmd(struct reference *r, const struct cmd_reg *reg)
{
	unsigned d = (unsigned)pmu_find_pmd(r->w->pmu, reg->num), width = r->w->pmu->pmds[d].width;
	struct ref_set *s = reference_set(r, reg->set);
	const struct ref_pmd *p = &s->pmd[d];
	uint64_t reset = reg->last_reset ^ p->last_reset;

	differs(r, reg, "the value", reg->value, shown(r, p, d));
	differs(r, reg, "the number of overflows", reg->overflows, p->overflows);
	differs(r, reg, "the threshold left", reg->thresh_left,
		s->flags & SET_OVFL_SWITCH ? p->left : 0);
	/* Without emulation, only the counter's own bits mean something. */
	if (p->conf.flags & PMD_NO64 && width < 64)
		reset &= (1ULL << width) - 1;
	differs(r, reg, "the last reset", p->last_reset ^ reset, p->last_reset);
	if (memcmp(&reg->conf.smpl, &p->conf.smpl, sizeof(p->conf.smpl)) != 0 ||
		memcmp(&reg->conf.reset, &p->conf.reset, sizeof(p->conf.reset)) != 0)
		fail_msg("%s: the lists of pmd%u differ", r->seen, reg->num);
	differs(r, reg, "long", reg->conf.long_reset, p->conf.long_reset);
	differs(r, reg, "short", reg->conf.short_reset, p->conf.short_reset);
	differs(r, reg, "thresh", reg->conf.thresh, p->conf.thresh);
	differs(r, reg, "mask", reg->conf.mask, p->conf.mask);
	differs(r, reg, "seed", reg->conf.seed, p->conf.seed);
	differs(r, reg, "eventid", reg->conf.eventid, p->conf.eventid);
	differs(r, reg, "flags", reg->conf.flags, p->conf.flags);
}

static void compare(struct reference *r, const struct cmd_reg *reg)
{
	if (r->blind)
		return;
	if (reg->pmd)
		compare_pmd(r, reg);
	else
		differs(r, reg, "the value", reg->value,
			reference_set(r, reg->set)->pmc[pmu_find_pmc(r->w->pmu, reg->num)]);
}

/* All registers of all sets. */
static unsigned all_registers(const struct reference *r, struct cmd_reg *regs)
{
	const struct pmu *pmu = r->w->pmu;
	unsigned n = 0;

	for (unsigned i = 0; i < r->nsets; i++) {
		for (unsigned p = 0; p < pmu->npmcs; p++)
			regs[n++] = (struct cmd_reg){.num = pmu->pmcs[p].num, .set = r->sets[i].id};
		for (unsigned d = 0; d < pmu->npmds; d++)
			regs[n++] = (struct cmd_reg){
				.pmd = true, .num = pmu->pmds[d].num, .set = r->sets[i].id};
	}
	return n;
}

void reference_check(struct reference *r, unsigned from)
{
	static struct cmd_reg regs[REF_SETS * (PMU_MAX_PMCS + PMU_MAX_PMDS)], turned[COUNT(regs)];
	struct command cmd = {.verb = CMD_READ, .vector.regs = turned};
	int rc;

	cmd.vector.nregs = all_registers(r, regs);
	for (unsigned i = 0; i < cmd.vector.nregs; i++)
		turned[i] = regs[(i + from) % cmd.vector.nregs];
	rc = world_command(r->w, &cmd);
	tell(r, "all %u registers read", cmd.vector.nregs);
	if (rc < 0)
		fail_msg("%s: reading all: %s", r->seen, r->w->err.text);
	if (r->state == CTX_RUNNING)
		account(r);
	for (unsigned i = 0; i < cmd.vector.nregs; i++)
		compare(r, &turned[i]);
	reference_work(r);
}

void reference_check_each(struct reference *r)
{
	static struct cmd_reg regs[REF_SETS * (PMU_MAX_PMCS + PMU_MAX_PMDS)];
	unsigned n = all_registers(r, regs);

	if (r->state == CTX_RUNNING)
		account(r);
	for (unsigned i = 0; i < n; i++) {
		struct command cmd = {.verb = CMD_READ, .vector.regs = &regs[i], .vector.nregs = 1};
		int rc = world_command(r->w, &cmd);

		if (rc < 0 && !(regs[i].pmd && may_fail(r, rc) && rc != -EBUSY))
			fail_msg("%s: reading %s%u: %s", r->seen, regs[i].pmd ? "pmd" : "pmc",
				regs[i].num, r->w->err.text);
		if (rc == 0)
			compare(r, &regs[i]);
	}
}

/* ---- Sets. */

/*
 * @want is what it has to be while unloaded; while loaded it is EBUSY, or an error all the same.
 * Returns true if it was to be done.
 */
static bool set_outcome(struct reference *r, int rc, int want, const char *what, unsigned id)
{
	bool done = !want && r->state == CTX_UNLOADED;

	if (rc != (done ? 0 : want) && (r->state == CTX_UNLOADED || rc != -EBUSY))
		fail_msg("%s: %s set %u is %s, not %s: %s", r->seen, what, id,
			rc ? err_name(-rc) : "0", want ? err_name(-want) : "0", r->w->err.text);
	if (!done && !rc)
		fail_msg("%s: %s set %u while loaded", r->seen, what, id);
	check_state(r);
	return done;
}

void reference_set_new(struct reference *r, unsigned id)
{
	int rc = world_set(r->w, CMD_EVTSET_NEW, id);
	unsigned i = r->nsets;

	tell(r, "new set %u: %d", id, rc);
	if (!set_outcome(r, rc, reference_set(r, id) ? -EEXIST : 0, "making", id))
		return;
	for (; i && r->sets[i - 1].id > id; i--)
		r->sets[i] = r->sets[i - 1];
	set_init(r, &r->sets[i], id);
	r->nsets++;
}

void reference_set_delete(struct reference *r, unsigned id)
{
	int rc = world_set(r->w, CMD_EVTSET_DELETE, id);
	struct ref_set *s = reference_set(r, id);
	int want = !id ? -EINVAL : !s ? -ENOENT : 0;

	tell(r, "delete set %u: %d", id, rc);
	if (!set_outcome(r, rc, want, "deleting", id))
		return;
	for (; s + 1 < r->sets + r->nsets; s++)
		*s = s[1];
	r->nsets--;
	if (r->active == id)
		r->active = 0;
}

static uint64_t effective(const struct limits *l, uint64_t requested)
{
	uint64_t ns = requested > l->tick_ns ? requested : l->tick_ns;

	return (ns + l->timer_ns - 1) / l->timer_ns * l->timer_ns;
}

/* @change names one property. */
void reference_set_write(struct reference *r, const struct cmd_evtset *set)
{
	const unsigned both = SET_OVFL_SWITCH | SET_TIME_SWITCH;
	struct command cmd = {.verb = CMD_EVTSET_WRITE, .evtset = *set};
	struct ref_set *s = reference_set(r, set->id);
	int rc = world_command(r->w, &cmd);
	bool wrong = set->change == EVTSET_FLAGS && (set->flags & both) == both;

	tell(r, "set %u: change %u flags %u timeout %" PRIu64 " next %u (%d): %d", set->id,
		set->change, set->flags, set->timeout_ns, set->next, set->has_next, rc);
	if (!set_outcome(r, rc, wrong ? -EINVAL : 0, "changing", set->id))
		return;
	if (set->change == EVTSET_FLAGS)
		s->flags = set->flags;
	if (set->change == EVTSET_TIMEOUT)
		s->timeout = effective(&r->w->limits, set->timeout_ns);
	if (set->change != EVTSET_NEXT)
		return;
	s->flags &= ~(unsigned)SET_EXPL_NEXT;
	if (set->has_next) {
		s->flags |= SET_EXPL_NEXT;
		s->next = set->next;
	}
}

static void check_set(struct reference *r, const struct ref_set *s)
{
	struct cmd_evtset is = world_set_info(r->w, s->id);
	bool timed = s->flags & SET_TIME_SWITCH;
	bool counted = r->state != CTX_UNLOADED && s->id == r->active;
	struct regset triggered = {0};

	for (unsigned d = 0; d < r->w->pmu->npmds; d++)
		if (s->triggered & BIT(d))
			regset_add(&triggered, r->w->pmu->pmds[d].num);
	if (is.flags != s->flags || is.timeout_ns != s->timeout || is.runs != s->runs ||
		is.active_ns != s->active_ns || (s->flags & SET_EXPL_NEXT && is.next != s->next) ||
		memcmp(&is.switch_pmds, &triggered, sizeof(triggered)) != 0 ||
		((counted || !timed) && is.remaining_ns != (timed ? s->remaining : 0)))
		fail_msg("%s: set %u: flags %u timeout %" PRIu64 " next %u runs %" PRIu64
			 " active %" PRIu64 " remaining %" PRIu64 " triggers 0x%" PRIx64
			 ", not %u %" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 " 0x%" PRIx64,
			r->seen, s->id, is.flags, is.timeout_ns, is.next, is.runs, is.active_ns,
			is.remaining_ns, is.switch_pmds.bits[0], s->flags, s->timeout, s->next,
			s->runs, s->active_ns, s->remaining, triggered.bits[0]);
}

void reference_check_sets(struct reference *r)
{
	for (unsigned i = 0; i < r->nsets; i++)
		check_set(r, &r->sets[i]);
}

/* ---- The queue. */

static void compare_message(
	struct reference *r, const struct pfm_msg *is, const struct pfm_msg *want)
{
	struct pfm_msg m = *want;

	/* The set and CPU of lost messages are not specified. */
	if (m.type == PFM_MSG_LOST) {
		m.set = is->set;
		m.cpu = is->cpu;
	}
	if (memcmp(&m, is, sizeof(m)) != 0)
		fail_msg("%s: a message of type 0x%" PRIx32 ", set %u, count %" PRIu64
			 ", pmds 0x%" PRIx64 ", not 0x%" PRIx32 ", %u, %" PRIu64 ", 0x%" PRIx64,
			r->seen, is->type, is->set, is->count, is->pmds[0], m.type, m.set, m.count,
			m.pmds[0]);
}

/* What was lost is told when all before it has been taken. */
static void tell_loss(struct reference *r, unsigned n)
{
	if (!r->lost || n <= r->nmsgs)
		return;
	r->queue[r->nmsgs++] = (struct pfm_msg){.type = PFM_MSG_LOST, .count = r->lost};
	r->lost = 0;
}

void reference_messages(struct reference *r, unsigned n)
{
	struct pfm_msg msgs[REF_QUEUE + 1];
	unsigned want, got;

	tell_loss(r, n);
	want = n < r->nmsgs ? n : r->nmsgs;
	got = world_messages(r->w, msgs, n);
	if (got != want)
		fail_msg("%s: of %u messages, it takes %u, not %u", r->seen, n, got, want);
	for (unsigned i = 0; i < want; i++)
		compare_message(r, &msgs[i], &r->queue[i]);
	memmove(r->queue, r->queue + want, (r->nmsgs - want) * sizeof(r->queue[0]));
	r->nmsgs -= want;
}
