/* SPDX-License-Identifier: MIT */
/*
 * Reads of a context's messages: first come, first served. The session thread takes the messages
 * from the context's queue, whichever thread owns the context. All of this belongs to it.
 */
#ifndef FS_MSG_READER_H
#define FS_MSG_READER_H

#include "daemon/fs/tree/fs_state.h"
#include "daemon/fs/tree/node.h"

/* Takes messages, or waits for some; answers by itself. */
void messages_read(struct call *call, bool nonblock);
/* Answers a read with lines that an earlier read of the open file did not take. False: there are
 * none, and no answer. */
bool messages_read_rest(struct call *call);
/* There may be messages. */
void messages_wake(struct fs_context *ctx);
/* Answers waiting readers with ENODEV, except one that has messages already. */
void messages_close(struct fs_context *ctx);

#endif
