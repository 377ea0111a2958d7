// SPDX-License-Identifier: MIT
#include "tests/unit/world_sets.h"
#include "tests/unit/unit.h"

int world_set(struct world *w, enum cmd_verb verb, unsigned id)
{
	struct command cmd = {
		.verb = verb, .load.cpu = WORLD_CPU, .set = (uint16_t)id, .has_set = true};

	cmd.evtset.id = (uint16_t)id;
	return world_command(w, &cmd);
}

static int change(struct world *w, struct cmd_evtset set)
{
	struct command cmd = {.verb = CMD_EVTSET_WRITE, .evtset = set};

	return world_command(w, &cmd);
}

int world_set_flags(struct world *w, unsigned id, unsigned flags)
{
	return change(
		w, (struct cmd_evtset){.id = (uint16_t)id, .change = EVTSET_FLAGS, .flags = flags});
}

int world_set_timeout(struct world *w, unsigned id, uint64_t ns)
{
	return change(w, (struct cmd_evtset){
				 .id = (uint16_t)id, .change = EVTSET_TIMEOUT, .timeout_ns = ns});
}

int world_set_next(struct world *w, unsigned id, int next)
{
	return change(w, (struct cmd_evtset){.id = (uint16_t)id,
				 .change = EVTSET_NEXT,
				 .next = (uint16_t)(next < 0 ? 0 : next),
				 .has_next = next >= 0});
}

void world_set_timed(struct world *w, unsigned id, uint64_t ns)
{
	WANT(w, 0, world_set_timeout(w, id, ns));
	WANT(w, 0, world_set_flags(w, id, SET_TIME_SWITCH));
}

struct cmd_evtset world_set_info(struct world *w, unsigned id)
{
	struct command cmd = {.verb = CMD_EVTSET_READ, .evtset.id = (uint16_t)id};

	WANT(w, 0, world_command(w, &cmd));
	return cmd.evtset;
}

struct ctx_info world_info(struct world *w)
{
	struct command cmd = {.verb = CMD_INFO};

	WANT(w, 0, world_command(w, &cmd));
	return cmd.info;
}

struct cmd_reg world_pmd(struct world *w, unsigned set, unsigned num)
{
	struct cmd_reg reg = {.pmd = true, .num = (uint16_t)num, .set = (uint16_t)set};
	struct command cmd = {.verb = CMD_READ, .vector.regs = &reg, .vector.nregs = 1};

	WANT(w, 0, world_command(w, &cmd));
	return reg;
}

static int write_one(struct world *w, struct cmd_reg reg)
{
	struct command cmd = {.verb = CMD_WRITE, .vector.regs = &reg, .vector.nregs = 1};

	return world_command(w, &cmd);
}

int world_write_in(struct world *w, unsigned set, bool pmd, unsigned num, uint64_t value)
{
	return write_one(
		w, (struct cmd_reg){
			   .pmd = pmd, .num = (uint16_t)num, .set = (uint16_t)set, .value = value});
}

int world_write_pmd(
	struct world *w, unsigned set, unsigned num, uint64_t value, const struct pmd_conf *conf)
{
	return write_one(w, (struct cmd_reg){.pmd = true,
				    .num = (uint16_t)num,
				    .set = (uint16_t)set,
				    .value = value,
				    .conf = *conf});
}

unsigned world_messages(struct world *w, struct pfm_msg *msgs, unsigned max)
{
	struct messages *q = &(w->other ? w->other : &w->ctx)->messages;
	unsigned there = messages_count(q), n = messages_take(q, msgs, max);

	assert_int_equal(n, there < max ? there : max);
	return n;
}

int world_message(struct world *w, struct pfm_msg *msg)
{
	return world_messages(w, msg, 1) ? 0 : -EAGAIN;
}

bool world_due(struct world *w, uint64_t ns, uint64_t *in, enum cmd_verb *verb)
{
	struct wake wake = ctx_wake(&w->ctx);
	uint64_t now = hw_now(w->hw);

	if (!wake.at || wake.at > now + ns)
		return false;
	*in = wake.at > now ? wake.at - now : 0;
	*verb = wake.switches ? CMD_SWITCH : CMD_POLL;
	return true;
}

