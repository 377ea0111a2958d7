// SPDX-License-Identifier: MIT
#include "daemon/command/command.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/command/command_i.h"

int command_check_load(const struct command *cmd, struct err *e)
{
	if (cmd->load.follow && cmd->load.untraced)
		return err_set(e, EINVAL,
			"follow needs ptrace to see new threads: leave out follow or ptrace=no");
	if (cmd->load.process && cmd->load.untraced)
		return err_set(
			e, EINVAL, "pid needs ptrace to see all threads: leave ptrace=no out");
	return 0;
}

void command_free(struct command *cmd)
{
	free(cmd->vector.regs);
	free(cmd->live_page.shown);
	free(cmd->load.cpus);
	cmd->vector.regs = NULL;
	cmd->live_page.shown = NULL;
	cmd->load.cpus = NULL;
}
