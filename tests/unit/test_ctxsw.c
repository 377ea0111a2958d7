// SPDX-License-Identifier: MIT
/*
 * Contexts of threads over every CPU model (specification 3.1.7): they come to the registers of a
 * CPU and leave them, and are memory in between. What each counts is what happened while it was
 * in, and nothing else: test_ctxsw_property.c; here is what only single cases show. Some counters
 * count what the model has happen all the time, others what happens when the test says so, on the
 * first line's CPU.
 */
#include "base/nsec.h"
#include "daemon/ctxsw/ctxsw_i.h"
#include "tests/unit/ctxsw_world.h"
#include "tests/unit/unit.h"

enum { US = 1000, MS = 1000000 };

static uint64_t now(struct ctxsw_world *c)
{
	return hw_now(c->w.hw);
}

static uint64_t period(uint64_t n)
{
	return -n;
}

static void write_pmds(struct ctxsw_world *c, unsigned i, uint64_t value)
{
	task(c, i);
	for (unsigned d = 0; d < c->w.model->npmd; d++)
		WANT(&c->w, 0, world_write(&c->w, true, c->w.model->pmd[d].num, value));
}

/* --- Counts are those of the task's own time, to the event */

/* A residency in which a counter may have wrapped twice: its thread must be switched sooner. */
EACH_CTXSW(late)
{
	uint64_t wrap = pmu_wrap_ns(c->w.pmu, ~0U), poll = pmu_poll_ns(c->w.pmu), value, t;

	task_start(c, 0, COUNT_BOTH, 0);
	assert_true(line_sched_in(c, 0, 0));
	WANT_EQ(&c->w, ctx_wake(&c->task[0]).at, now(c) + poll);
	assert_false(ctx_wake(&c->task[0]).switches);
	t = now(c);
	hw_advance(c->w.hw, wrap);
	line_sched_out(c, 0);
	WANT_EQ(&c->w, ctx_wake(&c->task[0]).at, 0);
	task(c, 0);
	WANT_IN(&c->w, 0, c->w.model->pmd[0].num, world_events(&c->w, 0, false, t, now(c)));
	line_run_window(c, 1, 0, wrap + 1);
	task(c, 0);
	for (unsigned i = 0; i < c->w.model->npmd; i++)
		WANT(&c->w, -EIO, world_read(&c->w, true, c->w.model->pmd[i].num, &value));
}

/* --- What is found when it leaves */

/* Makes pmd@i of @set of the task a counter for world_happen(). */
static void arm(struct world *w, unsigned set, unsigned i, uint64_t value, struct pmd_conf conf)
{
	WANT(w, 0, world_write_in(w, set, false, i, world_idle_selector(w, i)));
	WANT(w, 0, world_write_pmd(w, set, i, value, &conf));
}

/* Loads task 0, whose PMDs are armed, and starts it. */
static void arm_start(struct ctxsw_world *c)
{
	task_load(c, 0);
	WANT(&c->w, 0, line_prepare(c, 0, 0));
	WANT(&c->w, 0, world_do(&c->w, CMD_START));
}

/* @n events of pmd@i happen while it is on the first CPU, and then it leaves. */
static struct world *happen(struct ctxsw_world *c, unsigned i, uint64_t n)
{
	assert_true(line_sched_in(c, 0, 0));
	world_happen(&c->w, i, n);
	line_sched_out(c, 0);
	return task(c, 0);
}

static void want_state(struct ctxsw_world *c, enum ctx_state state, unsigned set, int line)
{
	struct ctx_info info = world_info(&c->w);

	if (info.state != state || (state != CTX_UNLOADED && info.set != set))
		fail_msg("%s, line %d: the state is %d with set %u, not %d with set %u",
			c->w.model->name, line, info.state, info.set, state, set);
}
#define WANT_IS(c, state, set) want_state(c, state, set, __LINE__)

static void want_all(struct ctxsw_world *c, unsigned set, unsigned i, uint64_t value,
	uint64_t overflows, uint64_t last_reset, int line)
{
	struct cmd_reg r = world_pmd(&c->w, set, i);

	if (r.value != value || r.overflows != overflows || r.last_reset != last_reset)
		fail_msg("%s, line %d: pmd%u of set %u is 0x%" PRIx64 " after %" PRIu64
			 " overflows, last reset to 0x%" PRIx64 "; not 0x%" PRIx64 ", %" PRIu64
			 ", 0x%" PRIx64,
			c->w.model->name, line, i, set, r.value, r.overflows, r.last_reset, value,
			overflows, last_reset);
}
#define WANT_ALL(c, set, i, value, overflows, last_reset)                                          \
	want_all(c, set, i, value, overflows, last_reset, __LINE__)

/* The next message is of task 0, on the CPU @cpu. */
static void want_message(
	struct ctxsw_world *c, uint32_t type, unsigned set, unsigned cpu, uint64_t pmds, int line)
{
	struct pfm_msg msg, want = {
				    .type = type,
				    .set = (uint16_t)set,
				    .cpu = (uint16_t)cpu,
				    .pid = TASK_PID,
				    .tid = TASK_TID,
				    .pmds = {pmds},
			    };

	world_want(&c->w, world_message(&c->w, &msg), 0, "taking a message", line);
	if (memcmp(&msg, &want, sizeof(msg)) != 0)
		fail_msg("%s, line %d: the message is type 0x%" PRIx32
			 " set %u cpu %u pid %u tid %u pmds 0x%" PRIx64 ", not type 0x%" PRIx32
			 " set %u cpu %u pmds 0x%" PRIx64,
			c->w.model->name, line, msg.type, msg.set, msg.cpu, msg.pid, msg.tid,
			msg.pmds[0], type, set, cpu, pmds);
}
#define WANT_MSG(c, type, set, pmds) want_message(c, type, set, WORLD_CPU, pmds, __LINE__)

static void set_flags(struct world *w, unsigned flags)
{
	struct command cmd = {.verb = CMD_FLAGS, .setup.flags = flags};

	WANT(w, 0, world_command(w, &cmd));
}

