// SPDX-License-Identifier: MIT
/* The files of a context and of its event sets. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

int ctl_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	context_show_ctl(call->ctx, out);
	return 0;
}

/*
 * A server that writes to users' files in their names must not be made to lend what it is itself:
 * whose threads one may monitor goes by the real user id.
 */
static int check_writer(const struct call *call, const struct command *cmd, struct err *e)
{
	const struct fuse_ctx *who = fuse_req_ctx(call->req);
	uid_t real;

	if (cmd->verb != CMD_LOAD || !cmd->tid || !who->uid)
		return 0;
	if (!real_uid(who->pid, &real))
		return err_set(e, EPERM, "who you are cannot be seen in /proc: try again");
	if (real != who->uid)
		return err_set(e, EPERM,
			"you are uid %u and write as uid %u: write as who you are to load on a "
			"thread",
			(unsigned)real, (unsigned)who->uid);
	return 0;
}

int ctl_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	if (command_parse_ctl(text, cmd, e) < 0 || load_check_caller(call, cmd, e) < 0 ||
		check_writer(call, cmd, e) < 0)
		return -e->no;
	return 0;
}

int load_check_caller(const struct call *call, const struct command *cmd, struct err *e)
{
	/* Whose rights over that thread count is who asks: a program of another user's, to which
	 * this open file was handed, must not lend its own. */
	if (cmd->verb == CMD_LOAD && cmd->tid && fuse_req_ctx(call->req)->uid != call->file->uid)
		return err_set(e, EPERM,
			"uid %u has opened this file: open it yourself to load on a thread",
			(unsigned)call->file->uid);
	return 0;
}

void ctl_keep(struct fs_context *ctx, const struct command *cmd)
{
	TEXT_CLEANUP struct text line = {0};

	if (cmd->verb == CMD_LOAD)
		atomic_store(&ctx->missed, 0);
	command_print_ctl(cmd, &line);
	if (text_ok(&line))
		context_set_ctl(ctx, &line);
}

int info_ask(const struct call *call, struct command *cmd, struct err *e)
{
	(void)call, (void)e;
	cmd->verb = CMD_INFO;
	return 0;
}

void state_print(const struct command *cmd, struct text *out)
{
	command_print_state(&cmd->info, out);
}

unsigned state_news(const struct file *f)
{
	return atomic_load(&f->ctx->tenant.changes) > atomic_load(&f->changes) ? POLLPRI : 0;
}

void ctx_flags_print(const struct command *cmd, struct text *out)
{
	command_print_flags(cmd->info.flags, out);
}

int ctx_flags_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	(void)call;
	cmd->verb = CMD_FLAGS;
	return command_parse_flags(text, &cmd->flags, e);
}

/* A format is told of them. */
void ctx_flags_keep(struct fs_context *ctx, const struct command *cmd)
{
	atomic_store(&ctx->flags, cmd->flags);
}

int ctx_error_show(struct call *call, struct text *out, struct err *e)
{
	(void)e;
	context_show_error(call->ctx, out);
	return 0;
}

static int vector(struct command *cmd, enum cmd_verb verb, unsigned n, struct err *e)
{
	cmd->verb = verb;
	cmd->nregs = n;
	cmd->regs = malloc(n * sizeof(*cmd->regs));
	return cmd->regs ? 0 : err_set(e, ENOMEM, "no memory");
}

static uint16_t number_of(const struct call *call, bool pmd)
{
	const struct pmu *pmu = call->fs->be->pmu;
	unsigned reg = call->node.reg;

	if (call->node.row->virtual)
		return pmu->virtuals[reg].num;
	return pmd ? pmu->pmds[reg].num : pmu->pmcs[reg].num;
}

static int one_register(
	const struct call *call, struct command *cmd, enum cmd_verb verb, bool pmd, struct err *e)
{
	int rc = vector(cmd, verb, 1, e);

	if (rc < 0)
		return rc;
	cmd->regs[0] = (struct cmd_reg){
		.pmd = pmd,
		.num = number_of(call, pmd),
		.set = (uint16_t)call->set,
	};
	return 0;
}

int pmc_ask(const struct call *call, struct command *cmd, struct err *e)
{
	return one_register(call, cmd, CMD_READ, false, e);
}

void pmc_print(const struct command *cmd, struct text *out)
{
	command_print_pmc(cmd->regs[0].value, out);
}

int pmc_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	int rc = one_register(call, cmd, CMD_WRITE, false, e);

	return rc < 0 ? rc : command_parse_pmc(text, &cmd->regs[0].value, e);
}

int pmd_ask(const struct call *call, struct command *cmd, struct err *e)
{
	return one_register(call, cmd, CMD_READ, true, e);
}

void pmd_print(const struct command *cmd, struct text *out)
{
	command_print_pmd(cmd->regs[0].value, out);
}

int pmd_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	int rc = one_register(call, cmd, CMD_WRITE, true, e);

	return rc < 0 ? rc : command_parse_pmd(text, &cmd->regs[0], e);
}

/* Fills @r with the PMDs of the call's set. */
static void list_pmds(const struct call *call, struct cmd_reg *r)
{
	const struct pmu *pmu = call->fs->be->pmu;

	for (unsigned d = 0; d < pmu->npmds; d++)
		r[d] = (struct cmd_reg){
			.pmd = true, .num = pmu->pmds[d].num, .set = (uint16_t)call->set};
}

int pmds_ask(const struct call *call, struct command *cmd, struct err *e)
{
	int rc = vector(cmd, CMD_READ, call->fs->be->pmu->npmds, e);

	if (rc == 0)
		list_pmds(call, cmd->regs);
	return rc;
}

int regs_ask(const struct call *call, struct command *cmd, struct err *e)
{
	const struct pmu *pmu = call->fs->be->pmu;
	int rc = vector(cmd, CMD_READ, pmu->npmcs + pmu->npmds, e);

	if (rc < 0)
		return rc;
	for (unsigned p = 0; p < pmu->npmcs; p++)
		cmd->regs[p] =
			(struct cmd_reg){.num = pmu->pmcs[p].num, .set = (uint16_t)call->set};
	list_pmds(call, cmd->regs + pmu->npmcs);
	return 0;
}

int regs_parse(const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	return command_parse_regs(text, (uint16_t)call->set, cmd, e);
}
