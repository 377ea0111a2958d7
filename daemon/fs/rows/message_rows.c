// SPDX-License-Identifier: MIT
/* msg and events: the same queue as records and as text. */
#include "daemon/fs/fs_i.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

enum { LINE_TYPICAL = 64 }; /* bytes that a line of events hardly ever exceeds */

/* For @n messages, but for no more than there can be. */
static int room(struct command *cmd, size_t n, struct err *e)
{
	cmd->nmsgs = n < MESSAGES_MAX ? (unsigned)n : MESSAGES_MAX;
	cmd->msgs = malloc(cmd->nmsgs * sizeof(*cmd->msgs));
	return cmd->msgs ? 0 : err_set(e, ENOMEM, "no memory for messages");
}

int msg_ask(const struct call *call, struct command *cmd, struct err *e)
{
	const size_t one = sizeof(struct pfm_msg);

	if (call->size % one)
		return err_set(e, EINVAL,
			"%zu bytes are not whole messages: read a multiple of %zu", call->size,
			one);
	return room(cmd, call->size / one, e);
}

void msg_give(struct call *call, const struct command *cmd)
{
	fuse_reply_buf(call->req, (const char *)cmd->msgs, cmd->nmsgs * sizeof(*cmd->msgs));
}

unsigned msg_news(const struct file *f)
{
	return atomic_load(&f->ctx->tenant.queued) ? POLLIN | POLLRDNORM : 0;
}

/* About as many as the read takes: what it cannot is kept from other readers. */
int events_ask(const struct call *call, struct command *cmd, struct err *e)
{
	return room(cmd, call->size < LINE_TYPICAL ? 1 : call->size / LINE_TYPICAL, e);
}

bool events_give_left(struct call *call)
{
	struct file *f = call->file;
	size_t n = f->left.n - f->given;

	if (!n)
		return false;
	n = n < call->size ? n : call->size;
	fuse_reply_buf(call->req, f->left.p + f->given, n);
	f->given += n;
	if (f->given == f->left.n) {
		text_clear(&f->left);
		f->given = 0;
	}
	return true;
}

void events_give(struct call *call, const struct command *cmd)
{
	struct file *f = call->file;

	command_print_events(cmd->msgs, cmd->nmsgs, &f->left);
	if (!text_ok(&f->left)) {
		text_clear(&f->left);
		fuse_reply_err(call->req, ENOMEM);
		return;
	}
	events_give_left(call);
}

unsigned events_news(const struct file *f)
{
	return f->left.n > f->given ? POLLIN | POLLRDNORM : msg_news(f);
}