/* As said by flags: silent, and for threads only. */
EACH_CTXSW(by_flags)
{
	struct command load = {.verb = CMD_LOAD, .tid = TASK_TID, .load.untraced = true};
	struct command load_cpu = {.verb = CMD_LOAD, .load.cpu = 3};
	struct world *w = task(c, 0);

	set_flags(w, CTX_NOTIFY_BLOCK);
	WANT(w, -EINVAL, world_command(w, &load));
	WANT(w, -EINVAL, world_command(w, &load_cpu));
	set_flags(w, CTX_SYSTEM_WIDE);
	load.load.untraced = false;
	WANT(w, -EINVAL, world_command(w, &load));
	set_flags(w, CTX_OVFL_NO_MSG);
	w->rights.thread = false;
	WANT(w, -EPERM, world_command(w, &load));
	w->rights.thread = true;
	w->rights.system = false;
	arm(w, 0, 0, period(10), (struct pmd_conf){.flags = PMD_NOTIFY});
	WANT(w, 0, world_command(w, &load));
	w->rights.system = true;
	WANT(w, -EBUSY, world_command(w, &load));
	WANT(w, -EBUSY, world_command(w, &load_cpu));
	WANT(w, 0, line_prepare(c, 0, 0));
	WANT(w, 0, world_do(w, CMD_START));
	happen(c, 0, 10);
	WANT_IS(c, CTX_MASKED, 0);
	WANT_NO_MESSAGE(w);
	WANT_EQ(w, c->task[0].count.notified, 1);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT(w, -EINVAL, world_command(w, &load_cpu));
	WANT(w, 0, world_command(w, &load));
}

EACH_CTXSW(too_many)
{
	const struct pmd_conf conf = {.short_reset = period(10)};
	struct world *w = task(c, 0);

	w->limits.overflow_rate_max = 3;
	arm(w, 0, 0, period(10), conf);
	arm_start(c);
	happen(c, 0, 30);
	WANT_IS(c, CTX_RUNNING, 0);
	happen(c, 0, 10);
	WANT_IS(c, CTX_MASKED, 0);
	assert_true(world_info(w).throttled);
	WANT_MSG(c, PFM_MSG_THROTTLE, 0, 1);
	WANT_NO_MESSAGE(w);
	hw_advance(w->hw, 1000 * MS);
	WANT(w, 0, world_do(w, CMD_RESTART));
	assert_false(world_info(w).throttled);
}

static uint64_t switch_pmds(struct world *w, unsigned set)
{
	return world_set_info(w, set).switch_pmds.bits[0];
}

/* While it is in, it says when its ctxsw thread is to take it out. */
EACH_CTXSW(wakes)
{
	struct context *ctx = &c->task[0];
	struct world *w = task(c, 0);
	uint64_t t;

	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	world_set_timed(w, 0, MS);
	arm(w, 0, 0, 0, (struct pmd_conf){0});
	task_load(c, 0);
	WANT(w, 0, line_prepare(c, 0, 0));
	WANT(w, 0, world_do(w, CMD_START));
	line_run_window(c, 0, 0, MS / 4);
	t = now(c);
	assert_true(line_sched_in(c, 0, 0));
	WANT_EQ(w, ctx_wake(ctx).at, t + MS - MS / 4);
	assert_true(ctx_wake(ctx).switches);
	line_sched_out(c, 0);
	/* and the soonest that it may overflow */
	task(c, 0);
	WANT(w, 0, world_set(w, CMD_START, 1));
	arm(w, 1, 0, period(1000000), (struct pmd_conf){0});
	WANT(w, 0, line_prepare(c, 0, 0));
	assert_true(line_sched_in(c, 0, 0));
	t = now(c);
	assert_true(ctx_wake(ctx).at > t && ctx_wake(ctx).at < t + MS);
	assert_false(ctx_wake(ctx).switches);
}

/* --- A sampling format */

enum { SAMPLES = 8 };

struct samples {
	unsigned n;
	pfm_ovfl_ctrl_t answer, at_restart;
	bool active; /* as restart is to be told */
	struct sample {
		pfm_ovfl_arg_t arg;
		pfm_smpl_where_t where;
		uint64_t tstamp;
	} s[SAMPLES];
};

static int record(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct samples *all = buf;
	struct sample *s = &all->s[all->n++];

	assert_true(all->n <= SAMPLES);
	s->arg = *arg;
	s->where = *(pfm_smpl_where_t *)data;
	s->tstamp = tstamp;
	arg->ovfl_ctrl = all->answer;
	return 0;
}

static int restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	struct samples *all = buf;

	assert_int_equal(is_active, all->active);
	*ctrl = all->at_restart;
	return 0;
}

static const pfm_buffer_fmt_t recorder = {
	.fmt_api = PFM_FMT_API,
	.fmt_name = "recorder",
	.fmt_handler = record,
	.fmt_restart = restart,
};

/* What a restart finds due while the context is out is done as when it leaves. */
EACH_CTXSW(restart_due)
{
	const struct pmd_conf conf = {.thresh = 1};
	struct samples all = {.answer = {.mask_monitoring = 1}, .active = true};
	struct command format = {.verb = CMD_FORMAT, .setup.smpl = {&recorder, &all, sizeof(all)}};
	struct world *w = task(c, 0);

	WANT(w, 0, world_command(w, &format));
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	WANT(w, 0, world_set_flags(w, 0, SET_OVFL_SWITCH));
	arm(w, 0, 0, period(10), conf);
	arm(w, 1, 1, period(10), (struct pmd_conf){0});
	arm_start(c);
	happen(c, 0, 10);
	WANT_IS(c, CTX_MASKED, 0);
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT(w, 0, world_do(w, CMD_START));
	WANT(w, 0, world_do(w, CMD_RESTART));
	WANT_IS(c, CTX_RUNNING, 1);
	WANT_EQ(w, switch_pmds(w, 0), 1);
	happen(c, 1, 3);
	WANT_ALL(c, 1, 1, period(7), 0, period(10));
}

static void want_sample(struct ctxsw_world *c, const struct sample *s, uint64_t value,
	uint64_t other, unsigned count, uint64_t tstamp)
{
	WANT_EQ(&c->w, s->arg.ovfl_pmd, 0);
	WANT_EQ(&c->w, s->arg.active_set, 0);
	WANT_EQ(&c->w, s->arg.pmd_value, value);
	WANT_EQ(&c->w, s->arg.pmd_last_reset, period(10));
	WANT_EQ(&c->w, s->arg.pmd_eventid, 42);
	WANT_EQ(&c->w, s->arg.ovfl_notify, 1);
	WANT_EQ(&c->w, s->arg.ovfl_count, count);
	WANT_EQ(&c->w, s->arg.smpl_pmds[0], 2);
	WANT_EQ(&c->w, s->arg.smpl_pmds_values[0], other);
	WANT_EQ(&c->w, s->where.cpu, WORLD_CPU);
	WANT_EQ(&c->w, s->tstamp, tstamp);
}

