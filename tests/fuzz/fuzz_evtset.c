// SPDX-License-Identifier: MIT
/*
 * The properties of an event set: an accepted one is in range, changes only itself, and prints as
 * text that can be written. There is one way to write a set's number as its name.
 */
#include "tests/fuzz/fuzz.h"

#include "daemon/command/command.h"

typedef int parse_fn(struct slice text, struct cmd_evtset *set, struct err *e);
typedef void print_fn(const struct command *cmd, struct text *out);

static bool same(const struct cmd_evtset *a, const struct cmd_evtset *b)
{
	return a->id == b->id && a->change == b->change && a->flags == b->flags &&
	       a->timeout_ns == b->timeout_ns && a->next == b->next && a->has_next == b->has_next;
}

static void check_sound(const struct cmd_evtset *set)
{
	const unsigned both = SET_OVFL_SWITCH | SET_TIME_SWITCH;

	CHECK(!(set->flags & ~(both | SET_EXPL_NEXT | SET_EXCL_IDLE)) &&
		(set->flags & both) != both);
	CHECK(set->timeout_ns <= 1000000000000000000);
	CHECK(set->change != EVTSET_TIMEOUT || set->timeout_ns);
	CHECK(set->has_next || !set->next);
	CHECK(set->change == EVTSET_FLAGS || !set->flags);
	CHECK(set->change == EVTSET_TIMEOUT || !set->timeout_ns);
	CHECK(set->change == EVTSET_NEXT || !set->has_next);
	CHECK(set->id == 9);
}

static void check_property(struct slice s, parse_fn parse, print_fn print)
{
	TEXT_CLEANUP struct text printed = {0};
	struct command cmd = {.evtset.id = 9};
	struct cmd_evtset again = {.id = 9};
	struct err e;
	int rc = parse(s, &cmd.evtset, &e);

	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		return;
	}
	check_sound(&cmd.evtset);
	again.change = cmd.evtset.change;
	if (cmd.evtset.has_next) /* The core's answer in that case. */
		cmd.evtset.flags |= SET_EXPL_NEXT;
	print(&cmd, &printed);
	if (cmd.evtset.has_next)
		cmd.evtset.flags = 0;
	s = slice_of_text(&printed);
	CHECK(slice_text(&s, false));
	CHECK(parse(s, &again, &e) == 0 && same(&cmd.evtset, &again));
}

static void check_id(struct slice s)
{
	char name[256], number[8];
	uint16_t id;
	struct err e;
	int rc;

	snprintf(name, sizeof(name), "%.*s", s.n < 255 ? (int)s.n : 255, s.n ? s.p : "");
	rc = command_parse_evtset_id(name, &id, &e);
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		return;
	}
	snprintf(number, sizeof(number), "%u", id);
	CHECK(strcmp(number, name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice s = slice_of_input(data, size);

	check_id(s);
	if (!slice_text(&s, false))
		return 0;
	check_id(s);
	check_property(s, command_parse_evtset_flags, command_print_evtset_flags);
	check_property(s, command_parse_evtset_timeout, command_print_evtset_timeout);
	check_property(s, command_parse_evtset_next, command_print_evtset_next);
	return 0;
}
