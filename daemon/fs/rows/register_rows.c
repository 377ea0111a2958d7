// SPDX-License-Identifier: MIT
/* The registers of an event set: one by one, and all together. */
#include "daemon/fs/rows/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "daemon/command/command.h"
#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/* Makes @cmd a command on @n registers. */
static int register_vector(struct command *cmd, enum cmd_verb verb, unsigned n, struct err *e)
{
	cmd->verb = verb;
	cmd->vector.nregs = n;
	cmd->vector.regs = malloc(n * sizeof(*cmd->vector.regs));
	return cmd->vector.regs ? 0 : err_set(e, ENOMEM, "no memory");
}

static bool register_is_pmd(const struct call *call)
{
	return call->node.row->in == DIR_PMDS;
}

static uint16_t register_number(const struct call *call)
{
	const struct pmu *pmu = call->fs->be->pmu;
	unsigned reg = call->node.reg;

	if (row_has(call->node.row, ROW_VIRTUAL))
		return pmu->virtuals[reg].num;
	return register_is_pmd(call) ? pmu->pmds[reg].num : pmu->pmcs[reg].num;
}

static int register_one(
	const struct call *call, struct command *cmd, enum cmd_verb verb, struct err *e)
{
	int rc = register_vector(cmd, verb, 1, e);

	if (rc < 0)
		return rc;
	cmd->vector.regs[0] = (struct cmd_reg){
		.pmd = register_is_pmd(call),
		.num = register_number(call),
		.set = (uint16_t)call->set,
	};
	return 0;
}

static int register_query(const struct call *call, struct command *cmd, struct err *e)
{
	return register_one(call, cmd, CMD_READ, e);
}

static void register_print_pmc(const struct command *cmd, struct text *out)
{
	command_print_pmc(cmd->vector.regs[0].value, out);
}

static int register_parse_pmc(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	int rc = register_one(call, cmd, CMD_WRITE, e);

	return rc < 0 ? rc
		      : command_parse_pmc(text, call->fs->be->pmu, register_number(call),
				&cmd->vector.regs[0].value, e);
}

static void register_print_pmd(const struct command *cmd, struct text *out)
{
	command_print_pmd(cmd->vector.regs[0].value, out);
}

static int register_parse_pmd(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	int rc = register_one(call, cmd, CMD_WRITE, e);

	return rc < 0 ? rc : command_parse_pmd(text, &cmd->vector.regs[0], e);
}

/* Fills @r with reads of the PMDs of the call's set. */
static void register_list_pmds(const struct call *call, struct cmd_reg *r)
{
	const struct pmu *pmu = call->fs->be->pmu;

	for (unsigned d = 0; d < pmu->npmds; d++)
		r[d] = (struct cmd_reg){
			.pmd = true, .num = pmu->pmds[d].num, .set = (uint16_t)call->set};
}

static int register_query_pmds(const struct call *call, struct command *cmd, struct err *e)
{
	int rc = register_vector(cmd, CMD_READ, call->fs->be->pmu->npmds, e);

	if (rc == 0)
		register_list_pmds(call, cmd->vector.regs);
	return rc;
}

static int register_query_all(const struct call *call, struct command *cmd, struct err *e)
{
	const struct pmu *pmu = call->fs->be->pmu;
	int rc = register_vector(cmd, CMD_READ, pmu->npmcs + pmu->npmds, e);

	if (rc < 0)
		return rc;
	for (unsigned p = 0; p < pmu->npmcs; p++)
		cmd->vector.regs[p] =
			(struct cmd_reg){.num = pmu->pmcs[p].num, .set = (uint16_t)call->set};
	register_list_pmds(call, cmd->vector.regs + pmu->npmcs);
	return 0;
}

static int register_parse_all(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_regs(text, call->fs->be->pmu, (uint16_t)call->set, cmd, e);
}

const struct row rows_register[] = {
	{FILE_ROW(DIR_SET, "overflows", 0400), .length = LINES_OF_REGISTERS,
		.query = register_query_pmds, .print = command_print_overflows},
	/* A line may list all PMDs twice. */
	{FILE_ROW(DIR_SET, "regs", 0600), .flags = ROW_LINES, .length = LINES_OF_MACHINE,
		.query = register_query_all, .print = command_print_regs,
		.parse = register_parse_all},
	{DIR_ROW(DIR_SET, DIR_PMCS, "pmc", 0500)},
	{DIR_ROW(DIR_SET, DIR_PMDS, "pmd", 0500)},
	{FILE_ROW(DIR_PMCS, NULL, 0600), .query = register_query, .print = register_print_pmc,
		.parse = register_parse_pmc},
	{FILE_ROW(DIR_PMDS, NULL, 0600), .query = register_query, .print = register_print_pmd,
		.parse = register_parse_pmd},
	{FILE_ROW(DIR_PMDS, NULL, 0400), .flags = ROW_VIRTUAL, .query = register_query,
		.print = register_print_pmd},
	ROW_END,
};
