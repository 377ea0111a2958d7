// SPDX-License-Identifier: MIT
/* The properties of event sets, each of which is a file. */
#include "daemon/command/command_i.h"

#include <errno.h>
#include <inttypes.h>

#include "base/num.h"

#define MAX_TIMEOUT 1000000000000000000ULL /* 31 years, in ns: sums of times do not overflow. */

static const struct flag_word evtset_flag_words[] = {
	{"ovfl_switch", SET_OVFL_SWITCH},
	{"time_switch", SET_TIME_SWITCH},
	{"expl_next", SET_EXPL_NEXT},
	{"excl_idle", SET_EXCL_IDLE},
	{0},
};

static bool evtset_is_decimal(struct slice s)
{
	return slice_is_digits(s) && s.n && (s.n == 1 || s.p[0] != '0');
}

/* A message quotes only names of digits: others may contain any byte, and a message is one line. */
int command_parse_evtset_id(const char *name, uint16_t *id, struct err *e)
{
	struct slice s = slice_of(name);
	uint64_t n;

	if (!evtset_is_decimal(s))
		return err_set(e, EINVAL,
			"an event set is named by its number: 0 to %d, decimal, no leading zeros",
			MAX_SET);
	if (num_max(s, MAX_SET, &n, e) < 0)
		return err_set(e, ERANGE, "'%.*s' is too high: event sets are numbered 0 to %d",
			SLICE_ARG(s), MAX_SET);
	*id = (uint16_t)n;
	return 0;
}

int command_parse_evtset_flags(struct slice text, struct cmd_evtset *set, struct err *e)
{
	int rc = flag_words_parse(text, evtset_flag_words, &set->flags, e);

	if (rc < 0)
		return rc;
	if ((set->flags & SET_OVFL_SWITCH) && (set->flags & SET_TIME_SWITCH))
		return err_set(e, EINVAL,
			"a set switches on overflow or by time, not both: write either "
			"ovfl_switch or time_switch");
	set->change = EVTSET_FLAGS;
	return 0;
}

void command_print_evtset_flags(const struct command *cmd, struct text *out)
{
	flag_words_print_line(evtset_flag_words, cmd->evtset.flags, out);
}

int command_parse_evtset_timeout(struct slice text, struct cmd_evtset *set, struct err *e)
{
	int rc = num_max(slice_trim(text), MAX_TIMEOUT, &set->timeout_ns, e);

	if (rc < 0)
		return rc;
	if (!set->timeout_ns)
		return err_set(e, EINVAL,
			"a timeout is at least 1 ns: to stay in the set, leave time_switch out of "
			"its flags");
	set->change = EVTSET_TIMEOUT;
	return 0;
}

void command_print_evtset_timeout(const struct command *cmd, struct text *out)
{
	text_printf(out, "%" PRIu64 "\n", cmd->evtset.timeout_ns);
}

int command_parse_evtset_next(struct slice text, struct cmd_evtset *set, struct err *e)
{
	struct slice s = slice_trim(text);
	uint64_t n = 0;

	set->has_next = !slice_is(s, "default");
	if (set->has_next && num_max(s, MAX_SET, &n, e) < 0)
		return err_prefix(e, "next takes the number of a set, or 'default'");
	set->next = (uint16_t)n;
	set->change = EVTSET_NEXT;
	return 0;
}

void command_print_evtset_next(const struct command *cmd, struct text *out)
{
	if (cmd->evtset.flags & SET_EXPL_NEXT)
		text_printf(out, "%u\n", cmd->evtset.next);
	else
		text_printf(out, "default\n");
}

void command_print_evtset_runs(const struct command *cmd, struct text *out)
{
	text_printf(out, "%" PRIu64 "\n", cmd->evtset.runs);
}

void command_print_evtset_active_ns(const struct command *cmd, struct text *out)
{
	text_printf(out, "%" PRIu64 "\n", cmd->evtset.active_ns);
}

void command_print_evtset_remaining_ns(const struct command *cmd, struct text *out)
{
	text_printf(out, "%" PRIu64 "\n", cmd->evtset.remaining_ns);
}

void command_print_evtset_switch_pmds(const struct command *cmd, struct text *out)
{
	regset_print(&cmd->evtset.switch_pmds, out);
	text_printf(out, "\n");
}

void command_print_evtset_available(const struct command *cmd, struct text *out)
{
	text_printf(out, "pmcs ");
	regset_print(&cmd->evtset.pmcs, out);
	text_printf(out, "\npmds ");
	regset_print(&cmd->evtset.pmds, out);
	text_printf(out, "\n");
}
