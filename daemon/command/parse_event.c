// SPDX-License-Identifier: MIT
/* The value of a PMC by the name of its event: NAME, or NAME:u, NAME:k, NAME:uk for the levels. */
#include "daemon/command/command_i.h"

#include <errno.h>

#include "base/num.h"

enum { LEVEL_USER = 1 << 0, LEVEL_KERNEL = 1 << 1 };

static int event_parse_levels(struct slice s, unsigned *levels, struct err *e)
{
	*levels = 0;
	for (size_t i = 0; i < s.n; i++)
		*levels |= s.p[i] == 'u' ? LEVEL_USER : s.p[i] == 'k' ? LEVEL_KERNEL : ~3u;
	if (!*levels || *levels & ~3u)
		return err_set(e, EINVAL,
			"':%.*s' is not a level: write :u (user), :k (kernel) or :uk (both)",
			SLICE_ARG(s));
	return 0;
}

static int event_unknown(struct slice name, const struct pmu *pmu, struct err *e)
{
	if (!pmu->nevents)
		return err_set(e, EINVAL,
			"'%.*s': events of this PMU have no names (pmu/events is empty): write the "
			"number that `pfm encode` or the CPU's manual gives for it",
			SLICE_ARG(name));
	return err_set(e, EINVAL,
		"'%.*s' is not an event of pmu/events: write one of these names, NAME:u, NAME:k, "
		"or "
		"the number that `pfm encode` gives, such as 0x4100c0",
		SLICE_ARG(name));
}

int event_parse(
	struct slice text, const struct pmu *pmu, unsigned num, uint64_t *value, struct err *e)
{
	struct slice levels = text, name = slice_cut(&levels, ':');
	const struct pmu_event *ev = pmu_event_named(pmu, name);
	int p = pmu_find_pmc(pmu, num);
	unsigned at;

	if (!ev)
		return event_unknown(name, pmu, e);
	*value = ev->value;
	if (p < 0)
		return 0;
	if (!pmu_names_events(pmu, (unsigned)p))
		return err_set(e, EINVAL,
			"pmc%u is not an event select, which alone takes names: write a number, or "
			"%s into another PMC",
			num, ev->name);
	*value &= ~pmu->pmcs[p].rsvd;
	if (name.n == text.n)
		return 0;
	if (event_parse_levels(levels, &at, e) < 0)
		return -e->no;
	if (ev->both_levels && at != (LEVEL_USER | LEVEL_KERNEL) &&
		!(ev->user_samples && at == LEVEL_USER))
		return err_set(e, EINVAL,
			"%s counts at both levels or not at all: leave ':%.*s' out", ev->name,
			SLICE_ARG(levels));
	if (!(at & LEVEL_USER))
		*value &= ~pmu->pmcs[p].user;
	if (!(at & LEVEL_KERNEL))
		*value &= ~pmu->pmcs[p].kernel;
	return 0;
}

bool event_is_name(struct slice text)
{
	return text.n &&
	       ((text.p[0] >= 'a' && text.p[0] <= 'z') || (text.p[0] >= 'A' && text.p[0] <= 'Z'));
}
