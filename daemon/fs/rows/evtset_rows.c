// SPDX-License-Identifier: MIT
/* The files of an event set, but for its registers. */
#include "daemon/fs/fs_i.h"

int evtset_ask(const struct call *call, struct command *cmd, struct err *e)
{
	(void)e;
	cmd->verb = CMD_EVTSET_READ;
	cmd->evtset.id = (uint16_t)call->set;
	return 0;
}

static struct cmd_evtset *change(const struct call *call, struct command *cmd)
{
	cmd->verb = CMD_EVTSET_WRITE;
	cmd->evtset.id = (uint16_t)call->set;
	return &cmd->evtset;
}

int evtset_flags_parse(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_evtset_flags(text, change(call, cmd), e);
}

int evtset_timeout_parse(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_evtset_timeout(text, change(call, cmd), e);
}

int evtset_next_parse(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_evtset_next(text, change(call, cmd), e);
}
