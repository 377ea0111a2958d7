// SPDX-License-Identifier: MIT
/* The files of an event set, except its registers. */
#include "daemon/fs/rows/rows.h"

#include "daemon/command/command.h"
#include "daemon/fs/tree/node.h"

static int evtset_query(const struct call *call, struct command *cmd, struct err *e)
{
	(void)e;
	cmd->verb = CMD_EVTSET_READ;
	cmd->evtset.id = (uint16_t)call->set;
	return 0;
}

static struct cmd_evtset *evtset_write(const struct call *call, struct command *cmd)
{
	cmd->verb = CMD_EVTSET_WRITE;
	cmd->evtset.id = (uint16_t)call->set;
	return &cmd->evtset;
}

static int evtset_parse_flags(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_evtset_flags(text, evtset_write(call, cmd), e);
}

static int evtset_parse_timeout(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_evtset_timeout(text, evtset_write(call, cmd), e);
}

static int evtset_parse_next(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_evtset_next(text, evtset_write(call, cmd), e);
}

#define EVTSET_ROW(name, mode, what)                                                               \
	FILE_ROW(DIR_SET, name, mode), .query = evtset_query, .print = command_print_evtset_##what

const struct row rows_evtset[] = {
	{DIR_ROW(DIR_CTX, DIR_SETS, "set", 0700)},
	{DIR_ROW(DIR_SETS, DIR_SET, NULL, 0500)},
	{EVTSET_ROW("flags", 0600, flags), .parse = evtset_parse_flags},
	{EVTSET_ROW("timeout_ns", 0600, timeout), .parse = evtset_parse_timeout},
	{EVTSET_ROW("next", 0600, next), .parse = evtset_parse_next},
	{EVTSET_ROW("runs", 0400, runs)},
	{EVTSET_ROW("active_ns", 0400, active_ns)},
	{EVTSET_ROW("remaining_ns", 0400, remaining_ns)},
	{EVTSET_ROW("switch_pmds", 0400, switch_pmds)},
	{EVTSET_ROW("available", 0400, available)},
	ROW_END,
};
