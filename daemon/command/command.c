// SPDX-License-Identifier: MIT
#include "daemon/command/command.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/command/command_i.h"

static int command_check_inherit(const struct cmd_load *load, struct err *e)
{
	if (load->on_exec && !load->inherit)
		return err_set(
			e, EINVAL, "on_exec needs inherit: write 'load tid=N inherit on_exec'");
	if (load->inherit && load->follow)
		return err_set(e, EINVAL,
			"inherit gives one sum for all threads, follow a context for each thread: "
			"leave one out");
	if (load->on_exec && load->process)
		return err_set(e, EINVAL,
			"on_exec does not go with pid, as only one thread is left when a process "
			"executes a program: write 'load tid=N inherit on_exec'");
	if (load->inherit && load->cpus)
		return err_set(e, EINVAL,
			"cpus does not go with inherit, which counts on all CPUs: leave cpus out");
	return 0;
}

int command_check_load(const struct command *cmd, struct err *e)
{
	if (cmd->load.follow && cmd->load.untraced)
		return err_set(e, EINVAL,
			"follow needs ptrace to see new threads: leave out follow or ptrace=no");
	if (cmd->load.process && cmd->load.untraced && !cmd->load.inherit)
		return err_set(e, EINVAL,
			"pid without inherit needs ptrace to see all threads: leave ptrace=no out");
	return command_check_inherit(&cmd->load, e);
}

void command_free(struct command *cmd)
{
	free(cmd->vector.regs);
	free(cmd->live_page.shown);
	free(cmd->load.cpus);
	free(cmd->files);
	cmd->vector.regs = NULL;
	cmd->live_page.shown = NULL;
	cmd->load.cpus = NULL;
	cmd->files = NULL;
}
