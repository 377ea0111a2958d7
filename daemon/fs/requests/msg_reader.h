/* SPDX-License-Identifier: MIT */
/*
 * Reads of a context's messages, served in order of arrival. The session thread takes the messages
 * from the context's queue, whichever thread owns the context. Everything here belongs to the
 * session thread.
 */
#ifndef FS_MSG_READER_H
#define FS_MSG_READER_H

#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/* Takes messages, or waits for some, and answers. When the context has been removed and all
 * messages are taken: the end of the file. */
void messages_read(struct call *call, bool nonblock);
/* Called when there may be messages, or when the context has gone and there will be no more. */
void messages_wake(struct fs_context *ctx);

#endif
