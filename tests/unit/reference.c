// SPDX-License-Identifier: MIT
#include "tests/unit/reference.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void reference_init(struct reference *r, struct world *w)
{
	*r = (struct reference){.w = w};
	for (unsigned p = 0; p < w->pmu->npmcs; p++)
		r->pmc[p] = w->pmu->pmcs[p].def;
}

/* The event select by which counter row @d counts, 0 if it stands still. */
static uint64_t selected(const struct reference *r, unsigned d)
{
	static const uint64_t fixed_event[] = {0xc0, 0x3c, 0x13c, 0x1a4};
	const struct pmu_pmd *pmd = &r->w->pmu->pmds[d];
	uint64_t value = r->pmc[pmd->pmc];

	if (r->w->pmu->pmcs[pmd->pmc].shared) {
		unsigned n = pmd->num - 16;
		uint64_t field = value >> 4 * n & 3;

		return fixed_event[n] | (field & 1 ? EVTSEL_OS : 0) | (field & 2 ? EVTSEL_USR : 0);
	}
	/* P6's second selector has no enable bit. */
	if (strcmp(r->w->model->name, "p6") == 0 && pmd->num == 1)
		return value;
	return value & EVTSEL_EN ? value : 0;
}

void reference_advance(struct reference *r, uint64_t ns)
{
	uint64_t from = hw_now(r->w->hw);

	hw_advance(r->w->hw, ns);
	if (r->state != CTX_RUNNING || r->offline)
		return;
	for (unsigned d = 0; d < r->w->pmu->npmds; d++) {
		uint64_t select = selected(r, d);

		if (select)
			r->pmd[d] += hw_truth(r->w->hw, select, from + ns) -
				     hw_truth(r->w->hw, select, from);
	}
}

void reference_pmc(struct reference *r, unsigned row, uint64_t value)
{
	const struct pmu_pmc *pmc = &r->w->pmu->pmcs[row];

	r->pmc[row] = (value & ~pmc->rsvd) | (pmc->def & pmc->rsvd);
}

void reference_pmd(struct reference *r, unsigned row, uint64_t value)
{
	r->pmd[row] = value;
}

static void check_state(struct reference *r)
{
	struct command cmd = {.verb = CMD_INFO};

	world_command(r->w, &cmd);
	if (cmd.info.state != r->state)
		fail_msg("%s: the state is %d, not %d", r->seen, cmd.info.state, r->state);
	if (r->state != CTX_UNLOADED && cmd.info.cpu != WORLD_CPU)
		fail_msg("%s: the CPU is %u", r->seen, cmd.info.cpu);
}

/* What @verb has to return, and the state that it then leads to. */
static int outcome(enum ctx_state state, enum cmd_verb verb, enum ctx_state *after)
{
	*after = state;
	switch (verb) {
	case CMD_LOAD:
		*after = state == CTX_UNLOADED ? CTX_LOADED : state;
		return state == CTX_UNLOADED ? 0 : -EBUSY;
	case CMD_START:
	case CMD_STOP:
		if (state != CTX_UNLOADED)
			*after = verb == CMD_START ? CTX_RUNNING : CTX_LOADED;
		return state == CTX_UNLOADED ? -EINVAL : 0;
	case CMD_UNLOAD:
		*after = CTX_UNLOADED;
		return 0;
	default:
		return 0;
	}
}

void reference_do(struct reference *r, enum cmd_verb verb)
{
	enum ctx_state after;
	int want = outcome(r->state, verb, &after);
	int rc = world_do(r->w, verb);

	if (rc != want && !(r->excused && (rc == -EIO || rc == -EBUSY || rc == -ENXIO)))
		fail_msg("%s: verb %d is %s, not %s: %s", r->seen, verb, rc ? err_name(-rc) : "0",
			want ? err_name(-want) : "0", r->w->err.text);
	if (rc == want || verb == CMD_UNLOAD)
		r->state = after;
	check_state(r);
}

void reference_write(struct reference *r, bool pmd, unsigned row, uint64_t value)
{
	const struct pmu *pmu = r->w->pmu;
	int rc = world_write(r->w, pmd, pmd ? pmu->pmds[row].num : pmu->pmcs[row].num, value);

	if (rc < 0 && !(r->excused && (rc == -EIO || rc == -EBUSY || rc == -ENXIO)))
		fail_msg("%s: writing %s row %u: %s", r->seen, pmd ? "pmd" : "pmc", row,
			r->w->err.text);
	if (rc == 0 && pmd)
		reference_pmd(r, row, value);
	else if (rc == 0)
		reference_pmc(r, row, value);
	check_state(r);
}

static void check_one(struct reference *r, bool pmd, unsigned num, uint64_t want)
{
	uint64_t value = 0;
	int rc = world_read(r->w, pmd, num, &value);

	if (rc < 0 && !(r->excused && pmd && (rc == -EIO || rc == -ENXIO)))
		fail_msg("%s: reading %s%u: %s", r->seen, pmd ? "pmd" : "pmc", num, r->w->err.text);
	if (rc == 0 && value != want)
		fail_msg("%s: %s%u is 0x%" PRIx64 ", not 0x%" PRIx64, r->seen, pmd ? "pmd" : "pmc",
			num, value, want);
}

void reference_check(struct reference *r)
{
	const struct pmu *pmu = r->w->pmu;

	for (unsigned p = 0; p < pmu->npmcs; p++)
		check_one(r, false, pmu->pmcs[p].num, r->pmc[p]);
	for (unsigned d = 0; d < pmu->npmds; d++)
		check_one(r, true, pmu->pmds[d].num, r->pmd[d]);
}