EACH_CTXSW(samples)
{
	struct pmd_conf conf = {.flags = PMD_NOTIFY,
		.short_reset = period(10),
		.long_reset = period(100),
		.eventid = 42};
	struct samples all = {.answer = {.reset_ovfl_pmds = 1}};
	struct command format = {.verb = CMD_FORMAT, .setup.smpl = {&recorder, &all, sizeof(all)}};
	struct world *w = task(c, 0);

	regset_add(&conf.smpl, 1);
	WANT(w, 0, world_command(w, &format));
	set_flags(w, CTX_NOTIFY_BLOCK);
	arm(w, 0, 0, period(10), conf);
	arm(w, 0, 1, 70, (struct pmd_conf){0});
	arm_start(c);
	happen(c, 0, 9);
	WANT_EQ(w, all.n, 0);
	assert_true(line_sched_in(c, 0, 0));
	world_happen(w, 0, 3);
	world_happen(w, 1, 5);
	hw_advance(w->hw, MS);
	line_sched_out(c, 0);
	task(c, 0);
	WANT_EQ(w, all.n, 1);
	want_sample(c, &all.s[0], 2, 75, 1, now(c));
	WANT_ALL(c, 0, 0, period(8), 1, period(10));
	hw_advance(w->hw, MS);
	happen(c, 0, 29);
	WANT_EQ(w, all.n, 2);
	want_sample(c, &all.s[1], 1, 75, 3, now(c));
	WANT_IS(c, CTX_RUNNING, 0);
	WANT_NO_MESSAGE(w);
	/* it may have the thread blocked while the context goes on */
	all.answer = (pfm_ovfl_ctrl_t){.reset_ovfl_pmds = 1, .notify_user = 1, .block_thread = 1};
	happen(c, 0, 9);
	WANT_IS(c, CTX_RUNNING, 0);
	WANT_MSG(c, PFM_MSG_OVFL, 0, 1);
	assert_true(c->task[0].ovfl.block);
	all.active = true;
	all.at_restart = (pfm_ovfl_ctrl_t){0};
	WANT(w, 0, world_do(w, CMD_RESTART));
	assert_false(c->task[0].ovfl.block);
	WANT_IS(c, CTX_RUNNING, 0);
	/* and mask it: when it leaves, or when it is restarted */
	all.answer = (pfm_ovfl_ctrl_t){.notify_user = 1, .mask_monitoring = 1};
	happen(c, 0, 10);
	WANT_IS(c, CTX_MASKED, 0);
	WANT_MSG(c, PFM_MSG_OVFL, 0, 1);
	all.active = false;
	all.at_restart = (pfm_ovfl_ctrl_t){.reset_ovfl_pmds = 1};
	WANT(w, 0, world_do(w, CMD_RESTART));
	WANT_ALL(c, 0, 0, period(100), 6, period(100));
	all.active = true;
	all.at_restart = (pfm_ovfl_ctrl_t){.mask_monitoring = 1};
	WANT(w, 0, world_do(w, CMD_RESTART));
	WANT_IS(c, CTX_MASKED, 0);
	WANT_EQ(w, all.n, 4);
}

/* --- Memory, while it is out: registers that are touched then fail the test by themselves */

static struct regset list(unsigned num)
{
	struct regset s = {0};

	regset_add(&s, num);
	return s;
}

static void want_same_reg(struct ctxsw_world *c, bool pmd, unsigned num, unsigned set)
{
	struct cmd_reg a = {.pmd = pmd, .num = (uint16_t)num, .set = (uint16_t)set}, b = a;
	struct command read_a = {.verb = CMD_READ, .vector.regs = &a, .vector.nregs = 1};
	struct command read_b = {.verb = CMD_READ, .vector.regs = &b, .vector.nregs = 1};
	struct world *w = task(c, 0);

	WANT(w, 0, world_command(w, &read_a));
	task(c, 1);
	WANT(w, 0, world_command(w, &read_b));
	assert_memory_equal(&a, &b, sizeof(a));
}

static void want_same(struct ctxsw_world *c)
{
	for (unsigned set = 0; set < 2; set++) {
		for (unsigned p = 0; p < c->w.pmu->npmcs; p++)
			want_same_reg(c, false, c->w.pmu->pmcs[p].num, set);
		for (unsigned d = 0; d < c->w.pmu->npmds; d++)
			want_same_reg(c, true, c->w.pmu->pmds[d].num, set);
	}
}

/* The same for the task that is loaded and for the one that is not. */
static void both_write(struct ctxsw_world *c, struct cmd_reg reg, int rc)
{
	for (unsigned i = 0; i < 2; i++) {
		struct command write = {.verb = CMD_WRITE, .vector.regs = &reg, .vector.nregs = 1};
		struct world *w = task(c, i);

		WANT(w, rc, world_command(w, &write));
	}
}

static void write_everything(struct ctxsw_world *c)
{
	const struct world_model *m = c->w.model;
	const struct pmd_conf conf = {.short_reset = 7,
		.long_reset = 8,
		.thresh = 9,
		.mask = 0xff,
		.seed = 5,
		.eventid = 77,
		.flags = PMD_NOTIFY | PMD_RANDOM,
		.smpl = list(PMU_CLOCK),
		.reset = list(m->pmd[1].num)};

	for (uint16_t set = 0; set < 2; set++) {
		for (unsigned i = 0; i < m->npmc; i++)
			both_write(c,
				(struct cmd_reg){
					.num = m->pmc[i].num, .set = set, .value = m->pmc[i].value},
				0);
		for (unsigned i = 0; i < m->npmd; i++)
			both_write(c,
				(struct cmd_reg){.pmd = true,
					.num = m->pmd[i].num,
					.set = set,
					.value = 1000 * i,
					.conf = conf},
				0);
	}
	both_write(c, (struct cmd_reg){.num = m->pmc[0].num}, 0);
	both_write(c, (struct cmd_reg){.num = 319}, -ENOENT);
	both_write(c, (struct cmd_reg){.pmd = true, .num = m->pmd[0].num, .set = 9}, -ENOENT);
	both_write(c, (struct cmd_reg){.pmd = true, .num = PMU_CLOCK}, -EACCES);
	both_write(c,
		(struct cmd_reg){.pmd = true, .num = m->pmd[0].num, .conf.reset = list(PMU_CLOCK)},
		-EINVAL);
	c->w.rights.kernel = false;
	both_write(c, (struct cmd_reg){.num = m->pmc[0].num, .value = m->pmc[0].value}, -EACCES);
	c->w.rights.kernel = true;
	want_same(c);
}