/* One thing that is due within *@ns, which becomes what is left of it; false if there is none. */
static bool work_once(struct world *w, uint64_t *ns, unsigned *idle)
{
	enum cmd_verb verb;
	uint64_t in;

	if (!world_due(w, *ns, &in, &verb))
		return false;
	*idle = in ? 0 : *idle + 1;
	if (*idle > 4)
		fail_msg("%s: ctx_wake() goes on and on asking for a command now", w->model->name);
	hw_advance(w->hw, in);
	*ns -= in;
	WANT(w, 0, world_do(w, verb));
	return true;
}

void world_work(struct world *w)
{
	world_pass(w, 0);
}

void world_pass(struct world *w, uint64_t ns)
{
	unsigned idle = 0;

	while (work_once(w, &ns, &idle))
		;
	hw_advance(w->hw, ns);
}

void world_pass_switch(struct world *w, uint64_t ns)
{
	unsigned idle = 0, id = world_info(w).set;
	uint64_t runs = world_set_info(w, id).runs;

	while (work_once(w, &ns, &idle))
		if (world_info(w).set != id || world_set_info(w, id).runs != runs)
			return;
	fail_msg("%s: set %u is not switched from", w->model->name, id);
}

uint64_t world_idle_selector(const struct world *w, unsigned i)
{
	uint64_t value = EVTSEL_USR | EVTSEL_OS | EVTSEL_EN;

	/* P6's second counter is enabled by the first one's selector. */
	return w->model->one_enable && i == 1 ? value & ~EVTSEL_EN : value;
}

void world_program_set(struct world *w, unsigned set, bool user)
{
	const struct world_model *m = w->model;

	for (unsigned i = 0; i < m->npmc; i++) {
		const struct pmu_pmc *pmc = &w->pmu->pmcs[pmu_find_pmc(w->pmu, m->pmc[i].num)];
		uint64_t level = pmc->shared ? 0x1111 : EVTSEL_OS;

		WANT(w, 0,
			world_write_in(w, set, false, m->pmc[i].num,
				user ? m->pmc[i].value & ~level : m->pmc[i].value));
	}
	for (unsigned i = 0; i < m->npmd; i++)
		WANT(w, 0, world_write_in(w, set, true, m->pmd[i].num, 0));
}

uint64_t world_events(struct world *w, unsigned i, bool user, uint64_t from, uint64_t to)
{
	uint64_t select = w->model->pmd[i].select & ~(user ? EVTSEL_OS : 0);

	return hw_truth(w->hw, select, to) - hw_truth(w->hw, select, from);
}

void world_want_in(struct world *w, unsigned set, unsigned num, uint64_t want, int line)
{
	uint64_t value = world_pmd(w, set, num).value;

	if (value != want)
		fail_msg("%s, line %d: pmd%u of set %u is 0x%" PRIx64 ", not 0x%" PRIx64,
			w->model->name, line, num, set, value, want);
}

void world_want_state(struct world *w, enum ctx_state state, unsigned set, int line)
{
	struct ctx_info info = world_info(w);

	if (info.state != state || (state != CTX_UNLOADED && info.set != set))
		fail_msg("%s, line %d: the state is %d with set %u, not %d with set %u",
			w->model->name, line, info.state, info.set, state, set);
	if (state != CTX_UNLOADED)
		assert_int_equal(info.cpu, WORLD_CPU);
}

void world_want_message(struct world *w, uint32_t type, unsigned set, uint64_t pmds, int line)
{
	struct pfm_msg msg, want = {.type = type, .set = (uint16_t)set, .cpu = WORLD_CPU};

	want.pmds[0] = pmds;
	world_want(w, world_message(w, &msg), 0, "taking a message", line);
	if (memcmp(&msg, &want, sizeof(msg)) != 0)
		fail_msg("%s, line %d: the message is type 0x%" PRIx32
			 " set %u cpu %u pid %u tid %u ip 0x%" PRIx64 " pmds 0x%" PRIx64
			 ", not type 0x%" PRIx32 " set %u pmds 0x%" PRIx64,
			w->model->name, line, msg.type, msg.set, msg.cpu, msg.pid, msg.tid, msg.ip,
			msg.pmds[0], type, set, pmds);
}

void world_want_equal(
	struct world *w, uint64_t a, uint64_t b, const char *what, const char *want, int line)
{
	if (a != b)
		fail_msg("%s, line %d: %s is %" PRIu64 ", not %s, which is %" PRIu64,
			w->model->name, line, what, a, want, b);
}

void world_each_model(void (*test)(struct world *w))
{
	for (const struct world_model *m = world_models; m->name; m++) {
		struct world w;

		world_open(&w, m);
		test(&w);
		world_unload(&w);
		world_close(&w);
	}
}
