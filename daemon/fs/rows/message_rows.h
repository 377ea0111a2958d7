/* SPDX-License-Identifier: MIT */
/* Messages as records, which are read from clone, too. */
#ifndef FS_MESSAGE_ROWS_H
#define FS_MESSAGE_ROWS_H

#include "daemon/fs/tree/row.h"

int message_room(const struct call *call, struct err *e);
/* All messages but PFM_MSG_END as PFM_MSG_OVFL. */
void message_reply_clone(struct call *call, const struct pfm_msg *msgs, unsigned n);
unsigned message_poll(const struct file *f);

#endif