static void set_flags_fail(struct world *w)
{
	struct command flags = {.verb = CMD_FLAGS};

	WANT(w, -EBUSY, world_command(w, &flags));
}

/* Written and read in every state, as if it were not loaded. */
EACH_CTXSW(saved)
{
	struct world *w;
	uint64_t value;

	for (unsigned i = 0; i < 2; i++)
		WANT(&c->w, 0, world_set(task(c, i), CMD_EVTSET_NEW, 1));
	w = task(c, 0);
	task_load(c, 0);
	write_everything(c);
	task(c, 0);
	WANT(w, 0, line_prepare(c, 0, 0));
	WANT(w, 0, world_do(w, CMD_START));
	WANT_IS(c, CTX_RUNNING, 0);
	write_everything(c);
	task(c, 0);
	WANT(w, 0, world_do(w, CMD_START));
	WANT(w, -EINVAL, world_set(w, CMD_START, 9));
	WANT(w, 0, world_set(w, CMD_START, 1));
	WANT_IS(c, CTX_RUNNING, 1);
	WANT(w, 0, world_do(w, CMD_POLL));
	WANT(w, 0, world_do(w, CMD_SWITCH));
	WANT_IS(c, CTX_RUNNING, 1);
	WANT(w, 0, world_read(w, true, PMU_CLOCK, &value));
	WANT_NO_MESSAGE(w);
	WANT(w, -EBUSY, world_do(w, CMD_RESTART));
	WANT(w, -EBUSY, world_set(w, CMD_EVTSET_NEW, 2));
	WANT(w, -EBUSY, world_set_flags(w, 1, SET_OVFL_SWITCH));
	set_flags_fail(w);
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT_IS(c, CTX_LOADED, 1);
	write_everything(c);
	task(c, 0);
	WANT(w, 0, world_set(w, CMD_START, 0));
	WANT_IS(c, CTX_RUNNING, 0);
	WANT_EQ(w, world_set_info(w, 0).active_ns, 0);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	WANT_IS(c, CTX_UNLOADED, 0);
	write_everything(c);
	task(c, 0);
	WANT(w, -EINVAL, world_do(w, CMD_START));
	WANT(w, -EINVAL, world_do(w, CMD_STOP));
	WANT(w, -EINVAL, world_do(w, CMD_RESTART));
	WANT(w, 0, world_set(w, CMD_EVTSET_DELETE, 1));
}

static void want_ended(struct ctxsw_world *c, enum ctx_state state, bool ended, int line)
{
	struct ctx_info info = world_info(&c->w);

	if (info.state != state || info.ended != ended || info.tid != TASK_TID)
		fail_msg("%s, line %d: state %d, tid %d, %s", c->w.model->name, line, info.state,
			info.tid, info.ended ? "ended" : "not ended");
}
#define WANT_ENDED(c, state, ended) want_ended(c, state, ended, __LINE__)

/* The message of the end finds room in a full queue, after the record of a loss, and comes in a
 * context without overflow messages. */
EACH_CTXSW(end_always_reported)
{
	const struct pmd_conf conf = {.flags = PMD_NOTIFY, .long_reset = period(1)};
	struct pfm_msg msgs[MESSAGES_DEPTH + 3];
	struct world *w = task(c, 0);

	arm(w, 0, 0, period(1), conf);
	arm_start(c);
	for (unsigned i = 0; i < MESSAGES_DEPTH + 3; i++) {
		happen(c, 0, 1);
		WANT(w, 0, world_do(w, CMD_RESTART));
	}
	WANT(w, 0, world_do(w, CMD_END));
	WANT_ENDED(c, CTX_UNLOADED, true);
	WANT_EQ(w, c->task[0].count.messages_lost, 3);
	WANT_EQ(w, world_messages(w, msgs, MESSAGES_DEPTH + 3), MESSAGES_DEPTH + 2);
	WANT_EQ(w, msgs[MESSAGES_DEPTH].type, PFM_MSG_LOST);
	WANT_EQ(w, msgs[MESSAGES_DEPTH].count, 3);
	WANT_EQ(w, msgs[MESSAGES_DEPTH + 1].type, PFM_MSG_END);
	w = task(c, 1);
	set_flags(w, CTX_OVFL_NO_MSG);
	task_load(c, 1);
	WANT(w, 0, world_do(w, CMD_END));
	WANT_EQ(w, world_messages(w, msgs, 2), 1);
	WANT_EQ(w, msgs[0].type, PFM_MSG_END);
	WANT_EQ(w, msgs[0].tid, TASK_TID + 1);
}

/* --- What the switches themselves add */

/* As its ctxsw thread would have calibrated it. */
static void calibrated(struct ctxsw_world *c, unsigned i, uint32_t overhead)
{
	struct evtset *set = c->task[i].active;

	set->calibrated = true;
	for (unsigned d = 0; d < set->npmds; d++)
		set->pmd[d].switch_overhead = overhead;
}

/* To calibrate it, the scratch itself goes in and out between start and stop. */
EACH_CTXSW(calibrating)
{
	const struct world_model *m = c->w.model;
	uint64_t sum[WORLD_MAX] = {0}, t;
	struct world *w;

	task_start(c, 0, COUNT_USER, 0);
	task_start(c, 1, COUNT_BOTH, 0);
	w = line_scratch(c, 0);
	task_program(c, 0, COUNT_USER, 0);
	WANT(w, 0, world_do(w, CMD_START));
	WANT(w, 0, world_do(w, CMD_SCHED_OUT));
	for (unsigned step = 0; step < 3; step++) {
		t = now(c);
		WANT(w, 0, world_do(w, CMD_SCHED_IN));
		hw_advance(w->hw, 10 * US);
		WANT(w, 0, world_do(w, CMD_SCHED_OUT));
		hw_advance(w->hw, MS);
		for (unsigned i = 0; i < m->npmd; i++) {
			sum[i] += world_events(w, i, true, t, t + 10 * US);
			WANT_IN(w, 0, m->pmd[i].num, sum[i]);
		}
	}
	WANT(w, 0, world_do(w, CMD_STOP));
	world_stopped(w, "calibrated");
	for (unsigned step = 0; step < 2; step++) {
		t = now(c);
		line_run_window(c, 0, step, MS);
		for (unsigned i = 0; i < m->npmd; i++)
			WANT_IN(task(c, step), 0, m->pmd[i].num,
				world_events(w, i, !step, t, t + MS));
	}
}

