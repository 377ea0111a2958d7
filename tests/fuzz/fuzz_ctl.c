// SPDX-License-Identifier: MIT
/* ctl: a valid command prints canonically, and the canonical text parses to the same command. */
#include "tests/fuzz/fuzz.h"

#include "daemon/command/command.h"

static void check_sound(const struct command *cmd)
{
	CHECK(cmd->verb == CMD_LOAD || cmd->verb == CMD_UNLOAD || cmd->verb == CMD_START ||
		cmd->verb == CMD_STOP || cmd->verb == CMD_RESTART || cmd->verb == CMD_SIGNAL);
	CHECK(!cmd->has_set || cmd->verb == CMD_LOAD || cmd->verb == CMD_START);
	CHECK(cmd->has_set || !cmd->set);
	CHECK(cmd->verb == CMD_LOAD || !cmd->load.cpu);
	CHECK(cmd->verb == CMD_SIGNAL || !cmd->signal.sig);
	CHECK(cmd->verb == CMD_SIGNAL || cmd->verb == CMD_LOAD || !cmd->tid);
	CHECK((cmd->verb == CMD_LOAD && cmd->tid) ||
		(!cmd->load.follow && !cmd->load.untraced && !cmd->load.cpus &&
			!cmd->load.inherit));
	CHECK(!cmd->load.inherit || !(cmd->load.follow || cmd->load.cpus));
	CHECK((cmd->load.inherit && !cmd->load.process) || !cmd->load.on_exec);
	CHECK(!cmd->tid || !cmd->load.cpu);
	CHECK(!cmd->load.follow || !cmd->load.untraced);
	CHECK(cmd->signal.sig >= 0 && cmd->signal.sig <= 64 && cmd->tid >= 0 &&
		cmd->tid <= 4194304);
	CHECK(!cmd->vector.regs && !cmd->vector.nregs && !cmd->vector.cut.no);
}

static bool same_cpus(const struct cpus *a, const struct cpus *b)
{
	return a && b ? memcmp(a, b, sizeof(*a)) == 0 : a == b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	TEXT_CLEANUP struct text printed = {0}, twice = {0};
	struct slice s = slice_of_input(data, size);
	struct command cmd = {0}, again = {0};
	struct err e;
	int rc;

	if (!slice_text(&s, false))
		return 0;
	rc = command_parse_ctl(s, &cmd, &e);
	if (rc < 0) {
		check_syntax_or_range(rc, &e);
		command_free(&cmd);
		return 0;
	}
	check_sound(&cmd);
	command_print_ctl(&cmd, &printed);
	s = slice_of_text(&printed);
	CHECK(slice_text(&s, false));
	CHECK(command_parse_ctl(s, &again, &e) == 0);
	CHECK(again.verb == cmd.verb && again.load.cpu == cmd.load.cpu && again.set == cmd.set &&
		again.has_set == cmd.has_set && again.signal.sig == cmd.signal.sig &&
		again.tid == cmd.tid);
	CHECK(again.load.follow == cmd.load.follow && again.load.untraced == cmd.load.untraced &&
		same_cpus(again.load.cpus, cmd.load.cpus));
	CHECK(again.load.inherit == cmd.load.inherit && again.load.on_exec == cmd.load.on_exec);
	command_print_ctl(&again, &twice);
	CHECK(text_equal(&printed, &twice));
	command_free(&cmd);
	command_free(&again);
	return 0;
}
