// SPDX-License-Identifier: MIT
/* The files of a context, except messages, total and sampling. */
#include "daemon/fs/rows/context_rows.h"

#include <errno.h>
#include <poll.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/audit.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/caller.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/requests/notifier.h"
#include "daemon/fs/requests/pending_request.h"
#include "daemon/fs/rows/rows.h"

static void context_rows_show_ctl(const struct call *call, struct text *out)
{
	context_show_ctl(call->ctx, out);
}

static int context_refuse_load(
	const struct call *call, const struct command *cmd, const struct err *e)
{
	const struct audit_writer w = audit_writer(call, cmd);

	audit_load(&w, call->ctx, cmd, -e->no);
	return -e->no;
}

/* Permission to monitor a thread depends on the real user id: a server that writes to users' files
 * on their behalf must not lend its own permission. */
int context_parse_ctl(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	if (command_parse_ctl(text, cmd, e) < 0 || context_check_load(call, cmd, e) < 0)
		return -e->no;
	cmd->load.fsuid = fuse_req_ctx(call->req)->uid;
	cmd->load.checks_fsuid = cmd->load.fsuid;
	return 0;
}

/* A load on a thread requires that both the writer and the opener have permission over it: a
 * program to which this open file was passed must not lend its own permission. */
int context_check_load(const struct call *call, struct command *cmd, struct err *e)
{
	const struct fuse_ctx *caller = fuse_req_ctx(call->req);
	const struct file *f = call->file;

	if (cmd->verb != CMD_LOAD || !cmd->tid)
		return 0;
	if (caller->uid != f->uid || (caller->uid && caller->gid != f->gid)) {
		err_set(e, EPERM,
			"this file was opened with uid %u and gid %u: open it yourself to load on "
			"a thread",
			(unsigned)f->uid, (unsigned)f->gid);
		return context_refuse_load(call, cmd, e);
	}
	cmd->load.opener = f->capabilities;
	return 0;
}

void context_commit_ctl(struct fs_context *ctx, const struct command *cmd)
{
	TEXT_CLEANUP struct text line = {0};

	if (cmd->verb == CMD_LOAD)
		atomic_store(&ctx->missed, 0);
	command_print_ctl(cmd, &line);
	if (text_ok(&line))
		context_set_ctl(ctx, &line);
}

static int context_query_info(const struct call *call, struct command *cmd, struct err *e)
{
	(void)call, (void)e;
	cmd->verb = CMD_INFO;
	return 0;
}

static void context_print_state(const struct command *cmd, struct text *out)
{
	command_print_state(&cmd->info, out);
}

static unsigned context_poll_state(const struct file *f)
{
	if (atomic_load(&f->ctx->ec.status.changes) > atomic_load(&f->changes))
		return POLLIN | POLLRDNORM | POLLPRI;
	return atomic_load(&f->read) ? 0 : POLLIN | POLLRDNORM;
}

static void context_print_flags(const struct command *cmd, struct text *out)
{
	command_print_flags(cmd->info.flags, out);
}

static int context_parse_flags(
	const struct call *call, struct slice text, struct command *cmd, struct err *e)
{
	(void)call;
	cmd->verb = CMD_FLAGS;
	return command_parse_flags(text, &cmd->setup.flags, e);
}

void context_commit_flags(struct fs_context *ctx, const struct command *cmd)
{
	atomic_store(&ctx->flags, cmd->setup.flags);
}

static void context_rows_show_error(const struct call *call, struct text *out)
{
	context_show_error(call->ctx, out);
}

const struct row rows_context[] = {
	{DIR_ROW(DIR_ROOT, DIR_CTXS, "ctx", 01777)},
	{DIR_ROW(DIR_CTXS, DIR_CTX, NULL, 0700)},
	{DIR_ROW(DIR_CTX, DIR_CHILDREN, "children", 0700)},
	{DIR_ROW(DIR_CHILDREN, DIR_CTX, NULL, 0700)},
	{FILE_ROW(DIR_CTX, "ctl", 0600), .flags = ROW_SENTENCES | ROW_CAPABILITIES,
		.show = context_rows_show_ctl, .parse = context_parse_ctl,
		.commit = context_commit_ctl},
	{FILE_ROW(DIR_CTX, "state", 0400), .query = context_query_info,
		.print = context_print_state, .poll = context_poll_state},
	{FILE_ROW(DIR_CTX, "flags", 0600), .query = context_query_info,
		.print = context_print_flags, .parse = context_parse_flags,
		.commit = context_commit_flags},
	{FILE_ROW(DIR_CTX, "last_error", 0400), .show = context_rows_show_error},
	{LINK_ROW(DIR_CTX, "pmc", "set/0/pmc")},
	{LINK_ROW(DIR_CTX, "pmd", "set/0/pmd")},
	{LINK_ROW(DIR_CTX, "regs", "set/0/regs")},
	ROW_END,
};