/* --- What a ctxsw thread has to know, and what a new thread inherits */

EACH_CTXSW(reserved)
{
	const struct pmu_reservation *res = &c->line[0].scratch->own;
	struct world *w = task(c, 0);

	assert_true(ctx_has_reserved(&c->task[0], res));
	task_program(c, 0, COUNT_FIRST, 0);
	assert_false(ctx_has_reserved(&c->task[0], res));
	WANT(w, 0, line_prepare(c, 0, 0));
	assert_true(ctx_has_reserved(&c->task[0], res));
	assert_false(ctx_has_reserved(&c->task[0], &c->line[1].scratch->own));
	/* more of it is more to res, in another set as well */
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	assert_true(ctx_has_reserved(&c->task[0], res));
	task_program(c, 1, COUNT_BOTH, 0);
	assert_false(ctx_has_reserved(&c->task[0], res));
	WANT(w, 0, line_prepare(c, 0, 0));
	assert_true(ctx_has_reserved(&c->task[0], res));
	WANT(w, 0, world_set(w, CMD_EVTSET_DELETE, 1));
	assert_true(ctx_has_reserved(&c->task[0], res));
}

/* The PMDs, by number, whose ctxsw_world can be calibrated. */
static uint64_t calibratable(struct ctxsw_world *c)
{
	pmu_rows rows = ctx_calibratable(&c->task[0], c->task[0].active);
	uint64_t nums = 0;

	for (unsigned d = 0; d < c->w.pmu->npmds; d++)
		if (rows >> d & 1)
			nums |= 1ULL << c->w.pmu->pmds[d].num;
	return nums;
}

EACH_CTXSW(calibratables)
{
	const struct world_model *m = c->w.model;
	struct world *w = task(c, 0);
	uint64_t all = 0, user_always = 0;

	for (unsigned i = 0; i < m->npmd; i++) {
		all |= 1ULL << m->pmd[i].num;
		user_always |= m->pmd[i].select & EVTSEL_OS ? 0 : 1ULL << m->pmd[i].num;
	}
	WANT_EQ(w, calibratable(c), 0);
	task_program(c, 0, COUNT_USER, 0);
	WANT_EQ(w, calibratable(c), all);
	task_program(c, 0, COUNT_BOTH, 0);
	WANT_EQ(w, calibratable(c), user_always);
	task_program(c, 0, COUNT_FIRST, 0);
	WANT_EQ(w, calibratable(c), 0);
	/* each for itself */
	task_program(c, 0, COUNT_USER, 0);
	WANT(w, 0, world_write(w, false, m->pmc[0].num, m->pmc[0].value));
	WANT_EQ(w, calibratable(c), all & ~(1ULL << m->pmd[0].num));
}

static bool is_user_only(struct ctxsw_world *c)
{
	WANT(&c->w, 0, line_prepare(c, 0, 0));
	return ctx_is_user_only(&c->task[0]);
}

/* All counters of all sets stand still outside of user mode, or not. */
EACH_CTXSW(user_only)
{
	const struct world_model *m = c->w.model;
	struct world *w = task(c, 0);
	const struct pmu_pmc *first = &w->pmu->pmcs[pmu_find_pmc(w->pmu, m->pmc[0].num)];

	assert_false(ctx_is_user_only(&c->task[0]));
	assert_true(is_user_only(c));
	task_program(c, 0, COUNT_BOTH, 0);
	assert_false(ctx_is_user_only(&c->task[0]));
	assert_false(is_user_only(c));
	task_program(c, 0, COUNT_USER, 0);
	assert_true(is_user_only(c));
	/* an event of all cores counts whatever this one does */
	if (first->wide) {
		WANT(w, 0,
			world_write(w, false, first->num, world_idle_selector(w, 0) | first->wide));
		assert_false(is_user_only(c));
		task_program(c, 0, COUNT_USER, 0);
		assert_true(is_user_only(c));
	}
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 1));
	task_program(c, 1, COUNT_FIRST, 0);
	assert_false(is_user_only(c));
	WANT(w, 0, world_set(w, CMD_EVTSET_DELETE, 1));
	assert_true(is_user_only(c));
}

static void clone_to(struct ctxsw_world *c, unsigned from, unsigned to, enum ctx_state state)
{
	struct command clone = {.verb = CMD_CLONE, .into = &c->task[to]};
	struct world *w = task(c, from);

	WANT(w, 0, world_command(w, &clone));
	assert_int_equal(clone.info.state, state);
}

/* The parent may have ended before: then what it was tells whether its child is to count. */
EACH_CTXSW(clone_of_ended)
{
	struct world *w = task(c, 0);

	arm_start(c);
	WANT(w, 0, world_do(w, CMD_END));
	clone_to(c, 0, 1, CTX_RUNNING);
	arm_start(c);
	WANT(w, 0, world_do(w, CMD_STOP));
	WANT(w, 0, world_do(w, CMD_END));
	clone_to(c, 0, 1, CTX_LOADED);
	arm_start(c);
	WANT(w, 0, world_do(w, CMD_UNLOAD));
	clone_to(c, 0, 1, CTX_UNLOADED);
}

/* As it was written, without what has been counted. */
static void want_cloned(struct ctxsw_world *c, unsigned set, unsigned num)
{
	struct cmd_reg was = world_pmd(task(c, 0), set, num);
	struct cmd_reg is = world_pmd(task(c, 1), set, num);

	assert_memory_equal(&is.conf, &was.conf, sizeof(is.conf));
	WANT_EQ(&c->w, is.value, was.last_reset);
	WANT_EQ(&c->w, is.last_reset, was.last_reset);
	WANT_EQ(&c->w, is.overflows, 0);
}

