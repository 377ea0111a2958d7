// SPDX-License-Identifier: MIT
/* msg and events: one queue, as records and as text. */
#include "daemon/fs/rows/message_rows.h"

#include <errno.h>
#include <poll.h>

#include "daemon/command/command.h"
#include "daemon/fs/requests/call.h"
#include "daemon/fs/requests/file.h"
#include "daemon/fs/rows/rows.h"
#include "daemon/fs/tree/object.h"
#include "perfmonfs/msg.h"

enum {
	MESSAGE_LINE_TYPICAL = 64, /* bytes of a line of events; hardly any is longer */
	MESSAGE_READ_MAX = 32,     /* the most messages that one read takes */
};

static int message_limit(size_t n)
{
	return n < MESSAGE_READ_MAX ? (int)n : MESSAGE_READ_MAX;
}

int message_room(const struct call *call, struct err *e)
{
	const size_t one = sizeof(struct pfm_msg);

	if (call->size < one)
		return err_set(e, EINVAL, "%zu bytes are less than a message: read %zu or more",
			call->size, one);
	return message_limit(call->size / one);
}

static void message_reply(struct call *call, const struct pfm_msg *msgs, unsigned n)
{
	fuse_reply_buf(call->req, (const char *)msgs, n * sizeof(*msgs));
}

/* Converts a message to a type that perfmon2's kernels had: programs of that time skip messages of
 * any other type, and never restart a context that is masked. */
static struct pfm_msg message_for_clone(struct pfm_msg m)
{
	/* Other messages have the ip here. These programs do not know the mark of an earlier one.
	 */
	if (m.type == PFM_MSG_LOST)
		m.count = 0;
	else if (m.pmds[PFM_MSG_BV - 1] & PFM_MSG_EARLIER)
		m.ip = 0;
	if (m.type != PFM_MSG_END)
		m.type = PFM_MSG_OVFL;
	m.pmds[PFM_MSG_BV - 1] &= ~PFM_MSG_EARLIER;
	return m;
}

void message_reply_clone(struct call *call, const struct pfm_msg *msgs, unsigned n)
{
	struct pfm_msg converted[MESSAGE_READ_MAX];

	for (unsigned i = 0; i < n; i++)
		converted[i] = message_for_clone(msgs[i]);
	message_reply(call, converted, n);
}

unsigned message_poll(const struct file *f)
{
	return messages_count(&f->ctx->ec.ctx.messages) ? POLLIN | POLLRDNORM : 0;
}

/* Takes about as many messages as the read has room for, because other readers do not get the
 * rest. */
static int message_room_events(const struct call *call, struct err *e)
{
	size_t n = call->size / MESSAGE_LINE_TYPICAL;

	(void)e;
	return message_limit(n ? n : 1);
}

static void message_reply_events(struct call *call, const struct pfm_msg *msgs, unsigned n)
{
	struct file *f = call->file;

	command_print_events(msgs, n, &f->left);
	if (!text_ok(&f->left)) {
		text_clear(&f->left);
		fuse_reply_err(call->req, ENOMEM);
		return;
	}
	call_read_left(call);
}

static unsigned message_poll_events(const struct file *f)
{
	return f->left.n > f->given ? POLLIN | POLLRDNORM : message_poll(f);
}

const struct row rows_message[] = {
	{FILE_ROW(DIR_CTX, "msg", 0400), .room = message_room, .reply = message_reply,
		.poll = message_poll},
	{FILE_ROW(DIR_CTX, "events", 0400), .room = message_room_events,
		.reply = message_reply_events, .poll = message_poll_events},
	ROW_END,
};