static uint64_t pmc_of(struct ctxsw_world *c, unsigned i, unsigned set, unsigned num)
{
	struct cmd_reg reg = {.num = (uint16_t)num, .set = (uint16_t)set};
	struct command read = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};
	struct world *w = task(c, i);

	WANT(w, 0, world_command(w, &read));
	return reg.value;
}

static void want_same_pmc(struct ctxsw_world *c, unsigned set, unsigned num)
{
	WANT_EQ(&c->w, pmc_of(c, 0, set, num), pmc_of(c, 1, set, num));
}

/* A clone counts its own, from where its parent began, and has nothing of what befell that. */
EACH_CTXSW(cloned)
{
	const struct pmd_conf random = {
		.flags = PMD_RANDOM, .mask = 0xff, .seed = 7, .short_reset = period(5000)};
	const struct pmd_conf conf = {.flags = PMD_NOTIFY,
		.long_reset = period(20),
		.short_reset = period(10),
		.thresh = 4,
		.eventid = 99,
		.smpl = list(PMU_CLOCK),
		.reset = list(c->w.model->pmd[0].num)};
	const uint16_t num = c->w.model->pmd[1].num;
	struct world *w = task(c, 0);
	uint64_t t;

	set_flags(w, CTX_NOTIFY_BLOCK | CTX_RAW);
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 4));
	WANT(w, 0, world_set(w, CMD_EVTSET_NEW, 300));
	WANT(w, 0, world_set_next(w, 300, 4));
	world_set_timed(w, 0, MS);
	WANT(w, 0, world_set_flags(w, 4, SET_OVFL_SWITCH));
	task_program(c, 0, COUNT_BOTH, 0);
	task_program(c, 300, COUNT_USER, 7);
	WANT(w, 0, world_write_pmd(w, 0, c->w.model->pmd[0].num, 0, &random));
	WANT(w, 0, world_write_pmd(w, 4, num, period(10), &conf));
	WANT(w, 0, world_write_in(w, 4, false, c->w.model->pmc[0].num, c->w.model->pmc[0].value));
	task_load(c, 0);
	WANT(w, 0, line_prepare(c, 0, 0));
	WANT(w, 0, world_do(w, CMD_START));
	line_run_window(c, 0, 0, MS - 1);
	calibrated(c, 0, 3);
	ctx_lose(&c->task[0], LOST_UNCOVERED);
	clone_to(c, 0, 1, CTX_RUNNING);
	task(c, 0);
	for (unsigned i = 0; i < c->w.model->npmd; i++)
		WANT(w, -EIO, world_read(w, true, c->w.model->pmd[i].num, &t));
	task(c, 1);
	for (unsigned i = 0; i < c->w.model->npmd; i++)
		WANT_IN(w, 0, c->w.model->pmd[i].num, 0);
	write_pmds(c, 0, 0); /* so that they can be read */
	WANT(w, 0, world_write_pmd(w, 0, c->w.model->pmd[0].num, 0, &random));
	for (unsigned s = 0; s < 3; s++) {
		static const uint16_t ids[] = {0, 4, 300};
		struct cmd_evtset was = world_set_info(task(c, 0), ids[s]);
		struct cmd_evtset is = world_set_info(task(c, 1), ids[s]);

		WANT_EQ(w, is.flags, was.flags);
		WANT_EQ(w, is.timeout_ns, was.timeout_ns);
		WANT_EQ(w, is.next, was.next);
		WANT_EQ(w, is.runs, 0);
		WANT_EQ(w, is.active_ns, 0);
		for (unsigned d = 0; d < c->w.pmu->npmds; d++)
			want_cloned(c, ids[s], c->w.pmu->pmds[d].num);
		for (unsigned p = 0; p < c->w.pmu->npmcs; p++)
			want_same_pmc(c, ids[s], c->w.pmu->pmcs[p].num);
	}
	assert_true(c->task[1].active->calibrated);
	WANT_EQ(w, c->task[1].active->pmd[0].switch_overhead, 3);
	WANT_EQ(w, c->task[1].nsets, 3);
	w = task(c, 1);
	WANT_IS(c, CTX_UNLOADED, 0);
	WANT_EQ(w, world_info(w).flags, CTX_NOTIFY_BLOCK | CTX_RAW);
	WANT_EQ(w, world_info(w).tid, 0);
	WANT_NO_MESSAGE(w);
	task_load(c, 1);
	assert_true(ctx_has_reserved(&c->task[1], &c->line[0].scratch->own));
	WANT(w, 0, world_do(w, CMD_START));
	t = now(c);
	line_run_window(c, 0, 1, MS - 1);
	for (unsigned i = 1; i < c->w.model->npmd; i++)
		WANT_IN(task(c, 1), 0, c->w.model->pmd[i].num,
			world_events(w, i, false, t, t + MS - 1));
	line_run_window(c, 0, 1, 1);
	task(c, 1);
	WANT_IS(c, CTX_RUNNING, 4);
	task(c, 0);
	WANT_IS(c, CTX_RUNNING, 0);
}

/* What it has used up of its thresholds, the clone has not. */
EACH_CTXSW(cloned_used)
{
	const struct pmd_conf conf = {.short_reset = period(10), .thresh = 4};
	struct world *w = task(c, 0);

	WANT(w, 0, world_set_flags(w, 0, SET_OVFL_SWITCH));
	arm(w, 0, 0, period(10), conf);
	arm_start(c);
	happen(c, 0, 21);
	WANT_ALL(c, 0, 0, period(9), 2, period(10));
	WANT_EQ(w, world_pmd(w, 0, 0).thresh_left, 2);
	clone_to(c, 0, 1, CTX_RUNNING);
	task(c, 1);
	WANT_ALL(c, 0, 0, period(10), 0, period(10));
	WANT_EQ(w, world_pmd(w, 0, 0).thresh_left, 4);
}

/* Random resets start over, too: parent and child have the same series. */
EACH_CTXSW(cloned_series)
{
	const struct pmd_conf conf = {
		.flags = PMD_RANDOM, .mask = 0xffff, .seed = 7, .short_reset = period(1000000)};
	uint64_t resets[3];
	struct world *w = task(c, 0);

	arm(w, 0, 0, period(1), conf);
	clone_to(c, 0, 1, CTX_UNLOADED);
	arm_start(c);
	for (unsigned i = 0; i < 3; i++) {
		happen(c, 0, -world_pmd(w, 0, 0).value);
		resets[i] = world_pmd(w, 0, 0).last_reset;
	}
	clone_to(c, 0, 2, CTX_RUNNING);
	for (unsigned i = 1; i < 3; i++) {
		w = task(c, i);
		WANT_EQ(w, world_pmd(w, 0, 0).value, i == 1 ? period(1) : resets[2]);
		task_load(c, i);
		WANT(w, 0, world_do(w, CMD_START));
		assert_true(line_sched_in(c, 0, i));
		world_happen(w, 0, -(i == 1 ? period(1) : resets[2]));
		line_sched_out(c, 0);
		task(c, i);
		WANT_EQ(w, world_pmd(w, 0, 0).last_reset, resets[0]);
	}
}

/* --- What it costs */

/*
 * Register accesses, reads and writes, of a sched-in and a sched-out with the measurement of
 * world.c. A rise has to be argued for.
 *
 *   again   sched-in of the task that was there before: writes the counters and what enables them
 *   other   of a task with other events: reads and writes the selectors, too; without a global
 *           control, that is what enables the counters
 *   out     stops the counters, and reads them with their selectors
 *   few     the same of one counter while other selectors are reserved on the line, too; without a
 *           global control, stopping reads these as well
 */
static const struct cost {
	const char *model;
	unsigned again[2], other[2], out[2], few[2];
} costs[] = {
	{"p6", {1, 3}, {2, 4}, {4, 1}, {3, 1}},
	{"intel_v1", {2, 4}, {2, 4}, {4, 2}, {3, 1}},
	{"intel_v2", {1, 5}, {4, 8}, {8, 1}, {3, 1}},
	{"intel_v3", {1, 5}, {5, 9}, {9, 1}, {3, 1}},
	{"intel_v4", {1, 5}, {5, 9}, {9, 1}, {3, 1}},
	{"intel_v5", {1, 5}, {5, 9}, {9, 1}, {3, 1}},
	{"amd_legacy", {4, 8}, {4, 8}, {8, 4}, {5, 1}},
	{"amd_ext", {4, 8}, {4, 8}, {8, 4}, {5, 1}},
	{"amd_v2", {1, 5}, {5, 9}, {9, 1}, {3, 1}},
};

struct accesses {
	unsigned long long reads, writes;
};

static struct accesses accesses(struct ctxsw_world *c)
{
	return (struct accesses){c->w.be->stats.reads, c->w.be->stats.writes};
}

static void want_cost(
	struct ctxsw_world *c, struct accesses before, const unsigned want[2], const char *what)
{
	struct accesses is = accesses(c);

	is.reads -= before.reads;
	is.writes -= before.writes;
	print_message(
		"# %s: %s: %llu reads, %llu writes\n", c->w.model->name, what, is.reads, is.writes);
	if (is.reads != want[0] || is.writes != want[1])
		fail_msg("%s: %s costs %llu reads and %llu writes, not %u and %u", c->w.model->name,
			what, is.reads, is.writes, want[0], want[1]);
}

/* NULL: no costs are stated. */
static const struct cost *cost_of(const char *model)
{
	for (unsigned i = 0; i < COUNT(costs); i++)
		if (strcmp(costs[i].model, model) == 0)
			return &costs[i];
	return NULL;
}

EACH_CTXSW(cost)
{
	const struct cost *cost = cost_of(c->w.model->name);
	struct accesses before;

	if (!cost)
		return;
	task_start(c, 0, COUNT_BOTH, 0);
	task_start(c, 1, COUNT_USER, 0);
	line_run_window(c, 0, 1, MS);
	line_run_window(c, 0, 0, MS);
	before = accesses(c);
	assert_true(line_sched_in(c, 0, 0));
	want_cost(c, before, cost->again, "in again");
	hw_advance(c->w.hw, MS);
	before = accesses(c);
	line_sched_out(c, 0);
	want_cost(c, before, cost->out, "out");
	before = accesses(c);
	assert_true(line_sched_in(c, 0, 1));
	want_cost(c, before, cost->other, "in after another");
	hw_advance(c->w.hw, MS);
	before = accesses(c);
	line_sched_out(c, 0);
	want_cost(c, before, cost->out, "out");
	task_start(c, 2, COUNT_FIRST, 0);
	assert_true(line_sched_in(c, 0, 2));
	before = accesses(c);
	line_sched_out(c, 0);
	want_cost(c, before, cost->few, "out with one counter");
}

/* On a CPU that is taken by a context of the CPU: what was not lost before names the CPU and the
 * user, and is lost until it is written. */
EACH_CTXSW(taken)
{
	unsigned first = c->w.model->pmd[0].num;
	uint64_t value;

	task_start(c, 0, COUNT_BOTH, 0);
	line_run_window(c, 0, 0, MS);
	ctx_lose_taken(&c->task[0], 3, 1234);
	WANT(task(c, 0), -EIO, world_read(&c->w, true, first, &value));
	assert_non_null(strstr(c->w.err.text, "CPU 3"));
	assert_non_null(strstr(c->w.err.text, "uid 1234"));
	ctx_lose_taken(&c->task[0], 4, 77);
	WANT(task(c, 0), -EIO, world_read(&c->w, true, first, &value));
	assert_non_null(strstr(c->w.err.text, "CPU 3"));
	write_pmds(c, 0, 5);
	WANT_IN(task(c, 0), 0, first, 5);
	line_run_window(c, 0, 0, MS);
	WANT(task(c, 0), 0, world_read(&c->w, true, first, &value));
	assert_true(value > 5);
}

static void record_source(void *buf, const pfm_smpl_source_t *source)
{
	*(pfm_smpl_source_t *)buf = *source;
}

/* A window in which a switch was missed. */
static void missed_window(struct ctxsw_world *c)
{
	assert_true(line_sched_in(c, 0, 0));
	hw_advance(c->w.hw, MS);
	ctx_lose(&c->task[0], LOST_MISSED);
	line_sched_out(c, 0);
}

static void want_gaps(struct ctxsw_world *c, unsigned num, uint64_t n, uint64_t ns)
{
	struct gaps g = world_pmd(task(c, 0), 0, num).gaps;

	WANT_EQ(&c->w, g.n, n);
	WANT_EQ(&c->w, g.ns, ns);
}

/* With the flag, counts go on without what was counted meanwhile; and what is missing is told. */
EACH_CTXSW(gaps)
{
	static const pfm_buffer_fmt_t recording = {.fmt_source = record_source};
	const struct world_model *m = c->w.model;
	unsigned first = m->pmd[0].num, second = m->pmd[1].num;
	pfm_smpl_source_t source = {0};
	struct context *ctx = &c->task[0];
	struct pfm_msg msg;
	uint64_t t, value;

	set_flags(task(c, 0), CTX_GAPS);
	task_start(c, 0, COUNT_BOTH, 0);
	ctx->smpl = (struct sampling){.fmt = &recording, .buf = &source};
	t = now(c);
	missed_window(c);
	ctx_lose(ctx, LOST_OVERTAKEN); /* the same gap */
	ctx_gap_add(ctx, 700);
	line_run_window(c, 1, 0, MS);
	for (unsigned i = 0; i < m->npmd; i++) {
		WANT_IN(task(c, 0), 0, m->pmd[i].num,
			world_events(&c->w, i, false, t + MS, t + 2 * MS));
		want_gaps(c, m->pmd[i].num, 1, 700);
	}
	missed_window(c);
	assert_false(world_info(task(c, 0)).lost);
	WANT_EQ(&c->w, world_info(&c->w).gaps, 2);
	WANT_EQ(&c->w, source.gaps, 2);
	WANT_EQ(&c->w, ctx->count.notified, 1);
	assert_int_equal(world_message(&c->w, &msg), 0);
	WANT_EQ(&c->w, msg.type, PFM_MSG_GAP);
	WANT_EQ(&c->w, msg.tid, TASK_TID);
	WANT_NO_MESSAGE(&c->w);
	/* A count that begins in a gap has it. */
	WANT(&c->w, 0, world_write_pmd(&c->w, 0, first, 5, &(struct pmd_conf){0}));
	want_gaps(c, first, 0, 0);
	ctx_gap_add(ctx, 300);
	want_gaps(c, first, 1, 300);
	want_gaps(c, second, 2, 1000);
	/* What does not come from a switch is lost. */
	ctx_lose(ctx, LOST_FAULT);
	WANT(task(c, 0), -EIO, world_read(&c->w, true, first, &value));
	WANT(&c->w, 0, world_do(&c->w, CMD_UNLOAD));
	task_load(c, 0);
	WANT_EQ(&c->w, world_info(&c->w).gaps, 0);
	ctx->smpl = (struct sampling){0};
}

/* Stopping ends a gap: the thread's time is not counted from then on anyway. */
EACH_CTXSW(gap_ends)
{
	set_flags(task(c, 0), CTX_GAPS);
	task_start(c, 0, COUNT_BOTH, 0);
	missed_window(c);
	assert_true(c->task[0].gap.open);
	WANT(task(c, 0), 0, world_do(&c->w, CMD_STOP));
	WANT(&c->w, 0, world_do(&c->w, CMD_START));
	assert_false(c->task[0].gap.open);
	line_run_window(c, 0, 0, MS);
	assert_false(c->task[0].gap.open);
	WANT_EQ(&c->w, world_info(task(c, 0)).gaps, 1);
}

/* A window begins with the first charge after the last one is over. */
TEST(budget)
{
	const uint64_t window = BUDGET_WINDOW_NS, t = 1000 * BUDGET_WINDOW_NS;
	struct budget_window w = {0};

	assert_false(budget_is_spent(&w, t, 1));
	budget_charge(&w, t - window / 5, t);
	assert_int_equal(w.since, t);
	assert_int_equal(w.used, window / 5);
	assert_false(budget_is_spent(&w, t, 20));
	assert_true(budget_is_spent(&w, t, 19));
	budget_charge(&w, t + 9, t + 10);
	assert_true(budget_is_spent(&w, t + 10, 20));
	assert_true(budget_is_spent(&w, t + window - 1, 20));
	assert_false(budget_is_spent(&w, t + window, 20));
	budget_charge(&w, t + window - 1, t + window);
	assert_int_equal(w.since, t + window);
	assert_int_equal(w.used, 1);
	/* The clocks of two sources may differ a little. */
	budget_charge(&w, t + window + 5, t + window + 3);
	assert_int_equal(w.used, 1);
	budget_charge(&w, t + window, t + 2 * window - 1);
	assert_true(budget_is_spent(&w, t + 2 * window - 1, 99));
	assert_false(budget_is_spent(&w, t + 2 * window - 1, 100));
}

/* The ctxsw thread has left the CPU @ns after its last charge, and has just come back. */
static void leave(struct ctxsw_thread *ct, uint64_t ns)
{
	ct->sched_cpu->ctxsw_ran = (sched_u32)(ct->charge.leaving_at + ns - ct->charge.came_at);
	ct->sched_cpu->ctxsw_at = nsec_now(CLOCK_MONOTONIC);
	ctxsw_charge_wakeup(ct);
}

/* What it takes to sleep is charged in advance, unless the machine stalls. */
TEST(leaving)
{
	struct switch_budget *budget = calloc(1, sizeof(*budget) + sizeof(budget->cpu[0]));
	struct task_ctx task = {.budget = budget};
	static struct ctxsw_thread ct;
	static struct sched_cpu cpu;
	const struct budget_window *w = budget->cpu;
	uint64_t used;

	ct.sched_cpu = &cpu;
	ct.charge.came_at = ct.charge.charged_until = nsec_now(CLOCK_MONOTONIC);
	ctxsw_charge_last(&ct, &task);
	assert_int_equal(w->used, ct.charge.leaving_at - ct.charge.came_at);
	leave(&ct, 3000);
	used = w->used;
	ctxsw_charge_last(&ct, &task);
	assert_int_equal(w->used - used, ct.charge.leaving_at + 3000 - ct.charge.came_at);
	used = ct.charge.charged_until;
	ctxsw_charge(&ct, NULL);
	assert_true(ct.charge.charged_until >= used);
	leave(&ct, 0);
	ctxsw_charge_last(&ct, &task);
	leave(&ct, 50000000);
	ctxsw_charge_last(&ct, &task);
	assert_int_equal(ct.charge.charged_until - ct.charge.leaving_at, 10000);
	free(budget);
}
